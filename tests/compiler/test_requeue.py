"""Which events are worth another attempt of a pod that a policy rejected."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policysched.compiler import requeue
from policysched.framework import events
from tests import builders
from tests.compiler import desk

ZONES = [desk.node("a1", zone="a"), desk.node("b1", zone="b")]
NODE, POD = events.EventResource.NODE, events.EventResource.POD
METRIC = events.EventResource.METRIC
ADD, DELETE = events.ActionType.ADD, events.ActionType.DELETE
LABEL, TAINT = events.ActionType.UPDATE_NODE_LABEL, events.ActionType.UPDATE_NODE_TAINT
ALLOCATABLE = events.ActionType.UPDATE_NODE_ALLOCATABLE
POD_LABEL = events.ActionType.UPDATE_POD_LABEL
REFRESH = events.ClusterEvent(METRIC, events.ActionType.UPDATE_OTHER)


class Waiting(desk.Desk):
    """A desk with one pod that was tried and waits."""

    def begin(self, pod: builders.PodBuilder) -> Waiting:
        """Try the pod once; it must not fit."""
        self.waiting = self.shapes.make_pod_info(pod.build())
        self.attempt()
        return self

    def attempt(self) -> None:
        """Try the pod again; it must not fit."""
        framework, snap = self.frameworks[None], self.cache.snapshot()
        result = framework.schedule_pod(self.waiting, snap)
        assert result.diagnosis is not None, "the pod fits"
        made_room = framework.run_post_filter(result.state, self.waiting, snap, result.diagnosis)
        assert made_room is not None
        assert made_room.status.is_rejection

    def hint(
        self,
        event: events.ClusterEvent,
        old: events.ClusterObject = None,
        new: events.ClusterObject = None,
    ) -> bool:
        """Return whether an event that just happened lets the pod be tried again."""
        (plugin,) = (
            each
            for each in self.frameworks[None].profile.plugins
            if isinstance(each, requeue.PolicyEvents)
        )
        registered = [e for e in plugin.events_to_register() if e.event.covers(event)]
        asked = [e.hint(self.waiting, old, new) if e.hint else None for e in registered]
        return any(answer is not events.QueueingHint.SKIP for answer in asked)

    def change_node(self, new: builders.NodeBuilder, action: events.ActionType) -> bool:
        """Change, add or (DELETE) remove a node and return what its event is worth."""
        made = new.build()
        old = self.cache.get_node(made.name)
        if action is DELETE:
            self.cache.remove_node(made.name)
            return self.hint(events.ClusterEvent(NODE, action), old, None)
        self.cache.set_node(made)
        return self.hint(events.ClusterEvent(NODE, action), old, made)

    def add_pod(self, pod: builders.PodBuilder) -> bool:
        """Place a pod and return what its event is worth."""
        self.place(pod)
        return self.hint(
            events.ClusterEvent(POD, ADD), None, self.shapes.make_pod_info(pod.build())
        )

    def relabel_pod(self, old: builders.PodBuilder, **labels: str) -> bool:
        """Give a placed pod other labels and return what that event is worth."""
        before = self.shapes.make_pod_info(old.build())
        after = self.shapes.make_pod_info(old.labels(labels).build())
        self.cache.update_pod(after)
        return self.hint(events.ClusterEvent(POD, POD_LABEL), before, after)

    def delete_pod(self, pod: builders.PodBuilder) -> bool:
        """Remove a placed pod and return what its event is worth."""
        self.remove(pod)
        return self.hint(
            events.ClusterEvent(POD, DELETE), self.shapes.make_pod_info(pod.build()), None
        )


# --- nodes ---------------------------------------------------------------------------------------

LABELLED = "policy p { for pods nodeAffinity required disk = ssd and not tainted(old) }"


@pytest.mark.parametrize(
    "change, action, helps",
    [
        pytest.param(desk.node("a1", zone="a", disk="ssd"), LABEL, True, id="label-that-helps"),
        pytest.param(desk.node("a1", zone="a", disk="hdd"), LABEL, False, id="other-value"),
        pytest.param(desk.node("a1", zone="a", rack="1"), LABEL, False, id="other-label"),
        pytest.param(
            desk.node("a1", disk="ssd").taint("old"), LABEL, False, id="helps-and-hinders"
        ),
        pytest.param(desk.node("new", disk="ssd"), ADD, True, id="new-node-that-fits"),
        pytest.param(desk.node("new", disk="hdd"), ADD, False, id="new-node-that-does-not"),
        pytest.param(desk.node("a1", zone="a"), DELETE, False, id="node-that-goes"),
        pytest.param(desk.node("t").labels(disk="ssd"), TAINT, True, id="taint-taken-away"),
    ],
)
def test_node_events(change: builders.NodeBuilder, action: events.ActionType, helps: bool) -> None:
    """A change of a node helps if the node passes all rules now and did not before."""
    tainted = desk.node("t", disk="ssd").taint("old")
    there = Waiting(LABELLED, [*ZONES, tainted]).begin(desk.pod())
    assert there.change_node(change, action) is helps


def test_a_change_of_a_node_that_passed_before_helps_nobody() -> None:
    """The pod does not wait for this node's labels, whoever rejected it there."""
    text = "policy p { for pods nodeAffinity required disk = ssd reject when requests(cpu) > 0 }"
    there = Waiting(text, [desk.node("a1", disk="ssd")]).begin(desk.pod().requests(cpu="1"))
    there.waiting = there.shapes.make_pod_info(desk.pod().build())
    assert not there.change_node(desk.node("a1", disk="ssd", rack="1"), LABEL)
    assert there.change_node(desk.node("a2", disk="ssd"), ADD)


