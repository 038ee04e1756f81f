"""Patterns of texts: `*` stands for any number of characters, nothing else is special.

Label values, names and namespaces cannot contain `*`, so a value with `*` is always a pattern. A
value without it is a pattern that only this text matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable


def is_pattern(text: str) -> bool:
    """Return whether a value has other matches than itself."""
    return "*" in text


def matches_pattern(pattern: str, text: str) -> bool:
    """Return whether `text` is `pattern` with each `*` replaced by any run of characters.

    Taking the first place for each piece is enough, so it is linear, unlike a regular expression.
    If `text` is a pattern, the result is whether `pattern` matches all its matches: only a `*` of
    `pattern` can match a `*`.
    """
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    *middle, last = rest
    if len(text) < len(first) + len(last) or not text.startswith(first):
        return False
    position, end = len(first), len(text) - len(last)
    for piece in middle:
        position = text.find(piece, position, end)
        if position < 0:
            return False
        position += len(piece)
    return text.endswith(last)


def matches_any_pattern(patterns: Iterable[str], text: str) -> bool:
    """Return whether a text matches one of several patterns."""
    return any(matches_pattern(pattern, text) for pattern in patterns)


def matches_field(values: Iterable[str], text: str) -> bool:
    """Return whether a field has one of some values; one that is unset ("") matches no pattern."""
    return matches_any_pattern(values, text) if text else "" in values


def are_apart(one: str, other: str) -> bool:
    """Return whether certainly no text matches both patterns."""
    if not is_pattern(one):
        return not matches_pattern(other, one)
    if not is_pattern(other):
        return not matches_pattern(one, other)
    first, second = one.partition("*")[0], other.partition("*")[0]
    if not (first.startswith(second) or second.startswith(first)):
        return True
    first, second = one.rpartition("*")[2], other.rpartition("*")[2]
    return not (first.endswith(second) or second.endswith(first))


def find_pattern_problem(find_problem: Callable[[str], str], text: str) -> str:
    """Return why no text that `find_problem` accepts matches a pattern; "" if some may match."""
    problem = find_problem(text.replace("*", "a"))
    return problem if problem and find_problem(text.replace("*", "")) else ""
