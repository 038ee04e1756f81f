"""Preemption by rule: whom pods may evict, who is protected, and rejections that stay."""

from __future__ import annotations

from typing import Any

import pytest

from policysched.cluster.objects import objects
from policysched.framework import (
    events,
    extender_answers,
    handles,
    interface,
    profile,
    runtime,
)
from policysched.plugins import default_preemption, names, registry
from tests import builders
from tests.compiler import desk

POD, NAMESPACE = events.EventResource.POD, events.EventResource.NAMESPACE
OWN_POD = events.EventResource.UNSCHEDULED_POD
LABEL, ADD = events.ActionType.UPDATE_POD_LABEL, events.ActionType.ADD
WEB = desk.pod("new", app="web", team="red").requests(cpu="3").priority(100)


class Contest(desk.Desk):
    """A cluster of nodes with 4 CPUs, and a profile with policies that makes room for pods."""

    def __init__(self, text: str, nodes: int = 2, profile_name: str | None = None) -> None:
        super().__init__(
            text,
            [desk.node(f"n{n + 1}", zone="z").capacity(cpu="4", pods="10") for n in range(nodes)],
            {"default": {}, "prod": {"env": "prod"}},
        )
        handle = handles.Handle(budgets=self.cache.budgets)
        made: list[Any] = [
            registry.create_built_in_registry().create_plugin(name, None, handle)
            for name in (names.NODE_RESOURCES_FIT, names.DEFAULT_PREEMPTION)
        ]
        compiled = {each.name: each for each in self.program.profiles}[profile_name]
        self.framework = runtime.Framework(
            profile.Profile(
                profile_name or "",
                (*made, *compiled.plugins),
                compiled.weights,
                tolerations=compiled.tolerations,
                preemption_limits=compiled.preemption_limits,
                projection=compiled.projection,
            ),
            None,
        )

    def post_filter(
        self,
        pod: builders.PodBuilder,
        extenders: extender_answers.ExtenderAnswers | None = None,
    ) -> interface.PostFilterResult:
        """Return what preemption answers for a pod that fits nowhere."""
        self.waiting, snap = self.shapes.make_pod_info(pod.build()), self.cache.snapshot()
        self.result = self.framework.schedule_pod(self.waiting, snap, extenders)
        assert self.result.diagnosis is not None, "the pod fits"
        answer = self.framework.run_post_filter(
            self.result.state, self.waiting, snap, self.result.diagnosis
        )
        assert answer is not None
        return answer

    def victims(self, pod: builders.PodBuilder = WEB) -> list[str]:
        """Return the names of the pods that are to be evicted."""
        return [each.pod.metadata.name for each in self.post_filter(pod).victims]

    def rejection(self, pod: builders.PodBuilder = WEB) -> str:
        """Return what preemption says that evicts nobody."""
        answer = self.post_filter(pod)
        assert not answer.victims
        return answer.status.message

    def hint(
        self,
        resource: events.EventResource,
        action: events.ActionType,
        old: events.ClusterObject,
        new: events.ClusterObject,
    ) -> bool:
        """Return whether an event lets the pod be tried again by a plugin that rejected it."""
        assert self.result.diagnosis is not None
        event = events.ClusterEvent(resource, action)
        registered = self.framework.events_to_register()
        asked = [
            each.hint(self.waiting, old, new) if each.hint else None
            for plugin in self.result.diagnosis.unschedulable_plugins
            for each in registered[plugin]
            if each.event.covers(event)
        ]
        return any(answer is not events.QueueingHint.SKIP for answer in asked)

    def relabel(self, old: builders.PodBuilder, **labels: str) -> bool:
        """Give a placed pod other labels; return what that event is worth."""
        before, after = (
            self.shapes.make_pod_info(each.build()) for each in (old, old.labels(labels))
        )
        self.cache.update_pod(after)
        return self.hint(POD, LABEL, before, after)


def on(node: str, name: str, priority: int = 0, **labels: str) -> builders.PodBuilder:
    """Return a pod of 3 CPUs that runs on a node."""
    pod = desk.pod(name, **labels).requests(cpu="3").priority(priority)
    return pod.node(node).status(start_time="2026-01-05T11:00:00Z")


NOTEBOOK, JOB = on("n1", "notebook", app="notebook"), on("n2", "job", 10, tier="batch")


def contest(rules: str, *placed: builders.PodBuilder, nodes: int = 2, more: str = "") -> Contest:
    """Return a cluster in which a policy about the web pods has these rules."""
    there = Contest(f"policy web {{ for pods where app = web {rules} }} {more}", nodes)
    there.place(*placed)
    return there


