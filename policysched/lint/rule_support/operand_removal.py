"""Fixes that remove one of several operands, with the separator next to it."""

from __future__ import annotations

import re
from typing import Final

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics

COMMA: Final = re.compile(r"\s*,\s*")
AND_OR: Final = re.compile(r"\s+(?:and|or)\s+")
_LONGEST_JOINT = 200


def make_removal_fix(
    text: source.SourceText, operand: source.Span, joint: re.Pattern[str]
) -> diagnostics.Fix | None:
    """Return the safe fix that removes the operand, or None if `joint` is on neither side.

    Args:
        text: the text that contains the operand.
        operand: the span of the operand.
        joint: the pattern of the separator, with the space around it.
    """
    left = text.text[max(0, operand.start - _LONGEST_JOINT) : operand.start]
    if before := re.search(joint.pattern + r"\Z", left):
        span = text.span(operand.start - len(before.group()), operand.end)
    elif after := joint.match(text.text, operand.end):
        span = text.span(operand.start, after.end())
    else:
        return None
    return diagnostics.Fix((diagnostics.TextEdit(span, ""),), safe=True)
