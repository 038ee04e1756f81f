"""PS314: recent placements that add nothing to their metric."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.sets import ranges


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each `placed adds` whose value is never above 0."""
    metrics = {metric.key: metric for metric in about.program.metrics}
    for metric in about.program.metrics:
        if metric.placed is None:
            continue
        found = ranges.find_value_range(metric.placed.value, metrics)
        if found.high <= 0.0:
            how = "is 0" if found.is_single else "is never more than 0"
            yield diagnostics.Diagnostic(
                "PS314",
                f"the load that just-placed pods add to `{metric.name}` {how}",
                metric.placed.value.span,
                notes=(
                    (
                        "without this load, the metric does not change until the next sample, "
                        "so a burst of pods goes to the same idle node"
                    ),
                ),
                help="write the expected load of a pod, or remove `placed adds`",
            )


RULE = rule.LintRule("PS314", diagnostics.Severity.WARNING, _find_violations)
