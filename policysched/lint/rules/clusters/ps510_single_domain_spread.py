"""PS510: a topology spread over a label with a single value on the nodes of the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.rule_support import spread_domains


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each spread over a single domain."""
    cluster = about.cluster
    if cluster is None or len(cluster.nodes) <= 1:
        return
    for each, domains in spread_domains.list_spread_domains(about, cluster):
        if len(domains) == 1 and (each.min_domains or 1) == 1:
            (domain,) = domains
            yield diagnostics.Diagnostic(
                "PS510",
                f"all nodes of {cluster.name} for these pods have the same "
                f"`{each.topology_key}`: `{domain}`",
                each.head.span,
                notes=("there is only one domain, so the rule has no effect",),
                help="use a topologyKey with different values on nodes, or remove the rule",
            )


RULE = rule.LintRule("PS510", diagnostics.Severity.INFO, _find_violations)
