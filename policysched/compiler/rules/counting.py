"""Rules whose conditions and numbers count placed pods: `reject when count(…) >= 3`.

They decide about the same nodes as other rules of their kind; the framework asks them by topology
domain (`domain_filters`, `compared_scores`), because one placed pod can change many nodes.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.counters import pod_counts
from policysched.cluster.pods import pod_shape
from policysched.compiler import counted_values, lowering, program, rule_programs
from policysched.compiler.pods import counted_pods, scope
from policysched.compiler.rules import base, reject, score
from policysched.framework import apart, comparison, cycle_state, interface, status
from policysched.framework.filtering import domain_filters
from policysched.framework.scoring import compared_scores
from policysched.lang.checked import checked, checked_expr


def counts_pods(expr: checked_expr.TypedExpr) -> bool:
    """Return whether an expression counts placed pods."""
    kind = checked_expr.PlacedPodCount
    return any(isinstance(each, kind) for each in checked_expr.walk_expressions(expr))


class CountingReject(reject.Reject):
    """Rejects nodes on which a condition holds that counts pods."""

    def __init__(
        self,
        rule: checked.RejectRule,
        rule_scope: scope.RuleScope,
        lower: lowering.Lowering,
        programs: rule_programs.RulePrograms,
    ) -> None:
        """Compile the condition of `rule`."""
        super().__init__(rule, rule_scope, lower, programs)
        self.together = None  # answered by domain, not in a batch
        self._counting = counted_values.CountingExpression(
            self.condition.source, self.condition.program.counted
        )
        self.answers = (status.SUCCESS, self.rejected)

    @property
    def topology_keys(self) -> tuple[str, ...]:
        """The labels whose values are the domains in which the rule counts."""
        keys = (each.topology_key for each in self.condition.program.counted)
        return tuple(key for key in keys if key is not None)

    def queries(self, shape: pod_shape.PodShape) -> list[pod_counts.PodQuery]:
        """Return the questions for the pods that count for a pod of `shape`."""
        return [each.make_query(shape) for each in self.condition.program.counted]

    def domain_tables(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Sequence[domain_filters.DomainTable]:
        """Return the answers by slot, for pods equal to `pod` as long as `state` lives."""
        found = state.find(self.kept_under, counted_values.CountedRejections)
        if found is None:
            evaluate = functools.partial(self._reject_nodes, state, pod.shape)
            values = counted_values.CountedValues(self._counting, pod.shape, evaluate)
            found = counted_values.CountedRejections(values)
            state.write(self.kept_under, found)
        return (found.refresh(snap),)

    def _reject_nodes(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, nodes: snapshot.NodeView
    ) -> columns.FloatArray:
        return self._reject(state, shape, nodes).astype(np.float64)

    def remember(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Keep how many of the pods are where."""
        self.condition.program.remember_counts(state, pod.shape, snap)

    def filter_apart(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes, as if only its own pods had changed."""
        return self.filter(state, pod, nodes)


class _CountingScore(base.ScoreRule, abc.ABC):
    """What scores have in common that count pods."""

    value: checked_expr.TypedExpr
    comparison: comparison.Comparison

    @property
    @abc.abstractmethod
    def counted(self) -> Sequence[counted_pods.CountedPods]:
        """The pods that the score counts."""

    @abc.abstractmethod
    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> interface.RawScores:
        """Return (n,) raw scores."""

    def by_domain(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> compared_scores.Numbers:
        """Return the raw scores by slot, for pods equal to `pod`; a rank needs those of rows."""
        is_rank = self.comparison.kind is comparison.ComparisonKind.RANK

        def evaluate(nodes: snapshot.NodeView) -> columns.FloatArray:
            return self.score(state, pod, nodes).astype(np.float64)

        return counted_values.CountedValues(self._counting, pod.shape, evaluate, by_row=is_rank)

    @functools.cached_property
    def _counting(self) -> counted_values.CountingExpression:
        return counted_values.CountingExpression(self.value, self.counted)


class _CountingPoints(_CountingScore):
    """Scores whose points do not depend on other nodes."""

    comparison = comparison.Comparison(comparison.ComparisonKind.POINTS)
    program: program.Program

    @property
    def counted(self) -> Sequence[counted_pods.CountedPods]:
        """The pods that the score counts."""
        return self.program.counted

    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: columns.IntArray
    ) -> columns.IntArray:
        """Return int64 (f,) hundredths: the scores themselves."""
        del state, pod
        return scores


class CountingConditionScore(score.ConditionScore, _CountingPoints):
    """100 points where a condition holds that counts pods."""


class CountingPointwiseScore(score.PointwiseScore, _CountingPoints):
    """Points from a number that counts pods, by a fixed scale."""


class CountingRelativeScore(score.RelativeScore, _CountingScore):
    """Points from a number that counts pods, by comparison with the other feasible nodes."""

    @property
    def counted(self) -> Sequence[counted_pods.CountedPods]:
        """The pods that the score counts."""
        return self.number.program.counted


if TYPE_CHECKING:
    _reject: type[domain_filters.DomainFilterPlugin] = CountingReject
    _reject_apart: type[apart.ApartFilterPlugin] = CountingReject
    _condition: type[compared_scores.DomainScorePlugin] = CountingConditionScore
    _pointwise: type[compared_scores.DomainScorePlugin] = CountingPointwiseScore
    _relative: type[compared_scores.DomainScorePlugin] = CountingRelativeScore
