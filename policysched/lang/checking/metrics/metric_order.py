"""Order metrics so that each follows the metrics that its fallback reads."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from policysched.lang.checking import number_reading, symbols
from policysched.lang.syntax import syntax, syntax_clause

_MAX_CIRCLES = 100


def sort_metrics_by_fallback(
    metrics: Mapping[str, syntax.Metric], env: number_reading.NameEnvironment
) -> list[str]:
    """Return metrics in checking order, without those in a cycle of fallbacks or dependent on one.

    Each cycle is reported once. Only the first `_MAX_CIRCLES` omitted metrics are searched for
    cycles.
    """
    uses = {
        name: _list_names_read_by_fallback(metric, env) & metrics.keys()
        for name, metric in metrics.items()
    }
    order = list(symbols.sort_topologically(uses))
    rest = [name for name in metrics if name not in set(order)]
    reported: set[str] = set()
    for name in rest[:_MAX_CIRCLES]:
        circle = [] if name in reported else _find_fallback_cycle(name, uses)
        if circle:
            reported.update(circle)
            path = " → ".join(f"`{each}`" for each in (*circle, name))
            env.found.add_error(
                "PS104",
                f"the metric `{name}` falls back on itself: {path}",
                metrics[name].name.span,
                help="give one of these metrics a fallback that reads no metric",
            )
    return order


def _list_names_read_by_fallback(
    metric: syntax.Metric, env: number_reading.NameEnvironment
) -> set[str]:
    """Return the names that a fallback reads, directly or through lets."""
    found: set[str] = set()
    pending = [
        option.expr for option in metric.options if isinstance(option, syntax_clause.ExprClause)
    ]
    while pending:
        for name in symbols.list_used_names(pending.pop()) - found:
            found.add(name)
            let = env.lets.get(name)
            if isinstance(let, syntax.LetExpr):
                pending.append(let.expr)
    return found


def _find_fallback_cycle(start: str, uses: Mapping[str, set[str]]) -> list[str]:
    """Return the shortest cycle of fallbacks through a metric; empty without a cycle."""
    came_from: dict[str, str] = {}
    pending = deque([start])
    while pending:
        name = pending.popleft()
        for each in sorted(uses[name]):
            if each == start:
                way = [name]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if each not in came_from:
                came_from[each] = name
                pending.append(each)
    return []