@pytest.mark.parametrize(
    "rules, victim",
    [
        pytest.param("reject when node(a = b)", "notebook", id="no-limit"),
        pytest.param("preempt pods where tier = batch", "job", id="other-victim"),
        pytest.param("preempt pods where tier = pod(tier) missing allow", "notebook", id="allow"),
        pytest.param("preempt pods where team = a", None, id="nobody"),
        pytest.param("preempt pods where tier = pod(tier) missing reject", None, id="reject"),
        pytest.param("preempt never", None, id="never"),
        pytest.param('preempt never during "00:00-01:00 UTC"', "notebook", id="at-another-time"),
        pytest.param("preempt pods where tier = batch namespaces (prod)", None, id="namespace"),
        pytest.param("preempt pods namespaces pod(namespace)", "notebook", id="own-namespace"),
        pytest.param(
            "preempt pods where tier = batch preempt pods where app = notebook", None, id="both"
        ),
    ],
)
def test_whom_pods_may_evict(rules: str, victim: str | None) -> None:
    """The least important pod that every rule permits."""
    there = contest(rules, NOTEBOOK, JOB)
    assert there.victims() == ([victim] if victim else [])
    assert there.victims(desk.pod("db", app="db").requests(cpu="3").priority(100)) == ["notebook"]


_PROTECTED = "policy notebooks { for pods where app = notebook protect from preemption }"


def test_protected_pods() -> None:
    """Pods of every profile leave them where they are; the message names the rule and the nodes."""
    protect = "policy notebooks { for pods where app = notebook protect from preemption as keep }"
    profiles = "profile one { policies web } profile two { policies notebooks }"
    web = "policy web { for pods where app = web score free(cpu) prefer high }"
    for name in ("one", "two"):
        there = Contest(f"{web} {protect} {profiles}", profile_name=name)
        there.place(NOTEBOOK, JOB)
        assert there.victims() == ["job"]
        there.remove(JOB)
        there.place(on("n2", "other", app="notebook"))
        said = there.rejection()
        assert said == (
            "preemption: 0/2 nodes are available: 2 node(s) had pods kept by policy notebooks/keep."
        )


@pytest.mark.parametrize(
    "rules, more, plugin",
    [
        ("score free(cpu) prefer high", _PROTECTED, names.DEFAULT_PREEMPTION),
        ("preempt pods where tier = batch", "", names.DEFAULT_PREEMPTION),
        ("reject when count(pods where app = notebook) > 0 preemption never", "", names.POLICY),
    ],
)
def test_extenders_cannot_choose_pods_that_policies_keep(
    rules: str, more: str, plugin: str
) -> None:
    """The candidate is dropped, and another one is taken."""
    there = contest(rules, NOTEBOOK, JOB, more=more)
    kept, evicted = (there.cache.get_pod(pod.pod.metadata.uid) for pod in (NOTEBOOK, JOB))
    assert kept is not None
    assert evicted is not None
    first = {"n1": extender_answers.NodeVictims((kept,), 0)}
    both = first | {"n2": extender_answers.NodeVictims((evicted,), 0)}
    for victims, expected in ((first, []), (both, ["job"])):
        answers = extender_answers.ExtenderAnswers(victims=victims)
        chosen = there.post_filter(WEB, answers).victims
        assert [pod.pod.metadata.name for pod in chosen] == expected
        assert there.result.diagnosis is not None
        assert plugin in there.result.diagnosis.unschedulable_plugins


def test_a_disabled_protection() -> None:
    """`disable` is about the protected pods."""
    more = """
    policy notebooks { for pods where app = notebook protect from preemption as keep }
    policy cheap { for pods where tier = batch disable notebooks.keep }
    """
    there = contest("score free(cpu) prefer high", NOTEBOOK, more=more)
    there.place(on("n2", "batch-notebook", 10, app="notebook", tier="batch"))
    assert there.victims() == ["batch-notebook"]


def test_a_pod_that_may_evict_nobody_is_told_why() -> None:
    """As `preemptionPolicy: Never`, with the name of the rule."""
    there = contest("preempt never as patient", NOTEBOOK, JOB)
    assert there.rejection() == "preemption: not eligible due to policy web/patient."


def test_only_pods_that_had_to_stay_are_named() -> None:
    """A node that does not take the pod even without its pods is no matter of rules."""
    rules = "preempt pods where tier = batch as batch"
    there = contest(rules, NOTEBOOK, on("n2", "job", tier="batch"))
    big = WEB.requests(cpu="5")
    assert "kept by" not in there.rejection(big)
    assert there.victims(WEB) == ["job"]


def test_limits_add_no_node_to_those_of_preemption() -> None:
    """A pod that needs a protected pod beside it still evicts nobody there, as without the rule."""
    near = "podAffinity required pods where app = cache topologyKey kubernetes.io/hostname"
    protect = "policy caches { for pods where app = cache protect from preemption }"
    cache = on("n1", "cache", app="cache").requests(cpu="1")
    for more in ("", protect):
        there = contest(near, cache, on("n1", "job"), nodes=1, more=more)
        there.cache.set_node(
            desk.node("n1", **{"kubernetes.io/hostname": "n1"}).capacity(cpu="4", pods="9").build()
        )
        assert there.victims() == []