def test_a_hundred_changes_that_cannot_help() -> None:
    """None of them queues the pod; the one that helps does."""
    there = Waiting(LABELLED, ZONES).begin(desk.pod())
    for i in range(100):
        assert not there.change_node(desk.node("a1", zone="a", serial=str(i)), LABEL)
    assert there.change_node(desk.node("a1", zone="a", disk="ssd"), LABEL)


def test_room_on_a_node() -> None:
    """What a rule reads of resources follows allocatable and the pods of the node."""
    text = "policy p { for pods reject when free(cpu) < 2 }"
    small = desk.node("a1").capacity(cpu="3")
    old = desk.pod("old").requests(cpu="2").node("a1")
    there = Waiting(text, [small])
    there.place(old)
    there.begin(desk.pod())
    assert not there.change_node(desk.node("a1").capacity(cpu="3500m"), ALLOCATABLE)
    assert there.change_node(desk.node("a1").capacity(cpu="4"), ALLOCATABLE)
    there.cache.set_node(small.build())
    there.attempt()
    assert there.delete_pod(old)


# --- pods ----------------------------------------------------------------------------------------


def test_pods_that_come_help_affinity() -> None:
    """A pod of the set, not another one."""
    text = "policy p { for pods podAffinity required pods where app = db topologyKey zone }"
    there = Waiting(text, ZONES).begin(desk.pod())
    assert not there.add_pod(desk.pod("x", app="web").node("a1"))
    assert there.add_pod(desk.pod("y", app="db").node("a1"))


def test_pods_that_go_help_anti_affinity() -> None:
    """A pod of the set, when it was the last one of some domain."""
    text = "policy p { for pods podAntiAffinity required pods where app = db topologyKey zone }"
    pods = [desk.pod(n, app="db").node(on) for n, on in (("x", "a1"), ("y", "b1"), ("z", "b1"))]
    other = desk.pod("o", app="web").node("a1")
    there = Waiting(text, ZONES)
    there.place(*pods, other)
    there.begin(desk.pod())
    assert not there.delete_pod(other)
    assert not there.delete_pod(pods[2])
    assert there.delete_pod(pods[1])


def test_labels_of_placed_pods_help_affinity() -> None:
    """A pod that joins the set, not one that gets another label."""
    text = "policy p { for pods podAffinity required pods where app = db topologyKey zone }"
    there = Waiting(text, ZONES)
    placed = desk.pod("x", app="web").node("a1")
    there.place(placed)
    there.begin(desk.pod())
    assert not there.relabel_pod(placed, app="cache")
    assert there.relabel_pod(placed, app="db")


def test_labels_of_placed_pods_help_anti_affinity() -> None:
    """A pod that leaves the set, when it was the last one of some domain."""
    text = "policy p { for pods podAntiAffinity required pods where app = db topologyKey zone }"
    one, other = (desk.pod(name, app="db").node("a1") for name in ("x", "y"))
    there = Waiting(text, ZONES[:1])
    there.place(one, other)
    there.begin(desk.pod())
    assert not there.relabel_pod(one, app="web")
    assert there.relabel_pod(other, app="web")


def test_labels_of_placed_pods_help_spread() -> None:
    """A pod that leaves the fullest domain lets it take one more."""
    text = "policy p { for pods where app = web topologySpread topologyKey zone }"
    text += " policy q { for pods reject when node(tainted(t)) }"
    placed = desk.pod("one", app="web").node("a1")
    there = Waiting(text, [ZONES[0], desk.node("b1", zone="b").taint("t")])
    there.place(placed)
    there.begin(desk.pod(app="web"))
    assert there.relabel_pod(placed, app="db")


