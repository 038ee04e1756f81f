"""Plugins that look at the pod more than at nodes, and what policies' tolerations change."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from policysched.cluster.objects import objects
from policysched.cluster.pods import owner_selectors, pod_shape
from policysched.framework import cycle_state, handles, interface, queued_pod, status
from policysched.plugins import (
    default_binder,
    image_locality,
    node_name,
    node_ports,
    node_resources_balanced_allocation,
    node_unschedulable,
    pod_groups,
    priority_sort,
    scheduling_gates,
    taint_toleration,
)
from policysched.plugins.node_affinity import node_affinity
from policysched.plugins.pod_topology_spread import pod_topology_spread
from tests.builders import PodBuilder, expression, make_cache, make_node, make_pod, node_term
from tests.plugins import asking

pod = make_pod("a")
EVERYTHING_TOLERATED = (objects.Toleration(operator="Exists"),)


# --- queueing and binding ------------------------------------------------------------------------


def test_scheduling_gates_name_all_gates() -> None:
    """A gated pod waits, and the reason spells the gates as kube-scheduler does."""
    cluster = make_cache()
    gated = scheduling_gates.SchedulingGates().pre_enqueue(
        cluster.info(pod.gates("example.com/a", "example.com/b"))
    )
    assert gated.code is status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert gated.reasons == ("waiting for scheduling gates: [example.com/a example.com/b]",)
    assert scheduling_gates.SchedulingGates().pre_enqueue(cluster.info(pod)).is_success


def test_priority_sort() -> None:
    """Higher priority first, then earlier entry, then earlier arrival."""
    cluster = make_cache()
    entries = [("low", 0, 1.0, 1), ("late", 5, 3.0, 2), ("early", 5, 2.0, 4), ("same", 5, 2.0, 3)]
    queued = [
        queued_pod.QueuedPodInfo(cluster.info(make_pod(name).priority(priority)), seconds, sequence)
        for name, priority, seconds, sequence in entries
    ]
    queued.sort(key=priority_sort.PrioritySort().sort_key)
    assert [q.info.pod.metadata.name for q in queued] == ["same", "early", "late", "low"]


@dataclasses.dataclass
class RecordingBinder:
    """Notes bindings and gives a fixed answer."""

    answer: handles.BindError | None
    bound: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> handles.BindError | None:
        """Note the binding."""
        self.bound.append((pod.key, node_name))
        return self.answer


@pytest.mark.parametrize(
    "answer, code, reasons",
    [
        pytest.param(None, status.Code.SUCCESS, (), id="accepted"),
        pytest.param(
            handles.BindError("pod a is already assigned to node n2"),
            status.Code.ERROR,
            ("pod a is already assigned to node n2",),
            id="conflict",
        ),
    ],
)
def test_default_binder(
    answer: handles.BindError | None, code: status.Code, reasons: tuple[str, ...]
) -> None:
    """The binder is asked once, and its refusal is an error in the server's words."""
    binder = RecordingBinder(answer)
    plugin = default_binder.DefaultBinder(binder)
    info = make_cache().info(pod)
    found = asyncio.run(plugin.bind(cycle_state.CycleState(), info, "n1"))
    assert (found.code, found.reasons) == (code, reasons)
    assert binder.bound == [("default/a", "n1")]


# --- pre-filters ---------------------------------------------------------------------------------


def pre_filtered(plugin: Any, builder: PodBuilder) -> interface.PreFilterResult:
    """Return what PreFilter says of a pod in an empty cluster."""
    cluster = make_cache()
    info = cluster.info(builder)
    result = plugin.pre_filter(asking.state_for(info), info, cluster.cache.snapshot())
    assert isinstance(result, interface.PreFilterResult)
    return result


def in_names(*terms: tuple[str, ...]) -> PodBuilder:
    """Return a pod whose node affinity terms have one field requirement a name."""
    return pod.requires_nodes(
        *(
            node_term(fields=[expression("metadata.name", "In", name) for name in names])
            for names in terms
        )
    )


NARROWING = [
    pytest.param(pod, None, id="no affinity"),
    pytest.param(in_names(("n1",)), {"n1"}, id="one name"),
    pytest.param(in_names(("n1",), ("n2",)), {"n1", "n2"}, id="two terms"),
    pytest.param(
        pod.requires_nodes(
            node_term(fields=[expression("metadata.name", "In", "n1")]),
            node_term(expression("a", "Exists")),
        ),
        None,
        id="a term without a name",
    ),
    pytest.param(
        pod.requires_nodes(node_term(fields=[expression("metadata.name", "NotIn", "n1")])),
        None,
        id="not in",
    ),
]


@pytest.mark.parametrize("builder, names", NARROWING)
def test_node_affinity_narrows_the_nodes(builder: PodBuilder, names: set[str] | None) -> None:
    """Where every term names nodes, only these are filtered."""
    assert pre_filtered(node_affinity.NodeAffinity(), builder).node_names == names


def test_node_affinity_terms_can_conflict() -> None:
    """A term that requires two names matches no node, which is said at once."""
    result = pre_filtered(node_affinity.NodeAffinity(), in_names(("n1", "n2")))
    assert result.status.code is status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert result.status.reasons == ("pod affinity terms conflict",)


