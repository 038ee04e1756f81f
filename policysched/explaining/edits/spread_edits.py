"""Finds relaxations of the topology spread constraints of a pod or rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeAlias

from policysched.explaining.numbers import step_search

_MOST_SKEW = 1_000
_HONOR, _IGNORE = "Honor", "Ignore"


class EffectiveSpreadConstraint(Protocol):
    """A spread constraint of a pod or rule; None in a field means the Kubernetes default."""

    @property
    def max_skew(self) -> int:
        """The largest permitted difference between two domains, in pods."""
        ...

    @property
    def min_domains(self) -> int | None:
        """The minimum number of eligible domains; None means 1."""
        ...

    @property
    def node_affinity_policy(self) -> str | None:
        """Whether nodes that the pod does not select are excluded: `Honor` (default), `Ignore`."""
        ...

    @property
    def node_taints_policy(self) -> str | None:
        """Whether nodes with untolerated taints are excluded: `Honor` or `Ignore` (default)."""
        ...


Fits: TypeAlias = Callable[[Mapping[str, object]], tuple[str, ...]]
"""Returns the nodes on which the pod fits if the given fields have other values."""


@dataclasses.dataclass(frozen=True, slots=True)
class SpreadRelaxation:
    """A new value of a field and the nodes on which the pod fits with it."""

    field: str
    before: str
    after: str
    nodes: tuple[str, ...]


def find_spread_relaxations(
    spread: EffectiveSpreadConstraint, fits: Fits
) -> Iterator[SpreadRelaxation]:
    """Yield changes to single fields that make the pod fit: nearest numbers and node policies."""
    yield from _find_fitting_spread_number(
        fits, "maxSkew", "max_skew", spread.max_skew, 1, _MOST_SKEW
    )
    least = spread.min_domains or 1
    yield from _find_fitting_spread_number(fits, "minDomains", "min_domains", least, -1, least - 1)
    affinity, taints = spread.node_affinity_policy or _HONOR, spread.node_taints_policy or _IGNORE
    yield from _try_other_node_policy(fits, "nodeAffinityPolicy", "node_affinity_policy", affinity)
    yield from _try_other_node_policy(fits, "nodeTaintsPolicy", "node_taints_policy", taints)


def _find_fitting_spread_number(
    fits: Fits, field: str, name: str, before: int, sign: int, most: int
) -> Iterator[SpreadRelaxation]:
    """Yield the number nearest to `before`, in the direction `sign`, that makes the pod fit."""
    steps = step_search.find_fewest_steps(
        lambda count: bool(fits({name: before + sign * count})), most
    )
    if steps is not None:
        after = before + sign * steps
        nodes = fits({name: after})
        if nodes:
            yield SpreadRelaxation(field, str(before), str(after), nodes)


def _try_other_node_policy(
    fits: Fits, field: str, name: str, before: str
) -> Iterator[SpreadRelaxation]:
    after = _IGNORE if before == _HONOR else _HONOR
    nodes = fits({name: after})
    if nodes:
        yield SpreadRelaxation(field, before, after, nodes)
