"""`score`: points from a number or a condition."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias, assert_never

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.compiler import lowering, rewrites, rule_programs
from policysched.compiler.pods import scope
from policysched.compiler.rules import base, reject
from policysched.framework import comparison, cycle_state, interface
from policysched.kernels import programs as operations
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
        programs: rule_programs.RulePrograms,
    ) -> None:
        """Compile the condition of `rule`."""
        super().__init__(rule.head, rule_scope, rule.weight)
        self.together = programs
        self.value = rewrites.apply(rule.value)
        self.reads = reject.reads_of_rule(self.value)
        self.outage = lower.outage(self.value)
        self.told = lower.evidence(rule.head, rule.value)
        self._missing = _missing_hundredths(rule)
        self.program = programs.make([self])

    def write(self, writer: lowering.ExpressionWriter) -> None:
        """Write the condition and its points."""
        register = writer.write(self.value)
        writer.draft.end(operations.CONDITION_POINTS, register, [float(self._missing)])

    @base.evaluates
    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,) hundredths, all 0 in an outage."""
        if self.outage.is_on(nodes.snapshot, state):
            return np.zeros(len(nodes), np.int64)
        found: columns.IntArray = self.program.run(nodes, pod.shape, state)[0].astype(np.int64)
        return found


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
        programs: rule_programs.RulePrograms,
    ) -> None:
        """Compile the number of `rule`."""
        super().__init__(rule.head, rule_scope, rule.weight)
        self.together = programs
        self.value = rewrites.apply(rule.value)
        self.reads = reject.reads_of_rule(self.value)
        self.unit = rule.value.unit
        self._prefers_low = rule.prefer == "low"
        self.outage = lower.outage(self.value)
        self.told = lower.evidence(rule.head, rule.value)
        self._missing = _missing_hundredths(rule)
        self.number = lower.lower(self.value)

    def compute_numbers(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, nodes: snapshot.NodeView
    ) -> columns.FloatArray:
        """Return float64 (n,), the numbers that points are made of; NaN where missing."""
        return self.number.evaluate(nodes, shape, state)


class PointwiseScore(NumberScore):
    """Points that follow from the node's own number alone."""

    def __init__(
        self,
        rule: checked.ExpressionScoreRule,
        normalization: PointwiseNormalization,
        rule_scope: scope.RuleScope,
        lower: lowering.Lowering,
        programs: rule_programs.RulePrograms,
    ) -> None:
        """Compile `rule`."""
        super().__init__(rule, rule_scope, lower, programs)
        self._normalization = normalization
        self.program = programs.make([self])

    def write(self, writer: lowering.ExpressionWriter) -> None:
        """Write the number and its points."""
        register, missing = writer.write(self.value), float(self._missing)
        match self._normalization:
            case checked.LinearNormalization(low=low, high=high):
                constants = [missing, low / 2, high / 2 - low / 2, high, float(self._prefers_low)]
                writer.draft.end(operations.LINEAR_POINTS, register, constants)
            case checked.ShapeNormalization(points=corners):
                line = itertools.chain.from_iterable(corners)
                constants = [missing, float(len(corners)), *map(float, line)]
                writer.draft.end(operations.SHAPE_POINTS, register, constants)
            case _:
                assert_never(self._normalization)

    @base.evaluates
    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,) hundredths, all 0 in an outage."""
        if self.outage.is_on(nodes.snapshot, state):
            return np.zeros(len(nodes), np.int64)
        found: columns.IntArray = self.program.run(nodes, pod.shape, state)[0].astype(np.int64)
        return found


class RelativeScore(NumberScore):
    """Points by comparison with the other feasible nodes."""

    def __init__(
        self,
        rule: checked.ExpressionScoreRule,
        normalization: RelativeNormalization,
        rule_scope: scope.RuleScope,
        lower: lowering.Lowering,
        programs: rule_programs.RulePrograms,
    ) -> None:
        """Compile `rule`."""
        super().__init__(rule, rule_scope, lower, programs)
        self.comparison = self._make_comparison(normalization)

    @base.evaluates
    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.FloatArray:
        """Return float64 (n,), NaN where missing; all 0, which gives no points, in an outage."""
        if self.outage.is_on(nodes.snapshot, state):
            return np.zeros(len(nodes))
        return self.compute_numbers(state, pod.shape, nodes)

    def write(self, writer: lowering.ExpressionWriter) -> None:
        """Write the number."""
        writer.draft.end(operations.STORE, writer.write(self.value))

    @base.evaluates
    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: columns.FloatArray
    ) -> columns.IntArray:
        """Return int64 (f,) hundredths for the feasible nodes."""
        return self.comparison.compare(scores)

    def _make_comparison(self, normalization: RelativeNormalization) -> comparison.Comparison:
        kinds, low = comparison.ComparisonKind, self._prefers_low
        match normalization:
            case checked.MinMaxNormalization(floor=floor):
                return comparison.Comparison(kinds.MINMAX, low, self._missing, floor)
            case checked.RankNormalization():
                return comparison.Comparison(kinds.RANK, low, self._missing)
            case checked.MaxNormalization():
                return comparison.Comparison(kinds.LARGEST, low, self._missing)
            case _:
                assert_never(normalization)


def _missing_hundredths(rule: checked.ExpressionScoreRule) -> int:
    return comparison.FULL * (rule.missing_points or 0) // interface.MAX_NODE_SCORE


if TYPE_CHECKING:
    _condition: type[interface.ScorePlugin] = ConditionScore
    _pointwise: type[interface.ScorePlugin] = PointwiseScore
    _relative: type[interface.ScorePlugin] = RelativeScore
    _comparing: type[interface.ComparingPlugin] = RelativeScore
