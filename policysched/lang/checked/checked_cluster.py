"""What a clusterPolicy says besides its rules, in checked form.

All of it fills what the placement of a binding leaves empty: Karmada's own words win.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

from policysched.lang import source
from policysched.lang.checked import checked_selector


@dataclasses.dataclass(frozen=True, slots=True)
class OrderedClusterGroup:
    """`clusterGroup name where selector`: clusters that are tried together.

    Attributes:
        name: unique in the policy; the affinity that a binding is observed to follow.
        selector: on clusters.
    """

    name: str
    selector: checked_selector.Selector
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterSpreadConstraint:
    """`spreadConstraint by region minGroups 2 maxGroups 3`.

    Attributes:
        by: what clusters are grouped by.
        min_groups: at least 1.
        max_groups: at least `min_groups`; None for no bound.
    """

    by: Literal["cluster", "region", "zone", "provider"]
    min_groups: int
    max_groups: int | None
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class ReplicaDivisionStrategy:
    """`replicas …`: how replicas are divided among clusters.

    Attributes:
        kind: Duplicated gives every cluster all of them.
        weights: (cluster, weight) of `Weighted (m1: 2, m2: 1)`.
        dynamic: `Weighted AvailableReplicas`, or `Weighted by score`.
        rule: `RuleHead.name` of the score to divide by; None for the sum of the policy's scores.
    """

    kind: Literal["Duplicated", "Aggregated", "Weighted"]
    weights: tuple[tuple[str, int], ...] = ()
    dynamic: Literal["AvailableReplicas", "score"] | None = None
    rule: str | None = None
    span: source.Span | None = dataclasses.field(default=None, compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterPlacement:
    """Where resources go, as far as no rule says it.

    Attributes:
        groups: in the order in which they are tried; none where all clusters are one group.
        spread: at most one for each field.
        division: None where nothing is said.
    """

    groups: tuple[OrderedClusterGroup, ...] = ()
    spread: tuple[ClusterSpreadConstraint, ...] = ()
    division: ReplicaDivisionStrategy | None = None
