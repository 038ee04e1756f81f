"""The generator: the same cases every time, and kube-scheduler has one answer to each."""

from __future__ import annotations

import json
import pathlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance import run
from tests.conformance.generate import families

Manifest = dict[str, Any]
_ALL = [*families.FAMILIES, *families.BESIDE]


@pytest.mark.parametrize("family", _ALL)
def test_cases_depend_on_their_number_and_seed_alone(family: str) -> None:
    """A case can be made once more, and another seed or number makes another."""
    texts = [
        json.dumps(families.case(family, seed, number)["cluster"])
        for seed, number in ((1, 1), (1, 1), (1, 2), (2, 1))
    ]
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3


@pytest.mark.parametrize("family", _ALL)
def test_objects_are_named_once(family: str) -> None:
    """No two objects of a kind have the same name in a namespace."""
    for number in range(20):
        items = families.case(family, 1, number)["cluster"]["items"]
        names = Counter(map(_identity, items))
        assert max(names.values()) == 1


def test_volumes_differ_in_capacity() -> None:
    """Of volumes of the same size kube-scheduler would take any."""
    for number in range(50):
        items = families.case("volumes", 1, number)["cluster"]["items"]
        volumes = [i for i in items if i["kind"] == "PersistentVolume"]
        capacities = [volume["spec"]["capacity"]["storage"] for volume in volumes]
        assert len(set(capacities)) == len(capacities)


def test_families_are_described() -> None:
    """The page about conformance has a row for each family, with its share of 20,000 clusters."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "conformance.md").read_text("utf-8")
    for name, count in run.shares(list(families.FAMILIES), 20_000):
        assert f"| {name} | {count:,} |" in page


def _identity(item: Manifest) -> tuple[str, str, str]:
    metadata = item["metadata"]
    return item["kind"], metadata.get("namespace", ""), metadata["name"]


def _is_by_expressions(item: Manifest) -> bool:
    return "matchExpressions" in item.get("nodeTopology", {})


def _is_of_another_scheduler(item: Manifest) -> bool:
    return "nodeName" not in item.get("spec", {}) and (
        item.get("spec", {}).get("schedulerName") == "another-scheduler"
    )


@pytest.mark.parametrize(
    "kind, is_rare",
    [
        pytest.param("Pod", _is_of_another_scheduler, id="another-scheduler"),
        pytest.param("Pod", lambda pod: "labels" not in pod["metadata"], id="pod-labels"),
        pytest.param("Pod", lambda pod: "priority" not in pod["spec"], id="priority"),
        pytest.param("Pod", lambda pod: "status" not in pod, id="pod-status"),
        pytest.param("Node", lambda node: "labels" not in node["metadata"], id="node-labels"),
        pytest.param("Node", lambda node: "spec" not in node, id="spec"),
        pytest.param("Node", lambda node: not node.get("status"), id="node-status"),
        pytest.param(
            "StorageClass", lambda c: len(c.get("allowedTopologies", ())) > 1, id="topologies"
        ),
        pytest.param("CSIStorageCapacity", _is_by_expressions, id="capacity-by-expressions"),
    ],
)
def test_rare_forms_of_objects_occur(kind: str, is_rare: Callable[[Manifest], bool]) -> None:
    """Objects that lack what they may lack, or have more than they need, are among the others."""
    cases = (families.case("volumes", 1, number) for number in range(60))
    items = (item for case in cases for item in case["cluster"]["items"])
    assert any(is_rare(item) for item in items if item["kind"] == kind)


def test_some_clusters_for_preemption_are_crowded() -> None:
    """About one in 25 has many nodes, and some node has dozens of pods."""
    crowds = 0
    for number in range(150):
        items = families.case("preemption", 1, number)["cluster"]["items"]
        pods = Counter(i["spec"].get("nodeName") for i in items if i["kind"] == "Pod")
        nodes = sum(item["kind"] == "Node" for item in items)
        crowds += nodes >= 8 and max(pods.values()) >= 20
    assert crowds >= 3
