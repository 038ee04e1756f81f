"""What a checked expression depends on, which decides how its value may be kept."""

from __future__ import annotations

from typing import assert_never

from policysched.framework import interface
from policysched.lang.checked import checked_expr

NOTHING = interface.Reads(0)
_NODE = interface.Reads.NODE
_USAGE = interface.Reads.USAGE
_METRICS = interface.Reads.METRICS


def reads(expr: checked_expr.TypedExpr) -> interface.Reads:
    """Return what the value on a node depends on, besides the incoming pod's shape."""
    found = NOTHING
    reads_allocatable = False
    for each in checked_expr.walk_expressions(expr):
        if isinstance(each, checked_expr.NodeResource) and each.kind == "allocatable":
            reads_allocatable = True
        else:
            found |= own_reads(each)
    if reads_allocatable and interface.Reads.AMOUNTS not in found:
        found |= _NODE
    return found


def own_reads(expr: checked_expr.TypedExpr) -> interface.Reads:
    """Return what an expression depends on apart from its operands."""
    match expr:
        case checked_expr.MetricRef(grows=grows):
            reads = _METRICS | _NODE  # a row can come to mean another node
            return reads | _USAGE if grows else reads
        case checked_expr.NodeResource(kind="allocatable"):
            return _NODE
        case checked_expr.NodeResource():
            return interface.Reads.AMOUNTS
        case checked_expr.PlacedPodCount():
            return _NODE | interface.Reads.PODS
        case checked_expr.DeviceNumber():
            return interface.Reads.ANYTHING
        case (
            checked_expr.ElapsedTime(kind="nodeAge")
            | checked_expr.NodeLabelNumber()
            | checked_expr.NodeMatch()
            | checked_expr.NodeLabelIsPodValue()
        ):
            return _NODE
        case (
            checked_expr.Const()
            | checked_expr.PodRequests()
            | checked_expr.PodLimits()
            | checked_expr.PodPriority()
            | checked_expr.ElapsedTime()
            | checked_expr.PodMatch()
            | checked_expr.ArithmeticOperation()
            | checked_expr.NumberFunctionCall()
            | checked_expr.ValueWithFallback()
            | checked_expr.Compare()
            | checked_expr.And()
            | checked_expr.Or()
            | checked_expr.Not()
        ):
            return NOTHING
        case _:
            assert_never(expr)
