"""PS604: a query that is expensive for the server."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each query that exceeds the limits for samples or time."""
    facts, limits = about.prometheus, about.thresholds
    if facts is None:
        return
    for each in about.metric_queries:
        answer = facts.queries.get(each.query.text)
        if answer is None:
            continue
        said = []
        if answer.read_samples is not None and answer.read_samples > limits.max_query_samples:
            said.append(f"reads {answer.read_samples:,} samples")
        if answer.seconds is not None and answer.seconds > limits.max_query_seconds:
            said.append(f"takes {answer.seconds:.1f} s")
        if said:
            yield diagnostics.Diagnostic(
                "PS604",
                f"the query of `{each.metric.name}` {' and '.join(said)}, every "
                f"{each.metric.refresh_seconds:g} s",
                each.span,
                help="select fewer series, take a shorter range, or use a recording rule",
            )


RULE = rule.LintRule("PS604", diagnostics.Severity.WARNING, _find_violations)
