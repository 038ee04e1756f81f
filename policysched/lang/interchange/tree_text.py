"""Policy texts as documents that JSON has, comments and blank lines included, and back.

Comments belong to what they stand at in the canonical text: `before` are the lines between the
former item or statement and this one, `behind` is what follows on its last line, `opening` on the
line of `{`, and `end` are the lines before `}` or the end of the text. Blank lines are empty.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics
from policysched.lang.formatting import formatter, layout
from policysched.lang.interchange import tree_json
from policysched.lang.parsing import parser
from policysched.lang.syntax import printing, syntax

Json: TypeAlias = dict[str, Any]
_Block: TypeAlias = syntax.Policy | syntax.Profile
_LINES = ("before", "end")
_TRAILING = ("behind", "opening")


@dataclasses.dataclass(frozen=True, slots=True)
class EncodedText:
    """A text as a document, or why there is none.

    Attributes:
        document: `name` and `items`; None if the text has errors.
        diagnostics: the errors.
        problem: a defect of our own, or "".
    """

    document: Json | None
    diagnostics: tuple[diagnostics.Diagnostic, ...] = ()
    problem: str = ""


# ---------------------------------------------------------------------------- text to document


def encode(text: source.SourceText) -> EncodedText:
    """Return a text as a document; places are those in the text, or the file around it."""
    formatted = formatter.format_text(text)
    if formatted.text is None:
        return EncodedText(None, formatted.diagnostics, formatted.problem)
    canonical = _Canonical(source.SourceText(text.name, formatted.text))

    def place(span: source.Span) -> Json:
        _, line, column = text.place(span.start)
        return {"line": line, "column": column, "start": span.start, "end": span.end}

    items = [tree_json.encode(item, place) for item in parser.parse(text).file.items]
    end = canonical.add_layout(items)
    document = {"name": text.name, "items": items}
    return EncodedText(document | ({"end": end} if end else {}))


class _Canonical:
    """A text in canonical form: comments stand on lines of their own, or behind what is whole."""

    def __init__(self, text: source.SourceText) -> None:
        self._text = text
        self._file = parser.parse(text).file

    def add_layout(self, items: list[Json]) -> list[str]:
        """Add comments and blank lines to the objects of items; return those at the end."""
        last_line = 0
        for item, found in zip(self._file.items, items, strict=True):
            self._add_around(found, last_line, item.span)
            if isinstance(item, syntax.Policy | syntax.Profile):
                self._add_inside(found, item)
            last_line = self._text.position(item.span.end)[0]
        return self._slice_lines(last_line, self._text.line_count)

    def _add_around(self, found: Json, last_line: int, span: source.Span) -> None:
        _put(found, "before", self._slice_lines(last_line, span.line))
        _put(found, "behind", self._rest(span.end))

    def _add_inside(self, found: Json, block: _Block) -> None:
        opening = self._text.text.index("{", block.name.span.end)
        _put(found, "opening", self._rest(opening + 1))
        last_line = self._text.position(opening)[0]
        for node, inner in zip(block.statements, found.get("statements", ()), strict=True):
            self._add_around(inner, last_line, node.span)
            last_line = self._text.position(node.span.end)[0]
        _put(found, "end", self._slice_lines(last_line, self._text.position(block.span.end)[0]))

    def _slice_lines(self, first: int, behind: int) -> list[str]:
        """Return the lines between two others."""
        return [self._text.line(number).strip() for number in range(first + 1, behind)]

    def _rest(self, offset: int) -> str:
        line, column = self._text.position(offset)
        return self._text.line(line)[column - 1 :].strip()


def _put(found: Json, name: str, value: object) -> None:
    if value:
        found[name] = value


# ---------------------------------------------------------------------------- document to text


def decode(document: object, path: str = "$") -> source.SourceText:
    """Return the canonical text of a document.

    Raises:
        TreeError: it is none, or no text means what it says.
    """
    if not isinstance(document, dict):
        raise tree_json.TreeError(path, "is no object with the `items` of a policy text")
    for name in document:
        if name not in ("name", "items", "end"):
            raise tree_json.TreeError(path, f"has no field `{name}`")
    tree_json.refuse_depth(document, path)
    name = tree_json.decode(str, document.get("name", ""), f"{path}.name")
    written = document.get("items", [])
    if not isinstance(written, list):
        raise tree_json.TreeError(f"{path}.items", "is no list")
    items = [_item(each, f"{path}.items[{at}]") for at, each in enumerate(written)]
    end = _layout({"end": document.get("end", [])}, path)
    lines = [*itertools.chain.from_iterable(_item_lines(*each) for each in items)]
    text = source.SourceText(name, "".join(f"{line}\n" for line in [*lines, *end.get("end", ())]))
    formatted = formatter.format_text(text)
    wanted = tuple(item for item, _, _ in items)
    if formatted.text is None or parser.parse(text).file.items != wanted:
        raise _unwritable(wanted, formatted, path)
    return source.SourceText(name, formatted.text)


def _item(value: object, path: str) -> tuple[syntax.Item, Json, list[Json]]:
    """Return an item, the layout around it, and that around its statements."""
    fields, around = _split(value, path, is_item=True)
    inner: list[Json] = []
    if isinstance(fields, dict) and isinstance(fields.get("statements"), list):
        places = [f"{path}.statements[{at}]" for at in range(len(fields["statements"]))]
        parts = [
            _split(each, at, is_item=False)
            for each, at in zip(fields["statements"], places, strict=True)
        ]
        fields = fields | {"statements": [part for part, _ in parts]}
        inner = [layout for _, layout in parts]
    return tree_json.decode(syntax.Item, fields, path), around, inner


def _split(value: object, path: str, *, is_item: bool) -> tuple[object, Json]:
    """Return the fields of a node without its layout, and its layout."""
    if not isinstance(value, dict):
        return value, {}
    is_block = is_item and value.get("kind") in ("policy", "profile")
    names = (*_LINES, *_TRAILING) if is_block else ("before", "behind")
    around = _layout({name: value[name] for name in names if name in value}, path)
    return {name: each for name, each in value.items() if name not in around}, around


def _layout(given: Json, path: str) -> Json:
    for name, value in given.items():
        if name in _TRAILING:
            _comment(value, f"{path}.{name}")
            continue
        if not isinstance(value, list):
            raise tree_json.TreeError(f"{path}.{name}", "is no list of lines")
        for at, line in enumerate(value):
            if line != "":
                _comment(line, f"{path}.{name}[{at}]")
    return given


def _comment(value: object, path: str) -> None:
    is_comment = isinstance(value, str) and value.startswith("#")
    if not is_comment or set(str(value)) & set("\n\r"):
        raise tree_json.TreeError(path, "is no comment: a text that begins with `#`, on one line")


def _item_lines(item: syntax.Item, around: Json, inner: Sequence[Json]) -> Iterator[str]:
    yield from around.get("before", ())
    if not isinstance(item, syntax.Policy | syntax.Profile):
        yield from _append_trailing(layout.item_lines(item), around.get("behind"))
        return
    keyword = item.keyword if isinstance(item, syntax.Policy) else "profile"
    head = f"{keyword} {printing.value(item.name)} {{"
    yield from _append_trailing([head], around.get("opening"))
    for node, at in itertools.zip_longest(item.statements, inner, fillvalue=None):
        lines = layout.statement_lines(node) if node is not None else []
        yield from (at or {}).get("before", ())
        yield from _append_trailing(lines, (at or {}).get("behind"))
    yield from around.get("end", ())
    yield from _append_trailing(["}"], around.get("behind"))


def _append_trailing(lines: list[str], comment: str | None) -> list[str]:
    return [*lines[:-1], f"{lines[-1]}  {comment}"] if comment else lines


def _unwritable(
    items: Sequence[syntax.Item], formatted: formatter.FormatResult, path: str
) -> tree_json.TreeError:
    """Return which part no policy text could say."""
    for at, item in enumerate(items):
        if _problem(item):
            return _unwritable_item(item, f"{path}.items[{at}]")
    said = formatted.diagnostics[0].message if formatted.diagnostics else formatted.problem
    return tree_json.TreeError(path, f"no policy text says this: {said}")


def _unwritable_item(item: syntax.Item, path: str) -> tree_json.TreeError:
    if isinstance(item, syntax.Policy | syntax.Profile):
        bare = _problem(dataclasses.replace(item, statements=()))  # type: ignore[arg-type]  # of the same block
        for at, node in enumerate(() if bare else item.statements):
            alone = dataclasses.replace(item, statements=(node,))  # type: ignore[arg-type]  # of the same block
            if problem := _problem(alone):
                return tree_json.TreeError(f"{path}.statements[{at}]", problem)
    return tree_json.TreeError(path, _problem(item))


def _problem(item: syntax.Item) -> str:
    """Return why an item cannot stand in a text, or ""."""
    lines = "".join(f"{line}\n" for line in _item_lines(item, {}, ()))
    parsed = parser.parse(source.SourceText("", lines))
    if parsed.diagnostics:
        return f"no policy text says this: {parsed.diagnostics[0].message}"
    return "" if parsed.file.items == (item,) else "no policy text says exactly this"
