"""Sum the pods that topology spread constraints count, by node and topology domain.

Filter and Score of PodTopologySpread share these sums. The state that depends only on nodes is
cached for each pod shape.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Hashable, Sequence

import numpy as np

from policysched.cluster import count_column, snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import owner_selectors, pod_shape
from policysched.framework import cycle_state
from policysched.plugins.kernels import domain_verdicts, domains, node_selection, tolerations
from policysched.plugins.pod_topology_spread import spread_constraints
from policysched.plugins.shared import memo


@dataclasses.dataclass(frozen=True, slots=True)
class SpreadConstraintDomains:
    """A constraint and the nodes to which it applies; the domains depend only on nodes.

    Attributes:
        nodes: domains of all nodes that have the label.
        joined: like `nodes`, but nodes without the label belong to the domain of the empty value if
            any node has this value.
        counted: like `joined`, but without nodes whose pods do not count: nodes that lack a
            topology key and nodes that the node inclusion policies exclude.
        eligible: bool (D + 1,), domains with at least one counted node.
        column: counted pods by row; None if no pod can count.
        sums: counted pods by domain.
        has_outside: whether any row is in no domain.
    """

    constraint: spread_constraints.ResolvedSpreadConstraint
    nodes: domains.Domains
    joined: domains.Domains
    counted: domains.Domains
    eligible: columns.BoolArray
    column: count_column.CountColumn | None
    sums: domains.DomainSums
    has_outside: bool

    def get_row_pod_counts(self, snap: snapshot.Snapshot) -> columns.IntArray:
        """Return int64 (N,): the counted pods on each row."""
        if self.column is None:
            return np.zeros(snap.size, np.int64)
        return self.column.get_counts(snap.size)


@dataclasses.dataclass(slots=True, weakref_slot=True)
class SpreadConstraintSet:
    """The constraints of one kind, shared by shapes for which they have the same sums.

    Attributes:
        verdicts: verdicts of hard constraints; None before the first PreFilter.
    """

    each: list[SpreadConstraintDomains]
    verdicts: domain_verdicts.DomainVerdicts | None = None

    def are_current(self) -> bool:
        """Return whether all summed columns are still updated."""
        for spread in self.each:  # noqa: SIM110 - `all` of a generator takes three times as long
            if not spread.sums.is_current:
                return False
        return True


class SpreadConstraintsByShape:
    """Caches the constraints of shapes by kind: `spread_constraints.HARD` or `SOFT`."""

    def __init__(
        self, owners: owner_selectors.OwnerSelectors, defaults: spread_constraints.SpreadDefaults
    ) -> None:
        """Apply `defaults` to pods without constraints, with selectors from `owners`."""
        self._owners = owners
        self._defaults = defaults
        self._domains = domains.DomainsByKey()
        self._constraints = {
            action: memo.ShapeMemo[tuple[spread_constraints.ResolvedSpreadConstraint, ...]]()
            for action in (spread_constraints.HARD, spread_constraints.SOFT)
        }
        self._errors = {action: memo.ShapeMemo[str]() for action in self._constraints}
        self._spreads = {
            action: memo.ShapeMemo[SpreadConstraintSet]() for action in self._constraints
        }
        self._shared: weakref.WeakValueDictionary[Hashable, SpreadConstraintSet] = (
            weakref.WeakValueDictionary()
        )

    def get_constraints(
        self, shape: pod_shape.PodShape, action: str
    ) -> tuple[spread_constraints.ResolvedSpreadConstraint, ...]:
        """Return the constraints of one kind: the pod's own, or else the defaults."""
        return self._constraints[action].get_or_compute(
            shape,
            self._owners.generation,
            lambda: spread_constraints.resolve_constraints(
                shape, action, self._defaults, self._owners
            ),
        )

    def find_constraint_error(self, shape: pod_shape.PodShape, action: str) -> str:
        """Return the first error in the constraints of a pod, or ""."""
        if not shape.spec.topology_spread_constraints:
            return ""
        return self._errors[action].get_or_compute(
            shape, None, lambda: spread_constraints.find_selector_error(shape, action)
        )

    def requires_all_topology_keys(self, shape: pod_shape.PodShape) -> bool:
        """Return whether nodes that lack any topology key are excluded.

        The system defaults do not exclude them, so that nodes without a zone still spread by
        hostname.
        """
        return bool(shape.spec.topology_spread_constraints) or not self._defaults.is_system

    def get_constraint_set(
        self,
        state: cycle_state.CycleState,
        shape: pod_shape.PodShape,
        snap: snapshot.Snapshot,
        action: str,
    ) -> SpreadConstraintSet | None:
        """Return the constraints of one kind for a shape, or None if it has none."""
        constraints = self.get_constraints(shape, action)
        if not constraints:
            return None
        stamp = (domains.stamp_of(snap), snap.counts, constraints, state.tolerations)
        memo_of = self._spreads[action]

        def find() -> SpreadConstraintSet:
            selected = (shape.node_selector, shape.required_node_terms)
            key = (action, stamp, selected, self.requires_all_topology_keys(shape))
            found = self._shared.get(key)
            if found is None or not found.are_current():
                found = SpreadConstraintSet(
                    self._make_constraint_set(state.tolerations, shape, snap, constraints)
                )
                self._shared[key] = found
            return found

        return memo_of.get_or_compute(shape, stamp, find, SpreadConstraintSet.are_current)

    def _make_constraint_set(
        self,
        own: tolerations.Tolerations,
        shape: pod_shape.PodShape,
        snap: snapshot.Snapshot,
        constraints: Sequence[spread_constraints.ResolvedSpreadConstraint],
    ) -> list[SpreadConstraintDomains]:
        """Return the domains and sums of each constraint, under the node inclusion policies."""
        everywhere = snap.view_all_rows()
        by_key = [self._domains.get(snap, c.topology_key) for c in constraints]
        matches_affinity = node_selection.required_mask(shape, everywhere)
        is_tolerated = tolerations.TaintSetTable(tolerations.repels, own).at(everywhere) == 0
        has_keys = snap.is_alive.copy()
        if self.requires_all_topology_keys(shape):
            has_keys &= np.logical_and.reduce([d.slots > 0 for d in by_key])
        made = []
        for constraint, nodes in zip(constraints, by_key, strict=True):
            included = has_keys
            if constraint.honors_affinity:
                included = included & matches_affinity
            if constraint.honors_taints:
                included = included & is_tolerated
            joined = domains.joined(nodes, snap, constraint.topology_key)
            counted = joined.only(included)
            query = constraint.query
            column = None if query is None else snap.counts.get_column(query)
            sums = domains.DomainSums(counted, [] if column is None else [(column, 1)])
            has_outside = not nodes.slots.all()
            made.append(
                SpreadConstraintDomains(
                    constraint, nodes, joined, counted, counted.present(), column, sums, has_outside
                )
            )
        return made
