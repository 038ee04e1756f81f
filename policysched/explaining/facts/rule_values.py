"""Evaluates expressions of rules on nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.compiler import lowering, metric_parts
from policysched.explaining import trials
from policysched.framework import cycle_state
from policysched.lang.checked import checked_expr


def evaluate_expression_on_nodes(
    tried: trials.PodTrials,
    expr: checked_expr.TypedExpr,
    nodes: Sequence[str],
    shape: pod_shape.PodShape,
) -> columns.FloatArray:
    """Return float64 (n,): the value of `expr` for a pod of `shape` on n nodes; NaN if missing."""
    snap = tried.take_snapshot()
    rows = np.array([snap.nodes.row_of[name] for name in nodes], np.intp)
    parts = metric_parts.MetricParts(tried.decider.policy_set.node_metrics)
    expression = lowering.Lowering(parts).lower(expr)
    return expression.evaluate(snap.view_rows(rows), shape, cycle_state.CycleState())
