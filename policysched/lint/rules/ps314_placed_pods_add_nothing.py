"""PS314: recent placements that add nothing to their metric."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.sets import ranges


def _find_violations(about: rule_input.RuleInput) -> Iterator[diagnostics.Diagnostic]:
    metrics = {metric.key: metric for metric in about.program.metrics}
    for metric in about.program.metrics:
        if metric.placed is None:
            continue
        found = ranges.find_value_range(metric.placed.value, metrics)
        if found.high <= 0.0:
            how = "is 0" if found.is_single else "is never more than 0"
            yield diagnostics.Diagnostic(
                "PS314",
                f"what just-placed pods add to `{metric.name}` {how}",
                metric.placed.value.span,
                notes=(
                    (
                        "a pod that adds nothing is not seen before the next samples: "
                        "a burst of pods meets the same quiet node"
                    ),
                ),
                help="say what a pod is expected to add, or leave `placed adds` out",
            )


RULE = rule.LintRule("PS314", diagnostics.Severity.WARNING, _find_violations)
