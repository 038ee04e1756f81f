"""The generator: the same cases every time, and kube-scheduler has one answer to each."""

from __future__ import annotations

import json
import pathlib
from collections import Counter
from typing import Any

import pytest

from tests.conformance import run
from tests.conformance.generate import families

_ALL = [*families.FAMILIES, families.SEQUENCES.name]


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


def _identity(item: dict[str, Any]) -> tuple[str, str, str]:
    metadata = item["metadata"]
    return item["kind"], metadata.get("namespace", ""), metadata["name"]
