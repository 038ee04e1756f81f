"""DefaultPreemption, and filters beside nominated pods, against the scalar reference."""

from __future__ import annotations

import dataclasses
from typing import Any

import hypothesis
import hypothesis.strategies as st
import msgspec
import pytest

from policysched.cluster import snapshot
from policysched.cluster.counters import pod_counts
from policysched.cluster.objects import disruption_budgets, objects
from policysched.cluster.pods import pod_shape
from policysched.framework import handles, profile, runtime
from policysched.plugins import default_preemption, names, registry
from policysched.plugins.kernels import victims
from tests import examples
from tests.plugins import strategies, worlds
from tests.reference import preemption as reference
from tests.reference.single_node import Answer

PLUGINS = (
    names.NODE_UNSCHEDULABLE,
    names.TAINT_TOLERATION,
    names.NODE_AFFINITY,
    names.NODE_PORTS,
    names.NODE_RESOURCES_FIT,
    names.POD_TOPOLOGY_SPREAD,
    names.INTER_POD_AFFINITY,
)


HANDLE = handles.Handle()
STARTS = ("2026-01-05T11:00:00Z", "2026-01-05T11:30:00Z")
PRIORITIES = st.sampled_from((-5, 0, 10, 10, 50))


@dataclasses.dataclass
class Contest:
    """A cluster in which pods compete, and a profile that decides among them."""

    world: worlds.World
    nominated: list[objects.Pod]
    budgets: list[reference.Budget]
    framework: runtime.Framework
    plugin: default_preemption.DefaultPreemption

    @property
    def snap(self) -> snapshot.Snapshot:
        """What a cycle would see now."""
        return self.world.built.cache.snapshot()


@st.composite
def important(draw: st.DrawFn, pod: objects.Pod, priority: int | None = None) -> objects.Pod:
    """Return the pod with a priority and a start, and with what can be said one way only.

    A pod that is being deleted, or an empty selector, counts otherwise for spread when it is
    supposed than when it is there; recorded cases hold that to kube-scheduler.
    """
    spread = tuple(
        msgspec.structs.replace(c, label_selector=strategies.web)
        if c.label_selector == objects.LabelSelector()
        else c
        for c in pod.spec.topology_spread_constraints
    )
    given = draw(PRIORITIES) if priority is None else priority
    spec = msgspec.structs.replace(pod.spec, priority=given, topology_spread_constraints=spread)
    meta = msgspec.structs.replace(pod.metadata, deletion_timestamp=None)
    start = draw(st.sampled_from(STARTS))
    said = msgspec.structs.replace(pod.status, start_time=start)
    return msgspec.structs.replace(pod, metadata=meta, spec=spec, status=said)


@st.composite
def contests(draw: st.DrawFn, focus: strategies.Focus) -> Contest:
    """Return a cluster with nominated pods and budgets."""
    world = draw(worlds.worlds(focus))
    for pod in list(world.plain.pods.values()):
        world.set_pod(draw(important(pod)))
    cache = world.built.cache
    nominated = []
    for number in range(draw(st.integers(0, 2))):
        pod = draw(important(draw(strategies.pods(f"nominated-{number}", focus=focus))))
        node_name = draw(st.sampled_from(worlds.NODE_NAMES))
        said = msgspec.structs.replace(pod.status, nominated_node_name=node_name)
        nominated.append(msgspec.structs.replace(pod, status=said))
        cache.nominated.nominate(world.info(nominated[-1]), node_name)
    budgets = draw(st.lists(_budgets, max_size=2))
    for number, budget in enumerate(budgets):
        cache.budgets.set(_wire(budget, f"b{number}"))
    handle = dataclasses.replace(HANDLE, owners=cache.owners, budgets=cache.budgets)
    plugin = default_preemption.DefaultPreemption(handle)
    made: list[Any] = [
        registry.create_built_in_registry().create_plugin(name, None, handle) for name in PLUGINS
    ]
    prof = profile.Profile("test", (*made, plugin), {})
    return Contest(world, nominated, budgets, runtime.Framework(prof, None), plugin)


_budgets = st.builds(
    reference.Budget,
    namespace=st.sampled_from(("default", "prod")),
    selector=strategies.pod_selectors,
    allowed=st.integers(-1, 2),
    disrupted=st.sampled_from((frozenset(), frozenset(("p0", "p1")))),
)


def _wire(budget: reference.Budget, name: str) -> disruption_budgets.PodDisruptionBudget:
    return disruption_budgets.PodDisruptionBudget(
        metadata=objects.ObjectMeta(name=name, namespace=budget.namespace),
        spec=disruption_budgets.BudgetSpec(selector=budget.selector),
        status=disruption_budgets.BudgetStatus(
            disruptions_allowed=budget.allowed,
            disrupted_pods=dict.fromkeys(budget.disrupted),
        ),
    )


