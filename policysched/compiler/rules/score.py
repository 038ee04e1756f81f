"""`score`: points from a number or a condition."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias, assert_never

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.compiler import (
    column,
    expressions,
    lowering,
    physical,
    rewrites,
    row_code,
    row_programs,
    scope,
)
from policysched.compiler.kernels import arithmetic, bound_frames, points, rank_frame, scalar
from policysched.compiler.rules import base, reject
from policysched.framework import comparing, cycle_state, interface
from policysched.lang.checked import checked

PointwiseNormalization: TypeAlias = checked.LinearNormalization | checked.ShapeNormalization
RelativeNormalization: TypeAlias = (
    checked.MinMaxNormalization | checked.RankNormalization | checked.MaxNormalization
)


class ConditionScore(base.ScoreRule):
    """100 points where a condition holds, 0 where not, the declared ones where it is unknown."""

    def __init__(
        self,
        rule: checked.ExpressionScoreRule,
        rule_scope: scope.RuleScope,
        lower: lowering.Lowering,
        programs: row_programs.RowPrograms,
    ) -> None:
        """Compile the condition of `rule`."""
        super().__init__(rule.head, rule_scope, rule.weight)
        self.together = programs
        condition = rewrites.apply(rule.value)
        self.value = lower.condition(condition)
        self.reads = reject.reads_of_rule(condition)
        self.follows_amounts = expressions.follows_amounts(condition)
        self.outage = lower.outage(condition)
        self.told = lower.evidence(rule.head, rule.value)
        self._missing = _missing_hundredths(rule)

    @base.evaluates
    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,) hundredths, all 0 in an outage."""
        if self.outage.is_on(nodes.snapshot, state):
            return np.zeros(len(nodes), np.int64)
        truths = physical.evaluate(self.value, physical.Batch(nodes, pod.shape, state))
        hundredths = np.where(truths.is_true, points.FULL, self._missing)
        return np.where(column.on_each(truths.is_false, len(nodes)), 0, hundredths)

    @base.evaluates
    def score_row(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> int:
        """Return the hundredths of one node."""
        if self.outage.is_on(node.snapshot, state):
            return 0
        truth = self.value.at(physical.OneNode(node, pod.shape, state))
        if truth is None:
            return self._missing
        return points.FULL if truth else 0

    def write_score(self, code: row_code.Writer) -> str:
        """Write what `score_row` does."""
        lost = code.outage(self.outage)
        truth = code.of(self.value)
        found = f"{points.FULL} if {truth.name} else 0"
        if truth.may_lack:
            found = f"{self._missing} if {truth.name} is None else {found}"
        return code.variable(f"0 if {lost} else {found}" if lost else found)


class NumberScore(base.ScoreRule):
    """Points from a number; what pointwise and relative ones share.

    Attributes:
        unit: of the number, None for a condition.
    """

    def __init__(
        self,
        rule: checked.ExpressionScoreRule,
        rule_scope: scope.RuleScope,
        lower: lowering.Lowering,
        programs: row_programs.RowPrograms,
    ) -> None:
        """Compile the number of `rule`."""
        super().__init__(rule.head, rule_scope, rule.weight)
        self.together = programs
        number = rewrites.apply(rule.value)
        self.value = lower.number(number)
        self.reads = reject.reads_of_rule(number)
        self.follows_amounts = expressions.follows_amounts(number)
        self.ignores_usage = lower.when_usage_is_ignored(number)
        self.unit = rule.value.unit
        self._prefers_low = rule.prefer == "low"
        self.outage = lower.outage(number)
        self.told = lower.evidence(rule.head, rule.value)
        self._missing = _missing_hundredths(rule)

    def numbers(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, nodes: snapshot.NodeView
    ) -> column.Numbers:
        """Return the numbers that points are made of: values (n,), valid ones may be ALWAYS.

        To be called inside `arithmetic.quiet()`.
        """
        values, is_valid = self.value.evaluate(physical.Batch(nodes, shape, state))
        return column.Numbers(column.on_each(values, len(nodes)), is_valid)


class PointwiseScore(NumberScore):
    """Points that follow from the node's own number alone."""

    def __init__(
        self,
        rule: checked.ExpressionScoreRule,
        normalization: PointwiseNormalization,
        rule_scope: scope.RuleScope,
        lower: lowering.Lowering,
        programs: row_programs.RowPrograms,
    ) -> None:
        """Compile `rule`."""
        super().__init__(rule, rule_scope, lower, programs)
        self._normalization = normalization

    @base.evaluates
    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,) hundredths, all 0 in an outage."""
        if self.outage.is_on(nodes.snapshot, state):
            return np.zeros(len(nodes), np.int64)
        with arithmetic.quiet():
            values, is_valid = self.numbers(state, pod.shape, nodes)
            if is_valid is column.ALWAYS or is_valid.all():
                return self._points(values)
            known = np.where(is_valid, values, 0.0)
            return np.where(is_valid, self._points(known), self._missing)

    @base.evaluates
    def score_row(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> int:
        """Return the hundredths of one node."""
        if self.outage.is_on(node.snapshot, state):
            return 0
        value = self.value.at(physical.OneNode(node, pod.shape, state))
        return self._missing if value is None else self._points_of(value)

    def write_score(self, code: row_code.Writer) -> str:
        """Write what `score_row` does."""
        lost = code.outage(self.outage)
        value = code.of(self.value)
        match self._normalization:
            case checked.LinearNormalization(low=low, high=high) if low / 2 != high / 2:
                found = code.share(value, low / 2, high / 2 - low / 2, points.FULL)
                found = f"{points.FULL} - ({found})" if self._prefers_low else f"({found})"
            case _:
                found = f"{code.value(self._points_of)}({value.name})"
        if value.may_lack:
            found = f"{self._missing} if {value.name} is None else {found}"
        return code.variable(f"0 if {lost} else {found}" if lost else found)

    def _points_of(self, value: float) -> int:
        match self._normalization:
            case checked.LinearNormalization(low=low, high=high):
                hundredths = scalar.linear(value, low, high)
                return points.FULL - hundredths if self._prefers_low else hundredths
            case checked.ShapeNormalization(points=corners):
                return scalar.shape(value, corners)
            case _:
                assert_never(self._normalization)

    def _points(self, values: columns.FloatArray) -> columns.IntArray:
        match self._normalization:
            case checked.LinearNormalization(low=low, high=high):
                hundredths = points.linear(values, low, high)
                return points.FULL - hundredths if self._prefers_low else hundredths
            case checked.ShapeNormalization(points=corners):
                return points.shape(values, corners)
            case _:
                assert_never(self._normalization)


class RelativeScore(NumberScore):
    """Points by comparison with the other feasible nodes."""

    def __init__(
        self,
        rule: checked.ExpressionScoreRule,
        normalization: RelativeNormalization,
        rule_scope: scope.RuleScope,
        lower: lowering.Lowering,
        programs: row_programs.RowPrograms,
    ) -> None:
        """Compile `rule`."""
        super().__init__(rule, rule_scope, lower, programs)
        self._normalization = normalization

    @base.evaluates
    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.FloatArray:
        """Return float64 (n,), NaN where missing; all 0, which gives no points, in an outage."""
        if self.outage.is_on(nodes.snapshot, state):
            return np.zeros(len(nodes))
        with arithmetic.quiet():
            values, is_valid = self.numbers(state, pod.shape, nodes)
        return np.where(is_valid, values, np.nan)

    @base.evaluates
    def score_row(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> float:
        """Return the number of one node, NaN where missing; 0 in an outage."""
        if self.outage.is_on(node.snapshot, state):
            return 0.0
        value = self.value.at(physical.OneNode(node, pod.shape, state))
        return math.nan if value is None else value

    def write_score(self, code: row_code.Writer) -> str:
        """Write what `score_row` does."""
        lost = code.outage(self.outage)
        value = code.of(self.value)
        found = value.name
        if value.may_lack:
            found = f"{code.value(math.nan)} if {value.name} is None else {value.name}"
        return code.variable(f"0.0 if {lost} else {found}") if lost else f"({found})"

    @base.evaluates
    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: columns.FloatArray
    ) -> columns.IntArray:
        """Return int64 (f,) hundredths for the feasible nodes."""
        if not np.isnan(scores.min(initial=np.inf)):  # which is NaN if any is
            return self._points(scores)
        is_known = ~np.isnan(scores)
        hundredths = np.full(len(scores), self._missing, np.int64)
        hundredths[is_known] = self._points(scores[is_known])
        return hundredths

    def frame(self) -> comparing.Frame:
        """Return what numbers are compared with."""
        match self._normalization:
            case checked.MinMaxNormalization(floor=floor):
                return bound_frames.MinMax(floor, self._missing, prefer_low=self._prefers_low)
            case checked.RankNormalization():
                return rank_frame.Rank(self._missing, prefer_low=self._prefers_low)
            case checked.MaxNormalization():
                return bound_frames.Largest(self._missing, prefer_low=self._prefers_low)
            case _:
                assert_never(self._normalization)

    def _points(self, values: columns.FloatArray) -> columns.IntArray:
        match self._normalization:
            case checked.MinMaxNormalization(floor=floor):
                return points.minmax(values, floor, prefer_low=self._prefers_low)
            case checked.RankNormalization():
                return points.rank(values, prefer_low=self._prefers_low)
            case checked.MaxNormalization():
                return points.by_largest(values, prefer_low=self._prefers_low)
            case _:
                assert_never(self._normalization)


def _missing_hundredths(rule: checked.ExpressionScoreRule) -> int:
    return points.FULL * (rule.missing_points or 0) // interface.MAX_NODE_SCORE


if TYPE_CHECKING:
    _condition: type[interface.RowScorePlugin] = ConditionScore
    _pointwise: type[interface.RowScorePlugin] = PointwiseScore
    _relative: type[interface.RowScorePlugin] = RelativeScore
    _normalize: type[interface.NormalizeScorePlugin] = RelativeScore
    _comparing: type[comparing.ComparingPlugin] = RelativeScore
