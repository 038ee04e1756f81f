"""Locate and explain the error for which the PromQL parser refuses a query.

`promql_parser` reports at most the kind of an error, and never its position. This module finds the
position by parsing parts of the query: it is the call that is refused for the same reason on its
own, or the first token after which no query can continue.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence

import promql_parser

from policysched import spelling
from policysched.promql import functions, query_tokens

_UNSPECIFIC = "invalid promql query"
_QUOTED = re.compile(r"'([^']*)'")
_TEMPLATE = re.compile(r"\{\{[^{}\n]*\}\}")
_OF_CALLS = re.compile("function|call|argument|aggregat")
"""Messages that the parser reports only after it has read a whole call."""
_MAX_TOKENS = 300
"""Maximum number of tokens in a query for which the error is located."""

# Texts that can complete a prefix of a query: inside its open brackets, and after them.
_INNER = ("", " x", "(x)", " 5m", " 1", '="a"', '"a"')
_OUTER = ("", " x", " (x)", " (a) (x)")


@dataclasses.dataclass(frozen=True, slots=True)
class QuerySyntaxProblem:
    """The reason why a query does not parse, for a diagnostic.

    Attributes:
        start: offset of the error in the query.
        end: offset after the error.
        message: the message of the diagnostic.
        label: a few words under the error, or "".
        help: the recommended edit, or "".
    """

    start: int
    end: int
    message: str
    label: str = ""
    help: str = ""


def explain_parse_failure(
    query: str, tokens: Sequence[query_tokens.QueryToken], problem: str
) -> QuerySyntaxProblem:
    """Explain and locate the error in a query; `problem` is the message of the parser."""
    template = _TEMPLATE.search(query)
    if template is not None:
        message = "`{{ … }}` is a template of Helm, not of PromQL"
        advice = "render the template first, and check its output"
        return QuerySyntaxProblem(template.start(), template.end(), message, help=advice)
    open_brackets = query_tokens.find_unclosed_brackets(tokens)
    if problem.startswith(("unclosed", "unexpected end of input inside")) and open_brackets:
        first = open_brackets[0]
        closing = query_tokens.CLOSING[first.text]
        message = f"the query does not parse: `{first.text}` is not closed"
        return QuerySyntaxProblem(
            first.start, first.end, message, help=f"add the closing `{closing}`"
        )
    place = _locate_problem(query, tokens, problem)
    if place is None:
        message = "the query does not parse" + (f": {problem}" if problem != _UNSPECIFIC else "")
        return QuerySyntaxProblem(0, len(query), message)
    if problem != _UNSPECIFIC:
        return QuerySyntaxProblem(place.start, place.end, *_describe_parser_problem(problem))
    if place == tokens[-1] and _is_viable_prefix(query[: place.end]):
        return QuerySyntaxProblem(
            place.start, place.end, "the query does not parse: it ends too early"
        )
    return QuerySyntaxProblem(
        place.start, place.end, f"the query does not parse: `{place.text}` is not allowed here"
    )


def _describe_parser_problem(problem: str) -> tuple[str, str, str]:
    """Return the message, label and help for a message of the parser."""
    label, advice = "", ""
    name = _QUOTED.search(problem)
    if problem.startswith("unknown function") and name:
        near = spelling.find_nearest_names(name[1], functions.SPELLING_CANDIDATES)
        label = spelling.suggest_names(name[1], functions.SPELLING_CANDIDATES)
        advice = f"write `{near[0]}`" if near else ""
        return f"the query does not parse: PromQL has no function `{name[1]}`", label, advice
    if "expected type matrix" in problem:
        advice = "give it a range of samples: `x[5m]`"
    if problem.startswith("unexpected character inside brackets"):
        advice = "add the closing `]`"
    if problem.startswith("bad number") and "_" in problem:
        advice = "write the number without `_`"
    if "BOOL modifier" in problem:
        advice = "write `bool` after the operator"
    words = _QUOTED.sub(r"`\1`", problem)
    return f"the query does not parse: {words}", label, advice


def _locate_problem(
    query: str, tokens: Sequence[query_tokens.QueryToken], problem: str
) -> query_tokens.QueryToken | None:
    """Return the token to mark for a message of the parser; None if the error cannot be located."""
    if not tokens or len(tokens) > _MAX_TOKENS:
        return None
    if problem == _UNSPECIFIC:
        return _find_first_refused_token(query, tokens)
    if _OF_CALLS.search(problem):
        return _find_refused_call(query, tokens, problem)
    for index, token in enumerate(tokens):
        if (
            _find_parse_problem(query[: token.end] + _list_closing_brackets(tokens[: index + 1]))
            == problem
        ):
            return token
    return None


def _find_refused_call(
    query: str, tokens: Sequence[query_tokens.QueryToken], problem: str
) -> query_tokens.QueryToken | None:
    """Return the innermost call that the parser refuses for the same reason on its own."""
    ends = {call: _find_call_end(tokens, call) for call in query_tokens.find_call_words(tokens)}
    refused = [
        call
        for call, end in ends.items()
        if _find_parse_problem(query[call.start : end]) == problem
    ]
    return min(refused, key=lambda call: ends[call] - call.start, default=None)


def _find_call_end(tokens: Sequence[query_tokens.QueryToken], call: query_tokens.QueryToken) -> int:
    """Return the offset after the arguments of a function or aggregation."""
    start = tokens.index(call)
    for end in range(start + 1, len(tokens)):
        token, following = tokens[end], tokens[end + 1 : end + 2]
        is_closed = token.text == ")" and not query_tokens.find_unclosed_brackets(
            tokens[start : end + 1]
        )
        if is_closed and not (following and following[0].text == "("):
            return token.end
    return tokens[-1].end


def _find_first_refused_token(
    query: str, tokens: Sequence[query_tokens.QueryToken]
) -> query_tokens.QueryToken:
    """Return the first token after which no query can continue; by default, the last token."""
    fine, wrong = 0, len(tokens)  # tokens[:fine] can be continued, tokens[:wrong] cannot
    while wrong - fine > 1:
        middle = (fine + wrong) // 2
        if _is_viable_prefix(query[: tokens[middle - 1].end]):
            fine = middle
        else:
            wrong = middle
    return tokens[wrong - 1]


def _is_viable_prefix(prefix: str) -> bool:
    """Return whether any query can start with this prefix."""
    closing = _list_closing_brackets(query_tokens.scan_tokens(prefix))
    # Only the unspecific message concerns the grammar; other messages do not rule out the prefix.
    return any(
        _find_parse_problem(f"{prefix}{inner}{closing}{outer}") != _UNSPECIFIC
        for inner, outer in itertools.product(_INNER, _OUTER)
    )


def _list_closing_brackets(tokens: Sequence[query_tokens.QueryToken]) -> str:
    found = reversed(query_tokens.find_unclosed_brackets(tokens))
    return "".join(query_tokens.CLOSING[token.text] for token in found)


def _find_parse_problem(query: str) -> str:
    """Return the parser's message for a text, or "" if the text parses."""
    try:
        promql_parser.parse(query)
    except ValueError as error:
        return str(error)
    return ""