@pytest.mark.parametrize(
    "plugin, builder, is_skipped",
    [
        pytest.param(node_affinity.NodeAffinity(), pod, True, id="NodeAffinity: nothing"),
        pytest.param(
            node_affinity.NodeAffinity(), pod.node_selector(a="b"), False, id="NodeAffinity"
        ),
        pytest.param(
            node_affinity.NodeAffinity(
                objects.NodeAffinity(
                    required_during_scheduling_ignored_during_execution=objects.NodeSelector()
                )
            ),
            pod,
            False,
            id="NodeAffinity: added",
        ),
        pytest.param(node_ports.NodePorts(), pod, True, id="NodePorts: nothing"),
        pytest.param(node_ports.NodePorts(), pod.host_port(80), False, id="NodePorts"),
        pytest.param(node_name.NodeName(), pod, True, id="NodeName: nothing"),
        pytest.param(node_name.NodeName(), pod.node("n1"), False, id="NodeName"),
        pytest.param(pod_groups.PodGroups(), pod, False, id="PodGroups: no group"),
    ],
)
def test_pre_filter_skips(plugin: Any, builder: PodBuilder, is_skipped: bool) -> None:
    """Filters are left out exactly where kube-scheduler leaves them out."""
    result = pre_filtered(plugin, builder)
    assert result.status.is_skip == is_skipped
    assert result.status.is_success != is_skipped


def test_pods_of_a_group_wait() -> None:
    """A pod of a group is rejected for all nodes, and no victim would help it."""
    grouped = pod.spec(scheduling_group=objects.PodSchedulingGroup(pod_group_name="g"))
    found = pre_filtered(pod_groups.PodGroups(), grouped).status
    assert found.code is status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert found.reasons == (pod_groups.REASON,)


def test_node_name() -> None:
    """A pod that names its node fits only there."""
    cluster = make_cache([make_node("n1"), make_node("n2")])
    info = cluster.info(pod.node("n2"))
    found = node_name.NodeName().filter(
        asking.state_for(info), info, cluster.cache.snapshot().view_all_rows()
    )
    reason = ("node(s) didn't match the requested node name",)
    assert asking.answers(found) == [("UnschedulableAndUnresolvable", reason), None]


# --- pre-scores ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "plugin, builder, is_skipped",
    [
        pytest.param(node_affinity.NodeAffinity(), pod, True, id="NodeAffinity: nothing"),
        pytest.param(
            node_affinity.NodeAffinity(),
            pod.prefers_nodes(5, node_term()),
            False,
            id="NodeAffinity: a term that matches nothing still scores 0",
        ),
        pytest.param(
            node_resources_balanced_allocation.NodeResourcesBalancedAllocation(),
            pod.requests(cpu="0"),
            True,
            id="BalancedAllocation: best effort",
        ),
        pytest.param(
            node_resources_balanced_allocation.NodeResourcesBalancedAllocation(),
            pod.requests(cpu="1m"),
            False,
            id="BalancedAllocation",
        ),
    ],
)
def test_pre_score_skips(plugin: Any, builder: PodBuilder, is_skipped: bool) -> None:
    """A plugin is absent from the scores exactly where it is in kube-scheduler's."""
    cluster = make_cache([make_node("n1")])
    info = cluster.info(builder)
    found = plugin.pre_score(asking.state_for(info), info, cluster.cache.snapshot().view_all_rows())
    assert found.is_skip == is_skipped


# --- scores ---------------------------------------------------------------------------------------


def test_image_locality_goes_by_the_nodes_that_are_left() -> None:
    """The places of removed nodes are free for new ones, and are no nodes without the image."""
    mebibyte = 1024 * 1024
    with_image = make_node("n1").image("web:1", size_bytes=523 * mebibyte)
    cluster = make_cache([with_image, make_node("n2"), make_node("n3")])
    info = cluster.info(pod.image("web:1"))
    for name in ("n2", "n3"):
        cluster.cache.remove_node(name)
    nodes = asking.rows_of(cluster.cache.snapshot(), [with_image.build()])
    scores = image_locality.ImageLocality().score(asking.state_for(info), info, nodes)
    assert scores.tolist() == [100 * (523 - 23) // (1000 - 23)]


# --- tolerations of policies ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "plugin, node",
    [
        pytest.param(
            node_unschedulable.NodeUnschedulable(),
            make_node("n1").unschedulable(),
            id="NodeUnschedulable",
        ),
        pytest.param(
            taint_toleration.TaintToleration(), make_node("n1").taint("x"), id="TaintToleration"
        ),
    ],
)
def test_policies_can_tolerate_taints(plugin: Any, node: Any) -> None:
    """Tolerations come from the cycle, so that policies can add to the pod's own."""
    cluster = make_cache([node])
    info = cluster.info(pod)
    everywhere = cluster.cache.snapshot().view_all_rows()
    own = plugin.filter(asking.state_for(info), info, everywhere)
    added = plugin.filter(cycle_state.CycleState(EVERYTHING_TOLERATED), info, everywhere)
    assert own.passes.tolist() == [False]
    assert added.passes.tolist() == [True]


def test_spread_honors_tolerations_of_policies() -> None:
    """With nodeTaintsPolicy Honor a tainted domain counts once a policy tolerates the taint."""
    nodes = [make_node("n1").labels(zone="a"), make_node("n2").labels(zone="b").taint("x")]
    cluster = make_cache(nodes, [make_pod("p").labels(app="web").node("n1")])
    info = cluster.info(
        pod.labels(app="web").spread("zone", selector={"app": "web"}, node_taints_policy="Honor")
    )
    plugin = pod_topology_spread.PodTopologySpread(owner_selectors.OwnerSelectors())
    snap = cluster.cache.snapshot()
    passes = []
    for tolerations in ((), EVERYTHING_TOLERATED):
        state = cycle_state.CycleState(tolerations)
        assert plugin.pre_filter(state, info, snap).status.is_success
        passes.append(plugin.filter(state, info, snap.view_all_rows()).passes.tolist())
    # Zone b, empty, does not count at first: then n1 is the fullest of one zone.
    assert passes == [[True, True], [False, True]]
