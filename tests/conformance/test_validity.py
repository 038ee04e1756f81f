"""Generated objects are what users can create: kube-apiserver's own validation takes them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests import line_process
from tests.conformance import oracle_process
from tests.conformance.generate import families

pytestmark = pytest.mark.e2e

_ALL = (*families.FAMILIES.values(), *families.BESIDE.values())
_STRICT = [family for family in _ALL if not family.is_lenient]
_SEED = 1
_CLUSTERS = 25
_CLUSTERS_LARGE = 4


@pytest.fixture(scope="module")
def oracle() -> Iterator[oracle_process.Oracle]:
    """The oracle, which validates as kube-apiserver does."""
    with oracle_process.Oracle() as running:
        yield running


@pytest.mark.parametrize("family", _STRICT, ids=lambda family: family.name)
def test_objects_are_valid(oracle: oracle_process.Oracle, family: families.Family) -> None:
    """Each object could be created on an API server with its default feature gates."""
    is_large = family.size.nodes[1] > 10
    for number in range(_CLUSTERS_LARGE if is_large else _CLUSTERS):
        refused = list(_refused(oracle, family, number))
        assert not refused, f"{family.name}-{_SEED}-{number}: {refused}"


def test_the_lenient_family_has_what_the_api_server_refuses(oracle: oracle_process.Oracle) -> None:
    """Objects that only older or other API servers took are there, in a family of their own."""
    family = families.FAMILIES["lenient"]
    told = [text for n in range(60) for text in _refused(oracle, family, n)]
    for kind in ("Pod", "PersistentVolume"):
        assert any(text.startswith(f"normalize: {kind} ") for text in told)


def _refused(oracle: oracle_process.Oracle, family: families.Family, number: int) -> Iterator[str]:
    """Yield why objects of a cluster, as their users created them, are refused."""
    found = families.created(family.name, _SEED, number)
    for made in [*found.nodes, *found.others, *found.pods]:
        cluster = {"apiVersion": "v1", "kind": "List", "items": [_without_priority(made)]}
        try:
            oracle.ask(cluster, oracle_process.NORMALIZE)
        except line_process.OracleError as error:
            yield str(error)


def _without_priority(made: dict[str, Any]) -> dict[str, Any]:
    """Return the object without what it would get from a PriorityClass: clusters have none."""
    if made["kind"] != "Pod":
        return made
    pod = copy.deepcopy(made)
    for field in ("priority", "preemptionPolicy"):
        pod["spec"].pop(field, None)
    return pod
