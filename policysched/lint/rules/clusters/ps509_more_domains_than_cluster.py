"""PS509: a topology spread with `minDomains` above the number of domains in the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.rule_support import spread_domains


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each spread whose `minDomains` exceeds the available domains."""
    cluster = about.cluster
    if cluster is None or not cluster.nodes:
        return
    for each, domains in spread_domains.list_spread_domains(about, cluster):
        wanted = each.min_domains or 1
        if 0 < len(domains) < wanted:
            most = len(domains) * each.max_skew
            yield diagnostics.Diagnostic(
                "PS509",
                f"`minDomains {wanted}` for `{each.topology_key}`, but {cluster.name} has "
                f"only {len(domains)} for these pods",
                each.head.span,
                notes=(
                    (
                        f"missing domains count as empty: after {most} pods ({each.max_skew} in "
                        "each domain), further pods stay Pending"
                    ),
                ),
                help="lower `minDomains`, or label nodes in more domains",
            )


RULE = rule.LintRule("PS509", diagnostics.Severity.WARNING, _find_violations)
