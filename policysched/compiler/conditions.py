"""Conditions in the form that runs; see `physical`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import cast

import numpy as np

from policysched.cluster.columns import columns
from policysched.compiler import column, node_masks, physical, pod_predicates
from policysched.compiler.kernels import compare, logic
from policysched.lang.checked import checked_expr


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two numbers."""

    source: checked_expr.TypedExpr
    comparison: compare.Comparison
    on_one: Callable[[float, float], bool]
    left: physical.NumberExpr
    right: physical.NumberExpr

    def evaluate(self, batch: physical.Batch) -> column.Truths:
        """Return where it holds."""
        left, right = self.left.evaluate(batch), self.right.evaluate(batch)
        return compare.compare(self.comparison, left, right)

    def at(self, one: physical.OneNode) -> bool | None:
        """Return whether it holds on one node."""
        left, right = self.left.at(one), self.right.at(one)
        return None if left is None or right is None else self.on_one(left, right)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeMatches:
    """A selector on the node."""

    source: checked_expr.TypedExpr
    selector: node_masks.NodeMask

    def evaluate(self, batch: physical.Batch) -> column.Truths:
        """Return which nodes match."""
        return column.definite(self.selector.mask(batch.nodes))

    def at(self, one: physical.OneNode) -> bool:
        """Return whether the node matches."""
        node = one.node
        return bool(self.selector.mask(node.snapshot.view_rows(np.array([node.row])))[0])


@dataclasses.dataclass(frozen=True, slots=True)
class PodMatches:
    """A selector on the incoming pod."""

    source: checked_expr.TypedExpr
    selector: pod_predicates.PodPredicate

    def evaluate(self, batch: physical.Batch) -> column.Truths:
        """Return whether the pod matches, the same for all nodes."""
        matches = np.bool_(self.selector(batch.shape))
        return column.definite(cast("columns.BoolArray", matches))

    def at(self, one: physical.OneNode) -> bool:
        """Return whether the pod matches."""
        return self.selector(one.shape)


@dataclasses.dataclass(frozen=True, slots=True)
class AllOf:
    """Kleene and; what is the same on all nodes comes first and may settle it."""

    source: checked_expr.TypedExpr
    operands: tuple[physical.TruthExpr, ...]

    def evaluate(self, batch: physical.Batch) -> column.Truths:
        """Return the conjunction."""
        found = []
        for operand in self.operands:
            found.append(operand.evaluate(batch))
            if found[-1].is_false is column.ALWAYS:
                return found[-1]
        return logic.all_of(found)

    def at(self, one: physical.OneNode) -> bool | None:
        """Return the conjunction on one node; the first that is false settles it."""
        known: bool | None = True
        for operand in self.operands:
            truth = operand.at(one)
            if truth is False:
                return False
            known = known and truth
        return known


@dataclasses.dataclass(frozen=True, slots=True)
class AnyOf:
    """Kleene or; what is the same on all nodes comes first and may settle it."""

    source: checked_expr.TypedExpr
    operands: tuple[physical.TruthExpr, ...]

    def evaluate(self, batch: physical.Batch) -> column.Truths:
        """Return the disjunction."""
        found = []
        for operand in self.operands:
            found.append(operand.evaluate(batch))
            if found[-1].is_true is column.ALWAYS:
                return found[-1]
        return logic.any_of(found)

    def at(self, one: physical.OneNode) -> bool | None:
        """Return the disjunction on one node; the first that is true settles it."""
        known: bool | None = False
        for operand in self.operands:
            truth = operand.at(one)
            if truth is True:
                return True
            known = None if known is None else truth
        return known


@dataclasses.dataclass(frozen=True, slots=True)
class Negation:
    """Kleene not."""

    source: checked_expr.TypedExpr
    operand: physical.TruthExpr

    def evaluate(self, batch: physical.Batch) -> column.Truths:
        """Return the negation."""
        return logic.negation(self.operand.evaluate(batch))

    def at(self, one: physical.OneNode) -> bool | None:
        """Return the negation on one node."""
        truth = self.operand.at(one)
        return None if truth is None else not truth
