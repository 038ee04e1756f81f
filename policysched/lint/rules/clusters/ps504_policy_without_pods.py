"""PS504: a policy whose scope contains no pod of the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each policy that matches none of the scheduled pods."""
    cluster = about.cluster
    if cluster is None or not cluster.scheduled_pods_by_shape:
        return
    count = sum(map(len, cluster.scheduled_pods_by_shape.values()))
    for policy in about.program.policies:
        if not cluster.list_pods_of_policy(policy):
            yield diagnostics.Diagnostic(
                "PS504",
                f"the policy `{policy.name}` matches none of the {count} pods of {cluster.name}",
                policy.span,
                help="compare its namespaces and labels with those of the pods",
            )


RULE = rule.LintRule("PS504", diagnostics.Severity.INFO, _find_violations)