def test_pods_that_repelled_and_go() -> None:
    """A placed pod of the policy goes, and with it its term."""
    text = """policy p {
      for pods where app = quiet
      podAntiAffinity required pods where app = loud topologyKey zone
    }"""
    quiet = desk.pod("q", app="quiet").node("a1")
    there = Waiting(text, [desk.node("a1", zone="a")])
    there.place(quiet, desk.pod("o", app="other").node("a1"))
    there.begin(desk.pod(app="loud"))
    assert not there.delete_pod(desk.pod("o", app="other").node("a1"))
    assert there.delete_pod(quiet)


def test_spread_is_helped_from_elsewhere() -> None:
    """A pod in the emptiest domain, or that domain's end, lets the others take one more."""
    text = """policy p {
      for pods where app = web
      topologySpread topologyKey zone
      nodeAffinity required pool = web
    }"""
    nodes = [
        desk.node("a1", zone="a", pool="web"),
        desk.node("b1", zone="b", pool="web").taint("t"),
    ]
    there = Waiting(text + " policy q { for pods reject when node(tainted(t)) }", nodes)
    there.place(desk.pod("one", app="web").node("a1"))
    there.begin(desk.pod(app="web"))
    assert not there.add_pod(desk.pod("x", app="db").node("b1"))
    assert there.add_pod(desk.pod("two", app="web").node("b1"))
    there.remove(desk.pod("two", app="web").node("b1"))
    there.attempt()
    assert there.change_node(nodes[1], DELETE)


def test_spread_is_helped_by_a_label_that_the_pod_itself_spreads_by() -> None:
    """The emptiest host counts no longer once it lacks the zone that the pod asks for."""
    text = """policy p { for pods where app = web topologySpread topologyKey host }
    policy q { for pods reject when node(tainted(t)) }"""
    nodes = [desk.node("a1", host="a1", z="a"), desk.node("b1", host="b1", z="b").taint("t")]
    there = Waiting(text, nodes)
    there.place(desk.pod("one", app="web").node("a1"))
    there.begin(desk.pod(app="web").spread("z", max_skew=9, selector={"app": "web"}))
    without_zone = desk.node("b1", host="b1").taint("t")
    assert there.change_node(without_zone, events.ActionType.UPDATE_NODE_LABEL)


# --- everything else -----------------------------------------------------------------------------


def test_metrics_help_when_a_verdict_flips() -> None:
    """A refresh that lets no further node pass is worth nothing, a hundred of them too."""
    text = f"{desk.METRICS} policy p {{ for pods reject when load > 80% missing reject }}"
    there = Waiting(text, ZONES)
    there.sample("load", a1=0.9, b1=0.9)
    there.begin(desk.pod())
    for i in range(100):
        there.sample("load", a1=0.9, b1=0.81 + i / 1000)
        assert not there.hint(REFRESH)
    there.sample("load", a1=0.9, b1=0.5)
    assert there.hint(REFRESH)
    assert there.hint(REFRESH), "every waiting pod of the shape is told"
    there.sample("load", a1=0.9, b1=0.9)
    assert not there.hint(REFRESH)


def test_metrics_help_no_pod_that_no_metric_decides() -> None:
    """A refresh is nothing to pods that other rules reject."""
    text = f"""{desk.METRICS}
    policy p {{ for pods where app = web reject when load > 80% missing reject }}
    policy q {{ for pods nodeAffinity required zone = none }}
    """
    there = Waiting(text, ZONES).begin(desk.pod())
    there.sample("load", a1=0.1)
    assert not there.hint(REFRESH)


def test_a_pod_that_itself_changed_is_tried_again() -> None:
    """Labels may take it out of the policy; another pod's labels may not."""
    there = Waiting(LABELLED, ZONES).begin(desk.pod())
    changed = there.shapes.make_pod_info(desk.pod(app="web").build())
    label = events.ClusterEvent(
        events.EventResource.UNSCHEDULED_POD, events.ActionType.UPDATE_POD_LABEL
    )
    assert there.hint(label, there.waiting, changed)
    assert not there.hint(label, there.waiting, there.waiting)
    other = there.shapes.make_pod_info(desk.pod("other", app="web").build())
    assert not there.hint(label, there.shapes.make_pod_info(desk.pod("other").build()), other)


def test_labels_of_a_namespace_help_when_a_node_passes_then() -> None:
    """The namespace is no longer one that the policy is about."""
    text = "policy p { for pods in namespace where team = a nodeAffinity required zone = none }"
    there = Waiting(text, ZONES, {"default": {"team": "a"}}).begin(desk.pod())
    relabelled = events.ClusterEvent(events.EventResource.NAMESPACE, events.ActionType.UPDATE_OTHER)
    there.cache.set_namespace("other", {"team": "b"})
    assert not there.hint(relabelled)
    there.cache.set_namespace("default", {"team": "b"})
    assert there.hint(relabelled)


