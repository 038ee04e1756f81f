"""Find the context of a cursor in a query, for completion: a range, string or expression."""

from __future__ import annotations

import re

_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^()]*\Z")
_RANGE = re.compile(r"\[[^\]]*\Z")
_STRING = re.compile(r"\A[^\"]*(?:\"[^\"]*\"[^\"]*)*\"[^\"]*\Z")
_NO_EXPRESSION = re.compile(rf"\[[^\]]*\Z|\{{[^}}]*\Z|\"[^\"]*\"?\Z|{_GROUPING.pattern}")


def is_inside_grouping(before: str) -> bool:
    """Return whether label names follow the text, as in `sum by (`."""
    return _GROUPING.search(before) is not None


def is_inside_range(before: str) -> bool:
    """Return whether a duration follows the text, as in `x[`."""
    return _RANGE.search(before) is not None


def is_inside_string(before: str) -> bool:
    """Return whether the last double quote in the text opens a string."""
    return _STRING.search(before) is not None


def can_expression_follow(before: str) -> bool:
    """Return whether names of series and functions are useful proposals after the text.

    They are not useful in ranges, matchers and groupings, or anywhere after a double quote.
    """
    return _NO_EXPRESSION.search(before) is None
