"""Load the Lark parser for policy texts, and parse one slice of a text.

The grammar is grammar/policy.lark. Building its LALR table takes about a second, so the table ships
next to it as JSON (not as a pickle, because loading must not run code). The parser uses the shipped
table only if exactly this version of Lark made it from exactly this grammar. Otherwise, it builds
the table at run time. After a change to the grammar, run:

    python -m policysched.lang.parsing.lark_frontend
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from typing import Any, TypeAlias

import lark
import orjson
from lark import exceptions, grammar, lexer

from policysched import _resources, errors

GRAMMAR_FILE = "policy.lark"
TABLES_FILE = "policy.tables.json"

Tree: TypeAlias = "lark.Tree[lark.Token]"


class UnexpectedInput(Exception):  # noqa: N818 - an expected outcome that unwinds the parser, never shown
    """The parser cannot continue.

    Attributes:
        offset: offset of the text that the parser refuses; the end of the slice if text is missing.
        accepts: names of the terminals that the parser would accept at this offset.
    """

    def __init__(self, offset: int, accepts: frozenset[str]) -> None:
        super().__init__(offset)
        self.offset = offset
        self.accepts = accepts


@functools.cache
def get_parser() -> lark.Lark:
    """Return the parser, with the shipped table if the table matches the grammar."""
    text = _resources.read_resource_text("grammar", GRAMMAR_FILE)
    try:
        shipped = orjson.loads(_resources.read_resource_text("grammar", TABLES_FILE))
    except (errors.MissingResourceError, ValueError):
        return build_parser(text)
    if shipped.get("made_from") != _hash_grammar(text):
        return build_parser(text)
    loaded = lark.Lark.__new__(lark.Lark)
    loaded._load(_restore_parser_table_numbers(shipped))  # noqa: SLF001 - Lark.load does the same, but only from pickles
    return loaded


def build_parser(text: str, *, strict: bool = False) -> lark.Lark:
    """Build the parser from the grammar's text; `strict` makes Lark refuse any ambiguity."""
    return lark.Lark(
        text, parser="lalr", propagate_positions=True, maybe_placeholders=True, strict=strict
    )


def make_parser_table_content(text: str) -> str:
    """Return the content of the table file for a grammar's text."""
    data, memo = build_parser(text).memo_serialize([lexer.TerminalDef, grammar.Rule])
    content = {"made_from": _hash_grammar(text), "data": data, "memo": memo}
    return json.dumps(content, sort_keys=True, separators=(",", ":")) + "\n"


def parse_text_slice(text: str, start: int, end: int) -> Tree:
    """Parse text[start:end]; positions in the tree count from the start of `text`.

    Raises:
        UnexpectedInput: the slice is not a sequence of items.
    """
    try:
        return get_parser().parse(lark.TextSlice(text, start, end))
    except (exceptions.UnexpectedToken, exceptions.UnexpectedCharacters) as error:
        raise _make_unexpected_input(error, end) from None


def list_accepted_terminals(text: str, start: int, end: int) -> frozenset[str]:
    """Return the terminals that can follow text[start:end]; empty if the slice is invalid."""
    cursor: Any = get_parser().parse_interactive(lark.TextSlice(text, start, end))
    try:
        cursor.exhaust_lexer()
    except (exceptions.UnexpectedToken, exceptions.UnexpectedCharacters):
        return frozenset()
    return frozenset(cursor.accepts())


def transform_parse_tree(tree: Tree, visit: Callable[[str, int, int, list[Any]], Any]) -> Any:  # noqa: ANN401 - whatever `visit` returns for the root
    """Replace each node by `visit(rule, start, end, children)`, leaves first, without recursion.

    A leaf (token) is visited as `visit(terminal, start, end, [text])`.
    """
    order: list[Any] = []
    pending: list[Any] = [tree]
    while pending:
        node = pending.pop()
        order.append(node)
        if isinstance(node, lark.Tree):
            pending += node.children
    results: list[Any] = []
    for node in reversed(order):
        if isinstance(node, lark.Tree):
            count = len(node.children)
            children = results[len(results) - count :]
            del results[len(results) - count :]
            meta = node.meta
            start, end = (0, 0) if meta.empty else (meta.start_pos, meta.end_pos)
            results.append(visit(str(node.data), start, end, children))
        elif isinstance(node, lark.Token):
            start, end = node.start_pos or 0, node.end_pos or 0
            results.append(visit(node.type, start, end, [str(node)]))
        else:
            results.append(None)
    return results[0]


def _make_unexpected_input(
    error: exceptions.UnexpectedToken | exceptions.UnexpectedCharacters, end: int
) -> UnexpectedInput:
    at_end = isinstance(error, exceptions.UnexpectedToken) and error.token.type == "$END"
    position = end if at_end else error.pos_in_stream
    cursor: Any = error.interactive_parser  # Lark's LALR parser sets it on both
    return UnexpectedInput(position if position is not None else end, frozenset(cursor.accepts()))


def _restore_parser_table_numbers(shipped: dict[str, Any]) -> dict[str, Any]:
    """Convert the keys of states and shared objects back to numbers, because JSON keys are strings.

    Numbers of tokens can stay strings, because they are only used to find the tokens.
    """
    states = shipped["data"]["parser"]["parser"]
    states["states"] = {int(number): actions for number, actions in states["states"].items()}
    shipped["memo"] = {int(number): each for number, each in shipped["memo"].items()}
    return shipped


def _hash_grammar(text: str) -> str:
    return f"lark {lark.__version__} {hashlib.sha256(text.encode()).hexdigest()}"


def write_parser_table() -> None:
    """Build the table and write it to the file next to the grammar."""
    text = _resources.read_resource_text("grammar", GRAMMAR_FILE)
    target = _resources.find_resource_folder("grammar") / TABLES_FILE
    target.write_text(make_parser_table_content(text), encoding="utf-8")


if __name__ == "__main__":
    write_parser_table()
