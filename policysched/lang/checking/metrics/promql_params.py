"""Replace `$name` in a query with the value of the param.

The query is trusted, because the author of the policy writes it. A value is not: it can come from a
command line. Durations and numbers are inserted unchanged. Strings are inserted only inside quotes,
with escapes for the kind of quote, so no value can end the string that contains it.
"""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping

from policysched import spelling
from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.checking import diagnostic_collector
from policysched.lang.diagnostics import fixes
from policysched.lang.syntax import syntax, syntax_expr

_PIECE = re.compile(
    r"""(?P<comment>\#[^\n]*)|(?P<escape>\\.)|(?P<quote>["'])|\$(?P<name>[A-Za-z_][A-Za-z0-9_]*)""",
    re.VERBOSE | re.DOTALL,
)

_ESCAPED_OR_QUOTE = re.compile(r"\\.|'")
_FOR_SINGLE = {'\\"': '"', "'": "\\'"}


@dataclasses.dataclass(frozen=True, slots=True)
class QueryPiece:
    """A part of a query: text as written, or the value of a param.

    Attributes:
        start: offset in the query with params inserted.
        written: range in the policy text; its length differs from the inserted value of a param.
        is_param: whether the part is the value of a param.
    """

    start: int
    written: source.Span
    is_param: bool


@dataclasses.dataclass(frozen=True, slots=True)
class SubstitutedQuery:
    """A query with params inserted, which maps its parts to ranges in the policy text.

    Attributes:
        text: the query with the values of its params.
        pieces: the non-empty parts of `text`, in order.
        is_whole: False if an error was reported, so that the query cannot be checked further.
    """

    text: str
    pieces: tuple[QueryPiece, ...]
    is_whole: bool

    def locate_query_range(self, start: int, end: int, text: source.SourceText) -> source.Span:
        """Return the range of `self.text[start:end]` in the policy text, including whole params."""
        first, last = self._find_piece_at(start), self._find_piece_at(max(start, end - 1))
        written_start = first.written.start + (0 if first.is_param else start - first.start)
        written_end = last.written.end if last.is_param else last.written.start + end - last.start
        return text.span(written_start, written_end)

    def _find_piece_at(self, offset: int) -> QueryPiece:
        starts = [piece.start for piece in self.pieces]
        return self.pieces[max(bisect.bisect_right(starts, offset) - 1, 0)]


def substitute_params(
    query: syntax.PromQL,
    params: Mapping[str, checked.CheckedParam],
    known: Iterable[str],
    found: diagnostic_collector.DiagnosticCollector,
) -> SubstitutedQuery:
    """Return the query with params inserted; params without a value stay as `$name`.

    Unknown names and strings outside quotes are reported.
    """
    text = found.texts[query.span.file]
    first = query.span.start + 1
    writer = _QueryWriter(query.text, text, first)
    is_whole = True
    for match, quote in _iterate_param_uses(query.text):
        span = text.span(first + match.start(), first + match.end())
        value = _get_param_text(match.group("name"), quote, span, params, known, found)
        is_whole = is_whole and value is not None
        writer.insert_param_value(
            match.start(), match.end(), match.group() if value is None else value
        )
    if not query.text.strip():
        found.add_error("PS112", "the query is empty", query.span)
        is_whole = False
    return writer.finish_query(is_whole=is_whole)


class _QueryWriter:
    """Builds a query with params inserted, from left to right.

    Args:
        written: the query as written.
        text: the policy text.
        first: offset of the query in the policy text.
    """

    def __init__(self, written: str, text: source.SourceText, first: int) -> None:
        self._written = written
        self._text = text
        self._first = first
        self._position = 0
        self._length = 0
        self._parts: list[str] = []
        self._pieces: list[QueryPiece] = []

    def insert_param_value(self, start: int, end: int, value: str) -> None:
        """Copy the written text up to `start`, and replace the text up to `end` with `value`."""
        self._add_piece(
            self._written[self._position : start], self._position, start, is_param=False
        )
        self._add_piece(value, start, end, is_param=True)
        self._position = end

    def finish_query(self, *, is_whole: bool) -> SubstitutedQuery:
        """Copy the rest of the written text and return the finished query."""
        end = len(self._written)
        self._add_piece(self._written[self._position :], self._position, end, is_param=False)
        return SubstitutedQuery("".join(self._parts), tuple(self._pieces), is_whole)

    def _add_piece(self, part: str, start: int, end: int, *, is_param: bool) -> None:
        if not part:
            return
        span = self._text.span(self._first + start, self._first + end)
        self._pieces.append(QueryPiece(self._length, span, is_param))
        self._parts.append(part)
        self._length += len(part)


def find_param_names(query: syntax.PromQL) -> frozenset[str]:
    """Return the names of the params that a query uses."""
    return frozenset(str(match.group("name")) for match, _ in _iterate_param_uses(query.text))


def locate_param_uses(query: syntax.PromQL) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each param use in a query, with the start and end of the name."""
    for match, _ in _iterate_param_uses(query.text):
        yield match["name"], match.start("name"), match.end("name")


def _iterate_param_uses(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each `$name` with the kind of quote that surrounds it, or ""."""
    quote = ""
    position = 0
    while match := _PIECE.search(text, position):
        position = match.end()
        kind = match.lastgroup
        if kind == "comment" and quote:
            # `#` inside quotes does not begin a comment.
            position = match.start() + 1
        elif kind == "quote" and (not quote or quote == match.group()):
            quote = "" if quote else match.group()
        elif kind == "name":
            yield match, quote


def _get_param_text(
    name: str,
    quote: str,
    span: source.Span,
    params: Mapping[str, checked.CheckedParam],
    known: Iterable[str],
    found: diagnostic_collector.DiagnosticCollector,
) -> str | None:
    """Return the text to insert for a param; report unknown params and unquoted strings."""
    param = params.get(name)
    if param is None:
        if name.startswith("__"):
            found.add_error(
                "PS104",
                f"`${name}` is a Grafana variable",
                span,
                help="write a duration: `[5m]`, or a param of the type `duration`",
                fix=fixes.make_replacement_fix(span, "5m"),
            )
        elif name not in known:
            # The span begins at `$`, so the replacement must include it.
            prefixed = [f"${each}" for each in spelling.find_nearest_names(name, known)]
            found.report_undefined_name(
                "param", syntax_expr.Value(span, name), known, edits=prefixed
            )
        return None
    if not isinstance(param.value, str):
        return param.promql
    if not quote:
        found.add_error(
            "PS112",
            f"`${name}` is a string, but is used outside quotes",
            span,
            help=f'write `"${name}"`: a string can only be a value, never a part of the query',
        )
        return None
    return param.promql if quote == '"' else _escape_for_single_quotes(param.promql)


def _escape_for_single_quotes(escaped: str) -> str:
    """Convert escapes from `"` to `'`, because a PromQL string cannot escape the other quote."""
    return _ESCAPED_OR_QUOTE.sub(lambda match: _FOR_SINGLE.get(match[0], match[0]), escaped)
