"""Check `count(…)` in expressions: which placed pods are counted, and where."""

from __future__ import annotations

from policysched import units
from policysched.lang.checked import checked_expr, checked_selector
from policysched.lang.checking import clauses, number_reading
from policysched.lang.checking.selectors import check_pod_sets
from policysched.lang.syntax import kept_parentheses, printing, syntax_expr


def check_pod_count(
    env: number_reading.NameEnvironment, count: syntax_expr.PodCount
) -> checked_expr.PlacedPodCount | None:
    """Return the number of pods; None if an error was reported."""
    if env.target == "cluster":
        env.found.add_error(
            "PS108",
            "`count(…)` counts pods on nodes, but this expression is evaluated for clusters",
            count.span,
            help="compare amounts of the cluster, such as `free(cpu)`",
        )
        return None
    own = clauses.ClauseSet(env, "count", count.clauses)
    pods = check_pod_sets.check_pod_selection(count.pods, own)
    is_key_fine, key = check_pod_sets.check_topology_key(own)
    if pods is None or not is_key_fine:
        return None
    policy = None
    if pods.kind == "self":
        policy = env.scope
        if policy is None and env.target is not None:
            _report_self_outside_policy(env, count.pods)
            return None
        policy = policy or checked_selector.EVERY_POD  # in a let that is checked on its own
    text = printing.format_expression(kept_parentheses.strip_parentheses_marks(count))
    return checked_expr.PlacedPodCount(pods, policy, key, text, units.NUMBER, count.span)


def _report_self_outside_policy(
    env: number_reading.NameEnvironment, pods: syntax_expr.PodSet
) -> None:
    env.found.add_error(
        "PS108",
        "`self` means the pods of a policy, and a metric has none",
        pods.span,
        help="select the pods: `pods where app = web`",
    )
