"""PS308: a score shape that both rises and falls."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each score shape that changes direction."""
    for policy in about.program.policies:
        for each in policy.rules:
            if _changes_direction([points for _, points in _get_score_shape(each)]):
                yield diagnostics.Diagnostic(
                    "PS308",
                    "the points of this shape rise and fall",
                    each.head.span,
                    notes=("a node can get more points both for a lower and for a higher value",),
                    help="if this is intended, explain it in a comment",
                )


def _get_score_shape(each: checked.Rule) -> Sequence[tuple[float, int]]:
    match each:
        case checked.ResourceScoreRule(shape=shape):
            return shape
        case checked.ExpressionScoreRule(normalization=checked.ShapeNormalization(points=points)):
            return points
        case _:
            return ()


def _changes_direction(points: Sequence[int]) -> bool:
    steps = [after - before for before, after in itertools.pairwise(points)]
    return any(step > 0 for step in steps) and any(step < 0 for step in steps)


RULE = rule.LintRule("PS308", diagnostics.Severity.INFO, _find_violations)
