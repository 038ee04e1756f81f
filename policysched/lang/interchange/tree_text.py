"""Convert policy texts, with comments and blank lines, to JSON documents and back.

Comments are stored with the adjacent element of the canonical text, in these fields:

    before   the lines between the previous item or statement and the element
    behind   the comment after the element, on its last line
    opening  the comment on the line of `{`
    end      the lines before `}`, or before the end of the text

Blank lines are empty strings.
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
class TextEncodingResult:
    """A text as a document, or the reason why encoding failed.

    Attributes:
        document: `name`, `items` and, if lines follow the last item, `end`; None if the text has
            errors.
        diagnostics: the errors.
        problem: the message about a defect in policysched, or "".
    """

    document: Json | None
    diagnostics: tuple[diagnostics.Diagnostic, ...] = ()
    problem: str = ""


# ---------------------------------------------------------------------------- text to document


def encode_policy_text(text: source.SourceText) -> TextEncodingResult:
    """Encode a text as a document.

    Lines and columns refer to the file that contains the text, offsets to the text itself, and
    neither to the canonical text.
    """
    formatted = formatter.format_text(text)
    if formatted.text is None:
        return TextEncodingResult(None, formatted.diagnostics, formatted.problem)
    canonical = _CanonicalText(source.SourceText(text.name, formatted.text))

    def place(span: source.Span) -> Json:
        _, line, column = text.place(span.start)
        return {"line": line, "column": column, "start": span.start, "end": span.end}

    items = [
        tree_json.encode_tree(item, place) for item in parser.parse_policy_text(text).file.items
    ]
    end = canonical.add_layout(items)
    document = {"name": text.name, "items": items}
    return TextEncodingResult(document | ({"end": end} if end else {}))


class _CanonicalText:
    """A text in canonical form: each comment has its own line or follows a complete element."""

    def __init__(self, text: source.SourceText) -> None:
        self._text = text
        self._file = parser.parse_policy_text(text).file

    def add_layout(self, items: list[Json]) -> list[str]:
        """Add comments and blank lines to items; return the lines after the last item."""
        last_line = 0
        for item, found in zip(self._file.items, items, strict=True):
            self._add_layout_around(found, last_line, item.span)
            if isinstance(item, syntax.Policy | syntax.Profile):
                self._add_layout_inside(found, item)
            last_line = self._text.position(item.span.end)[0]
        return self._list_lines_between(last_line, self._text.line_count)

    def _add_layout_around(self, found: Json, last_line: int, span: source.Span) -> None:
        _put_if_not_empty(found, "before", self._list_lines_between(last_line, span.line))
        _put_if_not_empty(found, "behind", self._get_rest_of_line(span.end))

    def _add_layout_inside(self, found: Json, block: _Block) -> None:
        """Add the comments and blank lines inside the braces of a block."""
        opening = self._text.text.index("{", block.name.span.end)
        _put_if_not_empty(found, "opening", self._get_rest_of_line(opening + 1))
        last_line = self._text.position(opening)[0]
        for node, inner in zip(block.statements, found.get("statements", ()), strict=True):
            self._add_layout_around(inner, last_line, node.span)
            last_line = self._text.position(node.span.end)[0]
        _put_if_not_empty(
            found,
            "end",
            self._list_lines_between(last_line, self._text.position(block.span.end)[0]),
        )

    def _list_lines_between(self, first: int, behind: int) -> list[str]:
        """Return the lines between the lines `first` and `behind`, excluding both."""
        return [self._text.line(number).strip() for number in range(first + 1, behind)]

    def _get_rest_of_line(self, offset: int) -> str:
        line, column = self._text.position(offset)
        return self._text.line(line)[column - 1 :].strip()


def _put_if_not_empty(found: Json, name: str, value: object) -> None:
    if value:
        found[name] = value


# ---------------------------------------------------------------------------- document to text


def decode_policy_text(document: object, path: str = "$") -> source.SourceText:
    """Decode a document to a canonical policy text.

    Raises:
        InvalidSyntaxTreeError: the document is invalid, or no policy text has this meaning.
    """
    if not isinstance(document, dict):
        raise tree_json.InvalidSyntaxTreeError(
            path, "is not an object with the `items` of a policy text"
        )
    for name in document:
        if name not in ("name", "items", "end"):
            raise tree_json.InvalidSyntaxTreeError(path, f"has no field `{name}`")
    tree_json.refuse_deep_nesting(document, path)
    name = tree_json.decode_tree(str, document.get("name", ""), f"{path}.name")
    written = document.get("items", [])
    if not isinstance(written, list):
        raise tree_json.InvalidSyntaxTreeError(f"{path}.items", "is not a list")
    items = [_decode_item(each, f"{path}.items[{at}]") for at, each in enumerate(written)]
    end = _decode_layout_lines({"end": document.get("end", [])}, path)
    lines = [*itertools.chain.from_iterable(_format_item_with_layout(*each) for each in items)]
    text = source.SourceText(name, "".join(f"{line}\n" for line in [*lines, *end.get("end", ())]))
    formatted = formatter.format_text(text)
    wanted = tuple(item for item, _, _ in items)
    if formatted.text is None or parser.parse_policy_text(text).file.items != wanted:
        raise _make_unwritable_items_error(wanted, formatted, path)
    return source.SourceText(name, formatted.text)


def _decode_item(value: object, path: str) -> tuple[syntax.Item, Json, list[Json]]:
    """Decode an item; return it with the layout around it and around each of its statements."""
    fields, around = _split_off_layout(value, path, is_item=True)
    inner: list[Json] = []
    if isinstance(fields, dict) and isinstance(fields.get("statements"), list):
        places = [f"{path}.statements[{at}]" for at in range(len(fields["statements"]))]
        parts = [
            _split_off_layout(each, at, is_item=False)
            for each, at in zip(fields["statements"], places, strict=True)
        ]
        fields = fields | {"statements": [part for part, _ in parts]}
        inner = [layout for _, layout in parts]
    return tree_json.decode_tree(syntax.Item, fields, path), around, inner


def _split_off_layout(value: object, path: str, *, is_item: bool) -> tuple[object, Json]:
    """Separate the layout from the other fields of a node."""
    if not isinstance(value, dict):
        return value, {}
    is_block = is_item and value.get("kind") in ("policy", "profile")
    names = (*_LINES, *_TRAILING) if is_block else ("before", "behind")
    around = _decode_layout_lines({name: value[name] for name in names if name in value}, path)
    return {name: each for name, each in value.items() if name not in around}, around


def _decode_layout_lines(given: Json, path: str) -> Json:
    """Return the layout; refuse lines that are neither comments nor blank."""
    for name, value in given.items():
        if name in _TRAILING:
            _refuse_invalid_comment(value, f"{path}.{name}")
            continue
        if not isinstance(value, list):
            raise tree_json.InvalidSyntaxTreeError(f"{path}.{name}", "is not a list of lines")
        for at, line in enumerate(value):
            if line != "":
                _refuse_invalid_comment(line, f"{path}.{name}[{at}]")
    return given


def _refuse_invalid_comment(value: object, path: str) -> None:
    is_comment = isinstance(value, str) and value.startswith("#")
    if not is_comment or set(str(value)) & set("\n\r"):
        raise tree_json.InvalidSyntaxTreeError(
            path, "is not a comment: a text that begins with `#`, on one line"
        )


def _format_item_with_layout(
    item: syntax.Item, around: Json, inner: Sequence[Json]
) -> Iterator[str]:
    """Yield the lines of an item with its comments and blank lines."""
    yield from around.get("before", ())
    if not isinstance(item, syntax.Policy | syntax.Profile):
        yield from _append_trailing_comment(layout.format_item(item), around.get("behind"))
        return
    keyword = item.keyword if isinstance(item, syntax.Policy) else "profile"
    head = f"{keyword} {printing.format_value(item.name)} {{"
    yield from _append_trailing_comment([head], around.get("opening"))
    for node, at in itertools.zip_longest(item.statements, inner, fillvalue=None):
        lines = layout.format_statement(node) if node is not None else []
        yield from (at or {}).get("before", ())
        yield from _append_trailing_comment(lines, (at or {}).get("behind"))
    yield from around.get("end", ())
    yield from _append_trailing_comment(["}"], around.get("behind"))


def _append_trailing_comment(lines: list[str], comment: str | None) -> list[str]:
    return [*lines[:-1], f"{lines[-1]}  {comment}"] if comment else lines


def _make_unwritable_items_error(
    items: Sequence[syntax.Item], formatted: formatter.FormatResult, path: str
) -> tree_json.InvalidSyntaxTreeError:
    """Return an error with the path of the first part that no policy text can express."""
    for at, item in enumerate(items):
        if _find_item_problem(item):
            return _make_unwritable_item_error(item, f"{path}.items[{at}]")
    said = formatted.diagnostics[0].message if formatted.diagnostics else formatted.problem
    return tree_json.InvalidSyntaxTreeError(path, f"no policy text has this tree: {said}")


def _make_unwritable_item_error(item: syntax.Item, path: str) -> tree_json.InvalidSyntaxTreeError:
    if isinstance(item, syntax.Policy | syntax.Profile):
        bare = _find_item_problem(dataclasses.replace(item, statements=()))  # type: ignore[arg-type]  # of the same block
        for at, node in enumerate(() if bare else item.statements):
            alone = dataclasses.replace(item, statements=(node,))  # type: ignore[arg-type]  # of the same block
            if problem := _find_item_problem(alone):
                return tree_json.InvalidSyntaxTreeError(f"{path}.statements[{at}]", problem)
    return tree_json.InvalidSyntaxTreeError(path, _find_item_problem(item))


def _find_item_problem(item: syntax.Item) -> str:
    """Return why a policy text cannot contain an item, or ""."""
    lines = "".join(f"{line}\n" for line in _format_item_with_layout(item, {}, ()))
    parsed = parser.parse_policy_text(source.SourceText("", lines))
    if parsed.diagnostics:
        return f"no policy text has this tree: {parsed.diagnostics[0].message}"
    return "" if parsed.file.items == (item,) else "no policy text has exactly this tree"