@pytest.mark.parametrize(
    "clause, victims", [("", ["other"]), ("preemption never", [])], ids=["resolved", "final"]
)
@pytest.mark.parametrize(
    "rule",
    [
        "reject when count(self) >= 1",
        "podAntiAffinity required self topologyKey zone",
        "topologySpread self topologyKey zone maxSkew 1 minDomains 2",
    ],
)
def test_rejections_that_no_eviction_resolves(rule: str, clause: str, victims: list[str]) -> None:
    """The code says so; other filters that reject the node as well do not change this."""
    other = on("n1", "other", app="web").requests(cpu="1")
    for cpu in ("1", "4"):
        there = contest(f"{rule} {clause} as one", other, nodes=1)
        assert there.victims(WEB.requests(cpu=cpu)) == victims
        if clause:
            verdicts = there.framework.explain_pod(there.waiting, there.cache.snapshot()).verdicts
            codes = {each.code.value for each in verdicts[0].all_failures if each.rule}
            assert codes == {"UnschedulableAndUnresolvable"}


def test_answers_of_equal_pods_follow_the_limits() -> None:
    """What preemption remembers of a node is asked again once a rule takes effect."""
    there = contest('preempt never during "12:10-13:00 UTC"', NOTEBOOK, JOB)
    assert there.victims() == ["notebook"]
    there.clock.advance(660)
    assert there.victims() == []
    there = contest("score free(cpu) prefer high", NOTEBOOK, more=_DURING)
    there.place(on("n2", "other", 10))
    assert there.victims() == ["notebook"]
    there.clock.advance(660)
    assert there.victims() == ["other"]


_DURING = """policy notebooks {
  for pods where app = notebook
  protect from preemption during "12:10-13:00 UTC"
}"""


def test_without_these_words_nothing_limits() -> None:
    """Profiles of other policies have no limits, and register no events for them."""
    there = contest("reject when free(cpu) < 1", NOTEBOOK)
    assert there.framework.profile.preemption_limits is None
    (only,) = there.framework.events_to_register()[names.DEFAULT_PREEMPTION]
    assert only.event.resource is POD
    assert isinstance(there.framework.profile.plugins[1], default_preemption.DefaultPreemption)


# --- events --------------------------------------------------------------------------------------


def test_a_hundred_events_that_let_nobody_be_evicted() -> None:
    """Labels of kept pods that stay kept, and pods of no less priority, wake no pod."""
    there = contest("preempt pods where tier = batch", NOTEBOOK, on("n2", "vip", 200))
    assert "kept by policy web/" in there.rejection()
    for number in range(100):
        assert not there.relabel(NOTEBOOK, serial=str(number))
        assert not there.relabel(on("n2", "vip", 200), tier="batch", serial=str(number))
    assert there.relabel(NOTEBOOK, tier="batch")
    assert there.victims() == ["notebook"]


def test_a_pod_that_is_no_longer_protected() -> None:
    """The protected pod's own labels decide."""
    protect = "policy notebooks { for pods where app = notebook protect from preemption }"
    there = contest("score free(cpu) prefer high", NOTEBOOK, nodes=1, more=protect)
    assert there.victims() == []
    for number in range(100):
        assert not there.relabel(NOTEBOOK, serial=str(number))
    assert there.relabel(NOTEBOOK, app="web")
    assert there.victims() == ["notebook"]


def test_labels_of_namespaces() -> None:
    """Only a namespace that comes into a set or a scope, or leaves it, is worth an attempt."""
    there = contest("preempt pods namespaceSelector env = test", NOTEBOOK, JOB)
    assert there.victims() == []

    def change(name: str, old: dict[str, str], new: dict[str, str]) -> bool:
        there.cache.set_namespace(name, new)
        before, after = (
            objects.Namespace(metadata=objects.ObjectMeta(name=name, labels=labels))
            for labels in (old, new)
        )
        return there.hint(NAMESPACE, events.ActionType.UPDATE_OTHER, before, after)

    for number in range(100):
        assert not change("prod", {"env": "prod"}, {"env": "prod", "serial": str(number)})
    assert change("default", {}, {"env": "test"})
    assert there.victims() == ["notebook"]


def test_the_pod_itself_and_its_rule() -> None:
    """A pod that may evict nobody waits for its own labels and for policies, not for others."""
    there = contest("preempt never", NOTEBOOK, JOB)
    assert there.victims() == []
    for number in range(100):
        assert not there.relabel(NOTEBOOK, tier="batch", serial=str(number))
    other = there.shapes.make_pod_info(WEB.labels(app="db").build())
    assert there.hint(OWN_POD, LABEL, there.waiting, other)
    assert there.hint(events.EventResource.POLICY, events.ActionType.UPDATE_OTHER, None, None)


def test_a_closed_node_waits_for_its_filter() -> None:
    """A rule with `preemption never` waits for pods to leave, although resources also lack."""
    full = on("n1", "other", app="web")
    there = contest("reject when count(self) >= 1 preemption never as one", full, nodes=1)
    assert there.victims() == []
    assert there.result.diagnosis is not None
    assert names.POLICY in there.result.diagnosis.unschedulable_plugins
