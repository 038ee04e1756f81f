"""Generated control planes, decided by policysched and by Karmada's own algorithm."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests import seeds
from tests.karmada import cases, oracle_process, product

pytestmark = pytest.mark.e2e

CASES = seeds.KARMADA_CASES
"""Control planes; each has 8 bindings."""

FILTERS = ("APIEnablement", "TaintToleration", "ClusterAffinity", "SpreadConstraint")


@seeds.drawn
def test_placements_equal_those_of_karmada(seed: int) -> None:
    """Clusters, replicas, errors and observed affinities agree on every binding."""
    assert _compare(seed, CASES, "*") == CASES * cases.BINDINGS


@seeds.drawn
@pytest.mark.parametrize("plugin", [*FILTERS, "ClusterEviction", "ClusterLocality"])
def test_each_plugin_alone_tells_the_same(plugin: str, seed: int) -> None:
    """With one filter there is one reason a cluster, so texts are equal to the letter."""
    assert _compare(seed, CASES // 8, plugin, is_exact=True) == CASES // 8 * cases.BINDINGS


@seeds.drawn
def test_workload_affinity_groups_equal_those_of_karmada(seed: int) -> None:
    """The same with the gate that brings WorkloadAffinity and WorkloadAntiAffinity."""
    count = CASES // 4
    gate = "WorkloadAffinity=true"
    assert _compare(seed, count, "*", gate=gate) == count * cases.BINDINGS
    for plugin in ("WorkloadAffinity", "WorkloadAntiAffinity"):
        _compare(seed, count, plugin, gate=gate, is_exact=True)


@seeds.drawn
def test_components_are_placed_as_a_whole(seed: int) -> None:
    """The gate MultiplePodTemplatesScheduling; and without it the same bindings as ever."""
    count, gate = CASES // 2, "MultiplePodTemplatesScheduling=true"
    assert _compare(seed, count, "*", gate=gate, has_components=True) == count * cases.BINDINGS
    both = f"{gate},CustomizedClusterResourceModeling=false"
    _compare(seed, count // 4, "*", gate=both, has_components=True)
    _compare(seed, count // 4, "*", has_components=True)


@seeds.drawn
def test_models_of_nodes_may_be_left_out(seed: int) -> None:
    """The gate CustomizedClusterResourceModeling, which is on unless somebody turns it off."""
    gate = "CustomizedClusterResourceModeling=false"
    assert _compare(seed, CASES // 4, "*", gate=gate) == CASES // 4 * cases.BINDINGS


@seeds.drawn
def test_empty_clusters_are_named_like_in_karmada(seed: int) -> None:
    """--enable-empty-workload-propagation adds the same clusters without replicas."""
    assert _compare(seed, CASES // 8, "*", empty=True) == CASES // 8 * cases.BINDINGS


def _compare(
    seed: int,
    count: int,
    plugins: str,
    *,
    gate: str = "",
    empty: bool = False,
    is_exact: bool = False,
    has_components: bool = False,
) -> int:
    """Compare control planes and return of how many bindings; fail on a difference."""
    options = [f"--plugins={plugins}", f"--feature-gates={gate}"]
    options += ["--enable-empty-workload-propagation"] if empty else []
    compared = 0
    with oracle_process.running() as karmada, product.running(*options) as ours:
        for number in range(count):
            plane = cases.control_plane(
                f"{seed}-{plugins}-{number}",
                has_groups=bool(gate),
                has_components=has_components,
            )
            told = karmada(plane, plugins=plugins.split(","), gates=gate, empty=empty)
            for mine, theirs in zip(ours(plane), told, strict=True):
                is_divided = _is_divided(plane, mine["binding"])
                assert _normal(mine, is_divided, is_exact) == _normal(
                    theirs, is_divided, is_exact
                ), f"seed {seed}-{plugins}-{number}: {json.dumps(plane)}"
                compared += 1
    return compared


def _is_divided(plane: dict[str, Any], name: str) -> bool:
    for item in plane["items"]:
        if item["metadata"]["name"] == name.rpartition("/")[2]:
            strategy = item["spec"]["placement"].get("replicaScheduling", {})
            return bool(strategy.get("replicaSchedulingType") == "Divided")
    raise AssertionError(name)


def _normal(result: dict[str, Any], is_divided: bool, is_exact: bool) -> dict[str, Any]:
    """Return what must be equal: Karmada's order is random where replicas are divided.

    So is which of several filters tells its reason about a cluster; how many clusters have one is
    not.
    """
    clusters, error = result["clusters"], result["error"]
    if is_divided:
        clusters = sorted(clusters, key=lambda cluster: cluster["name"])
    if result["errorKind"] == "fit" and not is_exact:
        head, _, reasons = error.partition(": ")
        error = f"{head}: {sum(int(n) for n in re.findall(r'(?:^|, )([0-9]+) ', reasons))}"
    return result | {"clusters": clusters, "error": error}
