"""PS306: `normalize minmax` without a floor."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each score with `normalize minmax` and no floor."""
    for policy in about.program.policies:
        for each in policy.rules:
            match each:
                case checked.ExpressionScoreRule(
                    normalization=checked.MinMaxNormalization(floor=0.0)
                ) if "normalize minmax" in each.head.text:
                    yield diagnostics.Diagnostic(
                        "PS306",
                        "`minmax` turns even the smallest difference between nodes into 100 points",
                        each.head.span,
                        notes=(
                            (
                                "nodes with 1.00 and 1.01 get 0 and 100 points, like nodes with 0 "
                                "and 100"
                            ),
                        ),
                        help="write the smallest difference that is worth 100 points, as in "
                        "`minmax(10%)`, or use `linear(…)`",
                    )
                case _:
                    pass


RULE = rule.LintRule("PS306", diagnostics.Severity.WARNING, _find_violations)
