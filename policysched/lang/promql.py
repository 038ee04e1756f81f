"""Params in PromQL: `$name` in a query is replaced by the param's value.

A query is trusted text of the policy's author; a param's value may come from a command line. So
durations and numbers go in as they are written, and strings only inside of quotes, escaped for the
quote that they stand in: no value can end the string that it is put into.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from policysched.lang import checked, findings, source, syntax, syntax_expr

_PIECE = re.compile(
    r"""(?P<comment>\#[^\n]*)|(?P<escape>\\.)|(?P<quote>["'])|\$(?P<name>[A-Za-z_][A-Za-z0-9_]*)""",
    re.VERBOSE | re.DOTALL,
)

_ESCAPED_OR_QUOTE = re.compile(r"\\.|'")
_FOR_SINGLE = {'\\"': '"', "'": "\\'"}


def substitute(
    query: syntax.PromQL,
    params: Mapping[str, checked.CheckedParam],
    known: Iterable[str],
    found: findings.Findings,
) -> str:
    """Return the query with params put in; unknown names are reported and stay."""
    if not query.text.strip():
        found.error("PS112", "the query is empty", query.span)
    text = found.texts[query.span.file]
    parts: list[str] = []
    position = 0
    for match, quote in _pieces(query.text):
        name = match.group("name")
        start = query.span.start + 1 + match.start()
        span = text.span(start, start + len(name) + 1)
        parts.append(query.text[position : match.start()])
        value = _value(name, quote, span, params, known, found)
        parts.append(match.group() if value is None else value)
        position = match.end()
    return "".join(parts) + query.text[position:]


def names(query: syntax.PromQL) -> frozenset[str]:
    """Return the names of the params that a query uses."""
    return frozenset(str(match.group("name")) for match, _ in _pieces(query.text))


def _pieces(text: str) -> Iterator[tuple[re.Match[str], str]]:
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


def _value(
    name: str,
    quote: str,
    span: source.Span,
    params: Mapping[str, checked.CheckedParam],
    known: Iterable[str],
    found: findings.Findings,
) -> str | None:
    param = params.get(name)
    if param is None:
        if name not in known:
            found.undefined("param", syntax_expr.Value(span, name, quoted=True), known)
        return None
    if not isinstance(param.value, str):
        return param.promql
    if not quote:
        found.error(
            "PS112",
            f"`${name}` is a string and stands outside of quotes",
            span,
            help=f'write `"${name}"`: a string can only be a value, never a part of the query',
        )
        return None
    return param.promql if quote == '"' else _requoted(param.promql)


def _requoted(escaped: str) -> str:
    """Escape for `'` what is escaped for `"`: PromQL takes no escaped quote of the other kind."""
    return _ESCAPED_OR_QUOTE.sub(lambda match: _FOR_SINGLE.get(match[0], match[0]), escaped)
