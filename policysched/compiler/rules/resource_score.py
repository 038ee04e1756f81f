"""`score LeastAllocated(cpu: 2, …)`: a strategy of NodeResourcesFit as a term of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.compiler.pods import scope
from policysched.compiler.rules import base
from policysched.framework import comparison, cycle_state, interface
from policysched.lang.checked import checked
from policysched.plugins import node_resources_fit
from policysched.plugins.kernels import allocation

_HUNDREDTHS = comparison.FULL // interface.MAX_NODE_SCORE


class ResourceScore(base.ScoreRule):
    """What the plugin gives with that strategy: whole points."""

    reads: ClassVar = interface.Reads.AMOUNTS

    def __init__(
        self,
        rule: checked.ResourceScoreRule,
        rule_scope: scope.RuleScope,
    ) -> None:
        """Score the resources of `rule`."""
        super().__init__(rule.head, rule_scope, rule.weight)
        self._fit = node_resources_fit.NodeResourcesFit(_strategy(rule), rule.resources)

    @base.evaluates
    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,) hundredths."""
        return self._fit.score(state, pod, nodes) * _HUNDREDTHS

    @base.evaluates
    def make_score_writer(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.RowWriter:
        """Return what writes the scores for all pods with the same requests."""
        return _HundredthsWriter(self._fit.make_score_writer(pod, snap))

    def keeps_scores(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> bool:
        """Return whether the scores count no devices."""
        return self._fit.keeps_scores(shape, snap)


class _HundredthsWriter(NamedTuple):
    """Writes hundredths of what `points` writes."""

    points: interface.RowWriter

    def write(
        self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp], out: columns.IntArray
    ) -> None:
        """Write them."""
        self.points.write(snap, rows, out)
        out[rows] *= _HUNDREDTHS


def _strategy(rule: checked.ResourceScoreRule) -> allocation.Strategy:
    match rule.strategy:
        case "LeastAllocated":
            return allocation.LEAST_ALLOCATED
        case "MostAllocated":
            return allocation.MOST_ALLOCATED
        case "RequestedToCapacityRatio":
            return allocation.RequestedToCapacityRatio(rule.shape)


if TYPE_CHECKING:
    _score: type[interface.RowScorePlugin] = ResourceScore
    _partly_kept: type[interface.PartlyKeptScorePlugin] = ResourceScore
