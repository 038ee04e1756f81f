"""Params in PromQL: `$name` in a query is replaced by the param's value.

A query is trusted text of the policy's author; a param's value may come from a command line. So
durations and numbers go in as they are written, and strings only inside of quotes, escaped for the
quote that they stand in: no value can end the string that it is put into.
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
    """A part of a query: text as it was written, or the value of a param.

    Attributes:
        start: offset in the query with params put in.
        written: the place in the policy text that it comes from; longer or shorter for a param.
        is_param: whether it is the value of one.
    """

    start: int
    written: source.Span
    is_param: bool


@dataclasses.dataclass(frozen=True, slots=True)
class SubstitutedQuery:
    """A query with params put in, which knows where in the policy text each part of it stands.

    Attributes:
        text: what Prometheus is asked.
        pieces: its parts in order, none of them empty.
        is_whole: false if something in it was reported, so that nothing can be said of the rest.
    """

    text: str
    pieces: tuple[QueryPiece, ...]
    is_whole: bool

    def locate_query_range(self, start: int, end: int, text: source.SourceText) -> source.Span:
        """Return the place of `self.text[start:end]` in the policy text; a param is whole there."""
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
    """Return the query with params put in; unknown names are reported and stay."""
    text = found.texts[query.span.file]
    first = query.span.start + 1
    writer = _QueryWriter(query.text, text, first)
    is_whole = True
    for match, quote in _iterate_param_uses(query.text):
        span = text.span(first + match.start(), first + match.end())
        value = _get_param_text(match.group("name"), quote, span, params, known, found)
        is_whole = is_whole and value is not None
        writer.put_value(match.start(), match.end(), match.group() if value is None else value)
    if not query.text.strip():
        found.add_error("PS112", "the query is empty", query.span)
        is_whole = False
    return writer.finish_query(is_whole=is_whole)


class _QueryWriter:
    """Puts a query together from front to back.

    Args:
        written: the query as it was written.
        text: the policy text.
        first: offset of the query in it.
    """

    def __init__(self, written: str, text: source.SourceText, first: int) -> None:
        self._written = written
        self._text = text
        self._first = first
        self._position = 0
        self._length = 0
        self._parts: list[str] = []
        self._pieces: list[QueryPiece] = []

    def put_value(self, start: int, end: int, value: str) -> None:
        """Write up to `start` what was written, and `value` for what stands up to `end`."""
        self._add_piece(
            self._written[self._position : start], self._position, start, is_param=False
        )
        self._add_piece(value, start, end, is_param=True)
        self._position = end

    def finish_query(self, *, is_whole: bool) -> SubstitutedQuery:
        """Write the rest and return everything."""
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
    """Yield each param that a query uses, with where its name begins and ends in the query."""
    for match, _ in _iterate_param_uses(query.text):
        yield match["name"], match.start("name"), match.end("name")


def _iterate_param_uses(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each `$name` with the quote that it stands in, or ""."""
    quote = ""
    position = 0
    while match := _PIECE.search(text, position):
        position = match.end()
        kind = match.lastgroup
        if kind == "comment" and quote:
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
    param = params.get(name)
    if param is None:
        if name.startswith("__"):
            found.add_error(
                "PS104",
                f"`${name}` is a variable of Grafana",
                span,
                help="write a duration: `[5m]`, or a param of the type `duration`",
                fix=fixes.make_replacement_fix(span, "5m"),
            )
        elif name not in known:
            # The span begins at `$`, so the edit does too.
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
            f"`${name}` is a string and stands outside of quotes",
            span,
            help=f'write `"${name}"`: a string can only be a value, never a part of the query',
        )
        return None
    return param.promql if quote == '"' else _escape_for_single_quotes(param.promql)


def _escape_for_single_quotes(escaped: str) -> str:
    """Escape for `'` what is escaped for `"`: PromQL takes no escaped quote of the other kind."""
    return _ESCAPED_OR_QUOTE.sub(lambda match: _FOR_SINGLE.get(match[0], match[0]), escaped)
