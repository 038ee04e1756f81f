"""The outline of a text: items and statements with their names, and folding ranges."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Literal, TypeAlias

from policysched.lang import source
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax, syntax_expr

Kind: TypeAlias = Literal["policy", "profile", "metric", "param", "let", "rule", "import"]
_MAX_NAME = 60
_TOP_LEVEL: dict[type, Kind] = {
    syntax.Policy: "policy",
    syntax.Profile: "profile",
    syntax.Metric: "metric",
    syntax.Param: "param",
    syntax.LetExpr: "let",
    syntax.LetSelector: "let",
}


@dataclasses.dataclass(frozen=True, slots=True)
class OutlineEntry:
    """An item or a statement in the outline.

    Attributes:
        span: the whole item or statement.
        name_span: the span to which the editor jumps.
    """

    name: str
    detail: str
    kind: Kind
    span: source.Span
    name_span: source.Span
    inner: tuple[OutlineEntry, ...] = ()


def list_outline_entries(parsed: parser.ParseResult) -> list[OutlineEntry]:
    """Return the items of a text, with the statements of policies and profiles."""
    return [entry for item in parsed.file.items if (entry := _make_item_entry(parsed.text, item))]


def _make_item_entry(text: source.SourceText, item: syntax.Item) -> OutlineEntry | None:
    """Return the entry of an item with its statements; None for `version`."""
    match item:
        case syntax.Import(key=key):
            return OutlineEntry(key.text or '""', "import", "import", item.span, key.span)
        case syntax.Version():
            return None
        case _:
            inner = item.statements if isinstance(item, syntax.Policy | syntax.Profile) else ()
            return OutlineEntry(
                item.name.text or '""',
                _get_item_detail(item),
                _TOP_LEVEL[type(item)],
                item.span,
                item.name.span,
                tuple(_make_statement_entry(text, each) for each in inner),
            )


def _get_item_detail(item: syntax.Item) -> str:
    match item:
        case syntax.Metric(type=unit) | syntax.Param(type=unit):
            return unit.text
        case syntax.Policy(keyword=keyword):
            return keyword
        case _:
            return ""


def _make_statement_entry(text: source.SourceText, node: syntax_expr.SyntaxNode) -> OutlineEntry:
    """Return the entry of a statement, titled by its name or else by its first words."""
    clauses = getattr(node, "clauses", ())
    names = [
        each.word
        for each in clauses
        if isinstance(each, syntax_expr.WordClause) and each.keyword == "as"
    ]
    words = text.slice(node.span).split()
    if names:
        return OutlineEntry(names[0].text or '""', words[0], "rule", node.span, names[0].span)
    shown = " ".join(words)
    short = shown if len(shown) <= _MAX_NAME else f"{shown[: _MAX_NAME - 1]}…"
    return OutlineEntry(short, "", "rule", node.span, node.span)


def list_folding_ranges(parsed: parser.ParseResult) -> Iterator[tuple[int, int, bool]]:
    """Yield the first and last 1-based line of each folding range, and whether it is a comment."""
    text = parsed.text
    for item in parsed.file.items:
        nodes = item.statements if isinstance(item, syntax.Policy | syntax.Profile) else ()
        for node in (item, *nodes):
            last, _ = text.position(max(node.span.end - 1, node.span.start))
            if last > node.span.line:
                yield node.span.line, last, False
    lines = [
        each.span.line for each in parsed.file.comments if _is_comment_alone_on_line(text, each)
    ]
    for first, last in _iterate_consecutive_runs(lines):
        yield first, last, True


def _is_comment_alone_on_line(text: source.SourceText, comment: syntax.Comment) -> bool:
    return not text.text[text.line_start(comment.span.line) : comment.span.start].strip()


def _iterate_consecutive_runs(lines: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last number of each run of two or more consecutive numbers."""
    first = last = -1
    for line in [*lines, -1]:
        if line == last + 1 and first >= 0:
            last = line
            continue
        if last > first >= 0:
            yield first, last
        first = last = line