@pytest.mark.parametrize("focus", strategies.Focus)
@hypothesis.settings(max_examples=examples.scale(25))
@hypothesis.given(data=st.data())
def test_filters_and_victims_equal_the_reference(
    focus: strategies.Focus, data: st.DataObject
) -> None:
    """Verdicts beside nominated pods, victims, best nodes: what trying one by one gives."""
    contest = data.draw(contests(focus))
    before = _state(contest)
    for number in range(3):
        pod = data.draw(important(data.draw(strategies.pods(f"pending-{number}", focus=focus))))
        info = contest.world.info(pod)
        _check_filters(contest, info)
        _check_candidates(contest, info)
        assert _state(contest) == before
        _check_counters(contest)
        data.draw(worlds.changes(contest.world, focus))
        for placed in list(contest.world.plain.pods.values()):
            contest.world.set_pod(data.draw(important(placed, placed.spec.priority)))
        before = _state(contest)


def _check_filters(contest: Contest, info: pod_shape.PodInfo) -> None:
    plain = contest.world.plain
    asked = reference.filters(info.pod, plain)
    chosen = _chosen_by_name(info.pod)
    explained = contest.framework.explain_pod(info, contest.snap)
    found = {v.name: _answer(v.first) for v in explained.verdicts}
    if explained.pre_filter is not None:
        return
    for node in contest.world.nodes:
        if chosen is None or node.name in chosen:
            expected = reference.fits(info.pod, node, plain, asked, contest.nominated)
            assert found[node.name] == expected, node.name


def _check_candidates(contest: Contest, info: pod_shape.PodInfo) -> None:
    snap, plain = contest.snap, contest.world.plain
    result = contest.framework.schedule_pod(info, snap)
    if result.diagnosis is None:
        return
    rows = victims.potential_rows(result.diagnosis, snap).tolist()
    potential = {snap.nodes.names[row] for row in rows}
    expected = {
        node.name: reference.select_victims(
            info.pod, node, plain, contest.nominated, contest.budgets
        )
        for node in contest.world.nodes
        if node.name in potential
    }
    found, refused = contest.plugin.find_candidates(result.state, info, snap, result.diagnosis)
    ours: dict[str, Any] = {snap.nodes.names[r]: _answer(s) for r, s in refused.items()}
    for candidate in found:
        uids = [victim.uid for victim in candidate.victims]
        ours[snap.nodes.names[candidate.row]] = (uids, candidate.violations)
    assert ours == expected
    candidates = {name: e for name, e in expected.items() if e and isinstance(e[0], list)}
    if candidates:
        best = {snap.nodes.names[c.row] for c in victims.cheapest(found)}
        assert best == reference.best_nodes(candidates, plain)
        answer = contest.plugin.post_filter(result.state, info, snap, result.diagnosis)
        assert answer.nominated_node_name == min(best)


def _chosen_by_name(pod: objects.Pod) -> set[str] | None:
    """Return the nodes that NodeAffinity's PreFilter chooses, None for all."""
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    terms = required.node_selector_terms if required else ()
    chosen: set[str] = set()
    for term in terms:
        fields = [f for f in term.match_fields if f.operator == "In"]
        if not fields:
            return None
        chosen |= set.intersection(*(set(f.values) for f in fields))
    return chosen if terms else None


def _answer(status: Any) -> Answer:
    return None if status.is_success else (status.code.value, status.reasons)


def _state(contest: Contest) -> Any:
    """Return what must be the same after a what-if question as before it."""
    cache = contest.world.built.cache
    nodes, size = cache.nodes, cache.nodes.size
    owned = {
        (kind, term): column.get_counts(size).tolist()
        for kind, terms in cache.counts._owned.items()
        for term, column in terms.items()
    }
    return (
        nodes.requested[:size].tolist(),
        nodes.nonzero_requested[:size].tolist(),
        nodes.pod_count[:size].tolist(),
        [[p.uid for p in cache.get_pods_on_row(row)] for row in range(size)],
        owned,
    )


def _check_counters(contest: Contest) -> None:
    """Compare all counters, those begun within a what-if question too, with the pods there are."""
    cache = contest.world.built.cache
    counts, size = cache.counts, cache.nodes.size
    for query, column in counts._queries.items():
        expected = [
            sum(query.matches(p.shape, counts.namespaces) for p in cache.get_pods_on_row(row))
            for row in range(size)
        ]
        if isinstance(query, pod_counts.HypotheticalPodsInNamespace):
            expected = [0] * size
        assert column.get_counts(size).tolist() == expected
