"""Failing cases become small, and stay the same failure."""

from __future__ import annotations

from typing import Any

from tests.conformance import shrink
from tests.conformance.generate import families


def _mentions_taint(case: dict[str, Any]) -> bool:
    nodes = [item for item in case["cluster"]["items"] if item["kind"] == "Node"]
    return any(
        taint.get("key") == "gpu"
        for node in nodes
        for taint in node.get("spec", {}).get("taints", ())
    )


def test_only_what_fails_is_left() -> None:
    """A case that fails for a taint is left with one node, its taint, and nothing else."""
    numbers = range(100)
    case = next(c for c in (families.case("taints", 1, n) for n in numbers) if _mentions_taint(c))
    small = shrink.shrink(case, _mentions_taint)
    (node,) = small["cluster"]["items"]
    (taint,) = node["spec"]["taints"]
    assert set(taint) == {"key", "effect"}
    assert set(node) == {"apiVersion", "kind", "metadata", "spec"}
    assert set(node["metadata"]) == {"name", "uid"}
    assert "config" not in small


def test_tries_are_limited() -> None:
    """After the last try the smallest case so far is returned."""
    tries = []

    def still_fails(case: dict[str, Any]) -> bool:
        tries.append(case)
        return True

    shrink.shrink(families.case("mixed", 1, 1), still_fails, most_tries=7)
    assert len(tries) == 7