def test_a_profile_without_filters_waits_for_nothing() -> None:
    """Scores reject nobody."""
    there = desk.Desk("policy p { for pods score free(memory) prefer high }", ZONES)
    framework = there.frameworks[None]
    assert framework.events_to_register() == {"Policy": ()}


def test_before_the_first_attempt_everything_helps() -> None:
    """A hint that has seen no cluster yet does not hold a pod back."""
    there = Waiting(LABELLED, ZONES)
    there.waiting = there.shapes.make_pod_info(desk.pod().build())
    made = desk.node("x").build()
    asked: list[Callable[[], bool]] = [
        lambda: there.hint(events.ClusterEvent(NODE, ADD), None, made),
        lambda: there.hint(
            events.ClusterEvent(events.EventResource.NAMESPACE, events.ActionType.UPDATE_OTHER)
        ),
    ]
    assert [ask() for ask in asked] == [True, True]


# --- metrics, by the time -------------------------------------------------------------------------

BUSY = "metric busy: ratio = `x` node instance refresh 15s maxAge 2m"
ONE = [desk.node("n1").capacity(cpu="10", pods=110)]


def _look(there: Waiting) -> bool:
    there.cache.expire_samples()
    return there.hint(REFRESH)


def test_a_sample_that_turns_stale_is_worth_another_attempt_where_that_helps() -> None:
    """Without any refresh: under `missing allow` with another node that has data."""
    text = f"{BUSY} policy p {{ for pods reject when busy > 80% missing allow }}"
    there = Waiting(text, [*ONE, desk.node("n2")])
    there.sample("busy", {"n1": 60.0}, n1=0.9, n2=0.9)
    there.begin(desk.pod())
    assert not _look(there)
    change = there.program.next_metric_change(there.cache.snapshot())
    assert change is not None
    assert 59 < (change - there.clock.now()).total_seconds() <= 60
    there.clock.advance(61)
    assert _look(there)
    assert there.feasible(desk.pod()) == ["n1"]


def test_a_sample_that_turns_stale_is_not_worth_it_where_it_helps_nobody() -> None:
    """Under `missing reject` the node stays rejected."""
    text = f"{BUSY} policy p {{ for pods reject when busy > 80% missing reject }}"
    there = Waiting(text, [*ONE, desk.node("n2")])
    there.sample("busy", {"n1": 60.0}, n1=0.9, n2=0.9)
    there.begin(desk.pod())
    there.clock.advance(61)
    assert not _look(there)


def test_a_placed_pod_that_ceases_to_count_is_worth_another_attempt() -> None:
    """As soon as its time is over, without a refresh; and when it goes before that."""
    text = f"""{BUSY} placed adds requests(cpu) / allocatable(cpu) for 90s
    policy p {{ for pods reject when busy > 80% missing allow }}"""
    there = Waiting(text, ONE)
    there.sample("busy", n1=0.5)
    info = there.shapes.make_pod_info(desk.pod("burst").requests(cpu="4").build())
    there.cache.assume_pod(info, "n1")
    there.begin(desk.pod())
    there.clock.advance(80)
    assert not _look(there)
    there.clock.advance(10)
    assert _look(there)
    there.cache.forget_pod(info)
    placed = desk.pod("other").requests(cpu="4").node("n1")
    there.cache.assume_pod(there.shapes.make_pod_info(placed.build()), "n1")
    there.attempt()
    assert there.delete_pod(placed)


def test_a_pod_that_waits_for_a_metric_is_tried_again_when_that_is_back() -> None:
    """The refresh has to bring a valid sample; a look at the time changes nothing."""
    text = f"""{BUSY} policy p {{ for pods score busy prefer low missing score 0 as s }}
    profile x {{ policies p onOutage hold }}"""
    there = Waiting(text, ONE)
    there.frameworks[None] = there.frameworks["x"]
    there.begin(desk.pod())
    assert not _look(there)
    there.sample("busy", n1=float("nan"))
    assert not there.hint(REFRESH)
    there.sample("busy", n1=0.5)
    assert there.hint(REFRESH)


def test_a_node_that_hysteresis_lets_go_is_worth_another_attempt() -> None:
    """Between the bounds a refresh is worth nothing."""
    text = f"{BUSY} policy p {{ for pods reject when busy > 80% until busy < 70% missing allow }}"
    there = Waiting(text, ONE)
    there.sample("busy", n1=0.9)
    there.begin(desk.pod())
    there.sample("busy", n1=0.75)
    assert not there.hint(REFRESH)
    there.sample("busy", n1=0.65)
    assert there.hint(REFRESH)
