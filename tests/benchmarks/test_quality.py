"""The quality of placements: shares of nodes, points of pods, broken rules."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.comparison import quality
from tests.e2e.checker import cluster_state
from tests.realcluster import manifests

NODES = [
    manifests.node(
        f"n{n}", labels={manifests.ZONE: f"z{n % 2}"}, resources={"cpu": "4", "memory": "4Gi"}
    )
    for n in range(4)
]
SELECTOR = {"matchLabels": {"app": "web"}}


def _pod(name: str, node: str, spec: dict[str, Any] | None = None, **labels: str) -> dict[str, Any]:
    pod = manifests.pod(name, requests={"cpu": "1", "memory": "1Gi"}, labels=labels)
    pod["metadata"]["namespace"] = "benchmark"
    pod["spec"] |= {**(spec or {}), "nodeName": node}
    return pod


def _judged(*pods: dict[str, Any]) -> tuple[cluster_state.Cluster, list[float]]:
    cluster = cluster_state.Cluster.of(NODES, pods)
    points = quality.Points(cluster, quality.shares_of(cluster))
    return cluster, [points.of(pod) for pod in pods]


def _preferred(kind: str) -> dict[str, Any]:
    term = {"topologyKey": manifests.HOSTNAME, "labelSelector": SELECTOR}
    wish = {"weight": 10, "podAffinityTerm": term}
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}}


def test_shares_and_rules() -> None:
    """Four pods of a quarter node each on one of four nodes, then a fifth that does not fit."""
    four = [_pod(f"p{n}", "n0") for n in range(4)]
    judged = quality.judge(cluster_state.Cluster.of(NODES, four), "benchmark")
    assert (judged.cpu_max, judged.memory_max) == (1.0, 1.0)
    assert judged.cpu_std == pytest.approx(0.4330, abs=1e-4)
    assert judged.broken_rules == 0
    full = quality.judge(cluster_state.Cluster.of(NODES, [*four, _pod("p4", "n0")]), "benchmark")
    assert full.broken_rules == 2  # cpu and memory


def test_even_placement_gets_more_points() -> None:
    """Free resources of the node count."""
    _, together = _judged(_pod("a", "n0"), _pod("b", "n0"))
    _, apart = _judged(_pod("a", "n0"), _pod("b", "n1"))
    assert sum(apart) > sum(together)


@pytest.mark.parametrize(
    "kind, node, is_granted",
    [
        ("podAffinity", "n0", True),
        ("podAffinity", "n1", False),
        ("podAntiAffinity", "n0", False),
        ("podAntiAffinity", "n1", True),
    ],
)
def test_wishes_count(kind: str, node: str, *, is_granted: bool) -> None:
    """A preferred term is worth a third of the points; the pod itself does not satisfy it."""
    other = _pod("other", "n0", app="web")
    _, (_, with_wish) = _judged(other, _pod("p", node, _preferred(kind), app="web"))
    _, (_, without) = _judged(other, _pod("p", node, app="web"))
    assert with_wish == pytest.approx((2 * without + 100 * is_granted) / 3)


def test_preferred_nodes_count() -> None:
    """Preferred node affinity is a wish, too."""
    wanted = {"matchExpressions": [{"key": manifests.ZONE, "operator": "In", "values": ["z0"]}]}
    wish = {"weight": 1, "preference": wanted}
    spec = {
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    }
    _, (there,) = _judged(_pod("p", "n0", spec))
    _, (elsewhere,) = _judged(_pod("p", "n1", spec))
    assert there - elsewhere == pytest.approx(100 / 3)


def test_uneven_spread_costs_points() -> None:
    """A skew of two with maxSkew one gives half of these points."""
    spread = {
        "topologyKey": manifests.ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": SELECTOR,
    }
    spec = {"topologySpreadConstraints": [spread]}
    _, even = _judged(_pod("a", "n0", spec, app="web"), _pod("b", "n1", spec, app="web"))
    _, skewed = _judged(_pod("a", "n0", spec, app="web"), _pod("b", "n2", spec, app="web"))
    assert even[0] - skewed[0] == pytest.approx(50 / 3)
