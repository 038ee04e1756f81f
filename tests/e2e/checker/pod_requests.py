"""What a pod takes of its node, as exact fractions by resource name."""

from __future__ import annotations

import fractions
from typing import TYPE_CHECKING, Any

from tests.e2e.checker import quantities

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def requests(pod: Mapping[str, Any]) -> Mapping[str, fractions.Fraction]:
    """Return what the scheduler has to find room for.

    Containers and sidecars run together. Before them each init container runs alone, beside the
    sidecars that were started before it. The pod takes the largest of these sums, or what it asks
    for as a whole, and its overhead.
    """
    spec = pod["spec"]
    largest: dict[str, fractions.Fraction] = {}
    for phase in _phases(spec):
        for name, amount in phase.items():
            largest[name] = max(largest.get(name, fractions.Fraction()), amount)
    largest |= _requested(spec)
    return _sum(largest, _amounts(spec.get("overhead")))


def allocatable(node: Mapping[str, Any]) -> Mapping[str, fractions.Fraction]:
    """Return what a node has for pods, `pods` among it."""
    return _amounts(node["status"].get("allocatable"))


def _phases(spec: Mapping[str, Any]) -> Iterator[Mapping[str, fractions.Fraction]]:
    """Give what each moment of the pod's life takes."""
    sidecars: Mapping[str, fractions.Fraction] = {}
    for container in spec.get("initContainers") or []:
        alone = _requested(container)
        if container.get("restartPolicy") == "Always":
            sidecars = _sum(sidecars, alone)
            yield sidecars
        else:
            yield _sum(sidecars, alone)
    together = sidecars
    for container in spec["containers"]:
        together = _sum(together, _requested(container))
    yield together


def _requested(container: Mapping[str, Any]) -> Mapping[str, fractions.Fraction]:
    return _amounts((container.get("resources") or {}).get("requests"))


def _amounts(quantity_of: Mapping[str, str] | None) -> Mapping[str, fractions.Fraction]:
    return {name: quantities.parse(text) for name, text in (quantity_of or {}).items()}


def _sum(
    one: Mapping[str, fractions.Fraction], other: Mapping[str, fractions.Fraction]
) -> Mapping[str, fractions.Fraction]:
    zero = fractions.Fraction()
    return {name: one.get(name, zero) + other.get(name, zero) for name in one.keys() | other.keys()}
