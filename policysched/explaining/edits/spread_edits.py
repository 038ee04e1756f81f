"""Edits that relax topology spread constraints of a pod or of a rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeAlias

from policysched.explaining.numbers import step_search

_MOST_SKEW = 1_000
_HONOR, _IGNORE = "Honor", "Ignore"


class EffectiveSpreadConstraint(Protocol):
    """A constraint; fields that are None have the defaults of Kubernetes."""

    @property
    def max_skew(self) -> int:
        """The largest permitted difference between domains."""
        ...

    @property
    def min_domains(self) -> int | None:
        """The required number of domains, 1 by default."""
        ...

    @property
    def node_affinity_policy(self) -> str | None:
        """Whether to exclude nodes that the pod does not select: `Honor` (default) or `Ignore`."""
        ...

    @property
    def node_taints_policy(self) -> str | None:
        """Whether to exclude nodes with untolerated taints: `Honor` or `Ignore` (default)."""
        ...


Fits: TypeAlias = Callable[[Mapping[str, object]], tuple[str, ...]]
"""Returns the nodes on which the pod fits with other values of fields."""


@dataclasses.dataclass(frozen=True, slots=True)
class SpreadRelaxation:
    """A new value of a field, and the nodes on which the pod then fits."""

    field: str
    before: str
    after: str
    nodes: tuple[str, ...]


def find_spread_relaxations(
    spread: EffectiveSpreadConstraint, fits: Fits
) -> Iterator[SpreadRelaxation]:
    """Yield changes of single fields that let the pod fit: policies and the nearest numbers."""
    yield from _relax_spread_number(fits, "maxSkew", "max_skew", spread.max_skew, 1, _MOST_SKEW)
    least = spread.min_domains or 1
    yield from _relax_spread_number(fits, "minDomains", "min_domains", least, -1, least - 1)
    affinity, taints = spread.node_affinity_policy or _HONOR, spread.node_taints_policy or _IGNORE
    yield from _toggle_node_policy(fits, "nodeAffinityPolicy", "node_affinity_policy", affinity)
    yield from _toggle_node_policy(fits, "nodeTaintsPolicy", "node_taints_policy", taints)


def _relax_spread_number(
    fits: Fits, field: str, name: str, before: int, sign: int, most: int
) -> Iterator[SpreadRelaxation]:
    steps = step_search.find_fewest_steps(
        lambda count: bool(fits({name: before + sign * count})), most
    )
    if steps is not None:
        after = before + sign * steps
        nodes = fits({name: after})
        if nodes:
            yield SpreadRelaxation(field, str(before), str(after), nodes)


def _toggle_node_policy(
    fits: Fits, field: str, name: str, before: str
) -> Iterator[SpreadRelaxation]:
    after = _IGNORE if before == _HONOR else _HONOR
    nodes = fits({name: after})
    if nodes:
        yield SpreadRelaxation(field, before, after, nodes)
