"""Split PromQL into tokens with offsets, which `promql_parser` does not report."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|\#[^\n]*)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<number>(?:[0-9]|\.[0-9])[0-9A-Za-z_.]*(?:(?<=[eE])(?<!0x[eE])[+-][0-9]+)?)
  | (?P<word>[A-Za-z_:][A-Za-z0-9_:]*)
  | (?P<sign>=~|!~|!=|==|<=|>=|.)
    """,
    re.VERBOSE | re.DOTALL,
)

_KEYWORDS = frozenset(
    (
        *("by", "without", "on", "ignoring", "group_left", "group_right", "offset", "bool"),
        *("and", "or", "unless", "atan2", "start", "end"),
    )
)
CLOSING = {"(": ")", "[": "]", "{": "}"}

_NEWER_WORDS = frozenset({"anchored", "smoothed"})
_LENGTH_WORDS = frozenset({"step", "range", "min", "max"})
_LENGTH_SIGNS = frozenset("+-*/%^()")
_TIME_OF_RANGE_QUERY = re.compile(r"@\s*(start|end)\s*\(")


class QueryToken(NamedTuple):
    """A word, number, string or sign of PromQL.

    Attributes:
        kind: word, number, string or sign.
        text: as written in the query.
        start: offset of the first character in the query.
    """

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Offset after the last character."""
        return self.start + len(self.text)


def scan_tokens(query: str) -> list[QueryToken]:
    """Split a query into tokens; omit blanks and comments."""
    return [
        QueryToken(str(match.lastgroup), match.group(), match.start())
        for match in _TOKEN.finditer(query)
        if match.lastgroup != "blank"
    ]


def find_unclosed_brackets(found: Sequence[QueryToken]) -> list[QueryToken]:
    """Return the brackets that are not closed, outermost first."""
    stack: list[QueryToken] = []
    for token in found:
        if token.kind != "sign":
            continue
        if token.text in CLOSING:
            stack.append(token)
        elif stack and token.text == CLOSING[stack[-1].text]:
            stack.pop()
    return stack


def find_call_words(found: Sequence[QueryToken]) -> list[QueryToken]:
    """Return the names of functions and aggregations, `on` and `ignoring`, in text order."""
    return [
        token
        for token, following in itertools.pairwise(found)
        if token.kind == "word" and _is_call_name(token.text.lower(), following.text.lower())
    ]


def _is_call_name(word: str, following: str) -> bool:
    if word in {"on", "ignoring"}:
        return following == "("
    return word not in _KEYWORDS and following in {"(", "by", "without"}


def find_series_names(query: str) -> Iterator[str]:
    """Yield the words that must be names of series, because matchers or a range follow."""
    for word, following in itertools.pairwise(scan_tokens(query)):
        if word.kind == "word" and following.text in ("{", "["):
            yield word.text


def find_or_between_matchers(found: Sequence[QueryToken]) -> QueryToken | None:
    """Return the first `or` in a selector such as `x{a="b" or c="d"}`; only MetricsQL allows it."""
    is_inside = False
    for token, following in itertools.pairwise(found):
        if token.kind == "sign" and token.text in {"{", "}"}:
            is_inside = token.text == "{"
        elif is_inside and token.text.lower() == "or" and following.kind != "sign":
            return token
    return None


def has_experimental_syntax(found: Sequence[QueryToken]) -> bool:
    """Return whether a query uses experimental syntax of Prometheus that the parser does not know.

    This includes `anchored`, `smoothed`, and computed durations such as `[5m + 1m]` and `offset
    (1m)`.
    """
    texts = [token.text for token in found]
    if any(token.kind == "word" and token.text in _NEWER_WORDS for token in found):
        return True
    for index, text in enumerate(texts):
        if text == "offset" and texts[index + 1 : index + 2] in (["("], ["step"], ["range"]):
            return True
        if text == "[" and "]" in texts[index:]:
            end = texts.index("]", index)
            if _is_computed_duration(found[index + 1 : end]):
                return True
    return False


def _is_computed_duration(inside: Sequence[QueryToken]) -> bool:
    """Return whether the text between brackets is arithmetic on durations."""
    signs = {token.text for token in inside if token.kind == "sign"} - {":", ","}
    words = {token.text for token in inside if token.kind == "word"} - {":"}
    is_known = signs <= _LENGTH_SIGNS and words <= _LENGTH_WORDS
    return is_known and bool(signs) and all(token.kind != "string" for token in inside)


def depends_on_range_query_bounds(query: str) -> bool:
    """Return whether a query uses `@ start()` or `@ end()`, which depend on a range's bounds."""
    return _TIME_OF_RANGE_QUERY.search(query) is not None
