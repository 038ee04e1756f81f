"""Filter beside nominated pods, the pod's own nominated node, and what-if questions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from policysched.cluster import snapshot, what_if
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface, profile, runtime, status
from policysched.plugins import node_ports, node_resources_fit, taint_toleration
from policysched.plugins.inter_pod_affinity import inter_pod_affinity
from policysched.plugins.node_affinity import node_affinity
from tests import builders

NODES = [builders.make_node(f"n{i}").capacity(cpu="4", pods="10").labels(zone="z") for i in (1, 2)]
POD = builders.make_pod("pod").labels(app="web").requests(cpu="2").priority(10)


class Crowd:
    """Rejects all nodes while more than `most` pods are placed anywhere."""

    name = "Crowd"
    reads: ClassVar[interface.Reads] = interface.Reads.ANYTHING

    def __init__(self, most: int) -> None:
        self.most = most

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Count all pods, once a cycle."""
        state.write(self.name, int(snap.nodes.pod_count[: snap.size].sum()))
        return interface.PreFilterResult()

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Judge all nodes alike."""
        crowded = np.full(len(nodes), state.read(self.name, int) > self.most)
        return status.NodeStatuses.where(crowded, status.unschedulable(self.name, "crowded"))


def framework(*more: Any) -> runtime.Framework:
    """Return a profile that decides by taints, affinity, ports, requests and other pods."""
    plugins = (
        taint_toleration.TaintToleration(),
        node_affinity.NodeAffinity(),
        node_ports.NodePorts(),
        node_resources_fit.NodeResourcesFit(),
        inter_pod_affinity.InterPodAffinity(),
        *more,
    )
    return runtime.Framework(profile.Profile("test", plugins, {}), None)


def failures(
    made: builders.Cluster, pod: builders.PodBuilder, *more: Any
) -> dict[str, tuple[str, ...]]:
    """Return why nodes do not take the pod, and check that schedule_pod says the same."""
    used = framework(*more)
    info = made.info(pod)
    explained = used.explain_pod(info, made.cache.snapshot())
    found = {v.name: v.first.reasons for v in explained.verdicts if not v.first.is_success}
    result = used.schedule_pod(info, made.cache.snapshot())
    assert (result.node_name is None) == (len(found) == len(explained.verdicts))
    assert result.message == explained.message
    return found


def nominated(made: builders.Cluster, pod: builders.PodBuilder, node_name: str) -> None:
    """Nominate a pod that waits."""
    made.cache.nominated.nominate(made.info(pod.nominated(node_name)), node_name)


OTHER = builders.make_pod("other").requests(cpu="3").priority(10)
DB = builders.make_pod("db").labels(app="db").priority(10)
NEAR_DB = builders.pod_term("zone", {"app": "db"})
NO_CPU = {"n1": ("Insufficient cpu",)}


@pytest.mark.parametrize(
    "other, pod, expected",
    [
        pytest.param(OTHER, POD, NO_CPU, id="same priority"),
        pytest.param(OTHER.priority(11), POD, NO_CPU, id="more priority"),
        pytest.param(OTHER.priority(9), POD, {}, id="less priority"),
        pytest.param(OTHER.requests(cpu="2"), POD, {}, id="both have room"),
        pytest.param(
            OTHER.requests(cpu="0").host_port(80),
            POD.host_port(80),
            {"n1": ("node(s) didn't have free ports for the requested pod ports",)},
            id="ports",
        ),
        pytest.param(
            DB,
            POD.rejects_pods(NEAR_DB),
            {"n1": ("node(s) didn't match pod anti-affinity rules",)},
            id="anti-affinity on the node alone",
        ),
        pytest.param(
            DB,
            POD.requires_pods(NEAR_DB),
            dict.fromkeys(("n1", "n2"), ("node(s) didn't match pod affinity rules",)),
            id="affinity to a pod that may not come",
        ),
        pytest.param(
            DB.rejects_pods(builders.pod_term("zone", {"app": "web"})),
            POD,
            {},
            id="nobody's anti-affinity acted before, so it is not asked",
        ),
    ],
)
def test_filters_beside_a_nominated_pod(
    other: builders.PodBuilder, pod: builders.PodBuilder, expected: dict[str, tuple[str, ...]]
) -> None:
    """A pod must fit beside pods with precedence, and without them."""
    made = builders.make_cache(NODES)
    nominated(made, other, "n1")
    assert failures(made, pod) == expected


def test_anti_affinity_of_a_nominated_pod_counts_where_such_pods_are() -> None:
    """Once some placed pod repels the pod, so does a nominated one."""
    repels = builders.pod_term("kubernetes.io/hostname", {"app": "web"})
    host = "kubernetes.io/hostname"
    nodes = [builders.make_node(n).capacity(cpu="4", pods="10").labels({host: n}) for n in "abc"]
    made = builders.make_cache(nodes, [builders.make_pod("x").rejects_pods(repels).node("a")])
    nominated(made, OTHER.requests(cpu="0").rejects_pods(repels), "b")
    existing = ("node(s) didn't satisfy existing pods anti-affinity rules",)
    assert failures(made, POD) == {"a": existing, "b": existing}


def test_kept_answers_know_nothing_of_nominated_pods() -> None:
    """When the nomination is over the node takes equal pods again, and the other way round."""
    made = builders.make_cache(NODES)
    used = framework()
    seen = []
    for node_name in ("", "n1", "", "n2", "n1"):
        nominated(made, OTHER, node_name)
        seen.append(used.schedule_pod(made.info(POD), made.cache.snapshot()).feasible_count)
        chosen = used.schedule_pod(made.info(POD), made.cache.snapshot()).node_name
        assert chosen != node_name
    assert seen == [2, 1, 2, 1, 1]


def test_each_node_is_judged_with_its_own_nominated_pods_alone() -> None:
    """A plugin that counts pods everywhere sees those of one node, not of all."""
    made = builders.make_cache(NODES)
    nominated(made, DB, "n1")
    nominated(made, builders.make_pod("db2").priority(10), "n2")
    assert failures(made, POD, Crowd(1)) == {}
    nominated(made, builders.make_pod("db3").priority(10), "n2")
    assert failures(made, POD, Crowd(1)) == {"n2": ("crowded",)}


@pytest.mark.parametrize(
    "node_name, reason",
    [
        pytest.param("n1", "node(s) had untolerated taint(s)", id="what Filter says of it"),
        pytest.param("", "node(s) didn't satisfy plugin(s) [NodeAffinity]", id="no nomination"),
    ],
)
def test_the_own_nominated_node_is_tried_whatever_pre_filter_chose(
    node_name: str, reason: str
) -> None:
    """Its reason is told, though PreFilter had left it out."""
    tainted = NODES[0].taint("dedicated")
    made = builders.make_cache([tainted, NODES[1]], [OTHER.requests(cpu="4").node("n2")])
    by_name = builders.node_term(fields=[builders.expression("metadata.name", "In", "n2")])
    pod = POD.requires_nodes(by_name).nominated(node_name)
    result = framework().schedule_pod(made.info(pod), made.cache.snapshot())
    assert result.message == f"0/2 nodes are available: 1 Insufficient cpu, 1 {reason}."


def test_the_own_nomination_is_no_other() -> None:
    """A pod does not have to fit beside itself."""
    made = builders.make_cache(NODES[:1])
    nominated(made, POD.requests(cpu="3"), "n1")
    pod = POD.requests(cpu="3").nominated("n1")
    assert framework().schedule_pod(made.info(pod), made.cache.snapshot()).node_name == "n1"


def test_the_own_nominated_node_must_fit_beside_others() -> None:
    """Room that was made for a pod goes to one of more priority that was nominated later."""
    made = builders.make_cache(NODES)
    nominated(made, OTHER.priority(20), "n1")
    pod = POD.nominated("n1")
    assert framework().schedule_pod(made.info(pod), made.cache.snapshot()).node_name == "n2"


def test_filter_is_asked_again_within_a_what_if_question() -> None:
    """Plugins that read anything prepare anew; nothing that is kept is read or changed."""
    made = builders.make_cache(NODES, [OTHER.requests(cpu="4").node("n1"), DB.node("n2")])
    used = framework(Crowd(1))
    info, snap = made.info(POD.requests(cpu="4")), made.cache.snapshot()
    diagnosis = used.schedule_pod(info, snap).diagnosis
    assert diagnosis is not None
    assert diagnosis.refilter is not None
    rows = np.array([snap.nodes.row_of["n1"]])
    victims = [(p, 0) for p in made.cache.get_pods_on_row(0)]
    assert diagnosis.refilter.filter(rows).ids.tolist() != [0]
    with what_if.WhatIf(snap) as world:
        world.remove_pods(victims)
        assert diagnosis.refilter.filter(rows).ids.tolist() == [0]
    assert diagnosis.refilter.filter(rows).ids.tolist() != [0]
    again = used.schedule_pod(info, snap).diagnosis
    assert again is not None
    assert again.ids.tolist() == diagnosis.ids.tolist()
