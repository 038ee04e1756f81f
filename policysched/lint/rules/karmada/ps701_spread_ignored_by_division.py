"""PS701: a spread constraint that a division by static weights ignores."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each spread constraint of a policy that divides by static weights."""
    for policy in about.program.cluster_policies:
        said = policy.clusters
        if said is None or said.division is None or not said.division.weights:
            continue
        span = said.division.span
        for spread in said.spread:
            yield diagnostics.Diagnostic(
                "PS701",
                "replicas are divided by static weights, so this constraint is ignored",
                spread.span,
                secondary=(diagnostics.SpanLabel(span, "weights"),) if span is not None else (),
                notes=(
                    (
                        "Karmada gives every cluster with a weight its share, regardless of "
                        "their number"
                    ),
                ),
                help="divide by `AvailableReplicas` or `by score`, or remove the constraint",
            )


RULE = rule.LintRule("PS701", diagnostics.Severity.ERROR, _find_violations)
