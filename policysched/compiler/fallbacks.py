"""Whether anything is decided by what stands in for metrics (`cpu else requested(cpu) / 4`).

While every node has a valid sample nothing is; so a rule need not be asked again about a node when
the pods on it change, though its fallback reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from policysched.cluster import snapshot
from policysched.compiler import expressions, outages
from policysched.framework import interface
from policysched.lang.checked import checked_expr


def when_usage_is_ignored(
    expr: checked_expr.TypedExpr, samples_of: outages.SamplesOf
) -> Callable[[snapshot.Snapshot], bool] | None:
    """Return what tells whether `expr` does not follow from usage now; None for never.

    That changes only when samples or nodes do, or when a sample grows old, at which kept answers
    end.
    """
    reads = expressions.NOTHING
    for each in _walk_values(expr):
        reads |= expressions.own_reads(each)
    if interface.Reads.USAGE not in expressions.reads(expr) & ~reads:
        return None
    replaced = [
        each.value
        for each in _walk_values(expr)
        if isinstance(each, checked_expr.ValueWithFallback)
    ]
    samples = [samples_of(ref) for ref in replaced if isinstance(ref, checked_expr.MetricRef)]
    if len(samples) < len(replaced):
        return None
    return lambda snap: all(each.current(snap).is_complete for each in samples)


def _walk_values(expr: checked_expr.TypedExpr) -> Iterator[checked_expr.TypedExpr]:
    """Yield the expression and everything below it, without fallbacks."""
    yield expr
    below = checked_expr.list_operands(expr)
    for child in below[:1] if isinstance(expr, checked_expr.ValueWithFallback) else below:
        yield from _walk_values(child)
