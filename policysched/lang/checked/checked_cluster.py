"""The statements of a clusterPolicy other than rules, in checked form.

They fill in only fields that the placement of a binding leaves empty; fields that are set in
Karmada take precedence.
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
        name: unique in the policy; reported in the binding's `schedulerObservingAffinityName`.
        selector: matches the clusters of the group.
    """

    name: str
    selector: checked_selector.Selector
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterSpreadConstraint:
    """`spreadConstraint by region minGroups 2 maxGroups 3`.

    Attributes:
        by: the field by which clusters are grouped.
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
        kind: with Duplicated, every cluster gets all replicas.
        weights: (cluster, weight) pairs from `Weighted (m1: 2, m2: 1)`.
        dynamic: set for `Weighted AvailableReplicas` and `Weighted by score`.
        rule: `RuleHead.statement_name` of the score that serves as weight; None for the sum of the
            policy's scores.
    """

    kind: Literal["Duplicated", "Aggregated", "Weighted"]
    weights: tuple[tuple[str, int], ...] = ()
    dynamic: Literal["AvailableReplicas", "score"] | None = None
    rule: str | None = None
    span: source.Span | None = dataclasses.field(default=None, compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterPlacement:
    """The placement statements of a clusterPolicy, that is, all statements except rules.

    Attributes:
        groups: in the order in which they are tried; empty if all clusters form one group.
        spread: at most one for each field.
        division: None if the policy does not set it.
    """

    groups: tuple[OrderedClusterGroup, ...] = ()
    spread: tuple[ClusterSpreadConstraint, ...] = ()
    division: ReplicaDivisionStrategy | None = None
