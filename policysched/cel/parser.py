"""Parse the text of an expression into a syntax tree.

The grammar is grammar/cel.lark. Lark calls one method of `_TreeBuilder` for each rule while it
parses, so no text is nested too deeply for Python's stack.
"""

from __future__ import annotations

import functools
from typing import Any, Final, cast

import lark
from lark import exceptions

from policysched import _resources, int64
from policysched.cel import literals, macros, messages
from policysched.cel.failures import CompilationError
from policysched.cel.syntax_tree import (
    CelNode,
    Comprehension,
    Conditional,
    FunctionCall,
    Identifier,
    Index,
    ListLiteral,
    Literal,
    Logical,
    MapLiteral,
    Select,
)

GRAMMAR_FILE: Final = "cel.lark"
MAX_LENGTH: Final = 10 * 1024
"""CELSelectorExpressionMaxLength of `k8s.io/api/resource/v1`."""
MAX_DEPTH: Final = 250
"""The limit of cel-go's parser; it also keeps the recursion of checker and evaluator short."""
_OPENING: Final = ("(", "[", "{")
_CLOSING: Final = (")", "]", "}")
_LOOP_DEPTH: Final = 2
"""Levels of a loop, whose evaluation takes twice the stack of other nodes."""
_RESERVED: Final = frozenset(
    {"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop"}
    | {"package", "namespace", "return", "var", "void", "while"}
)


def parse(text: str) -> CelNode:
    """Return the tree of an expression.

    Raises:
        CompilationError: the text is too long, nested too deeply, or not an expression.
    """
    if len(text) > MAX_LENGTH:
        raise CompilationError(f"the expression has more than {MAX_LENGTH} characters")
    try:
        tree = cast("CelNode", _get_parser().parse(text))
    except exceptions.UnexpectedInput as error:
        raise CompilationError(
            f"syntax error at line {error.line}, column {error.column}"
        ) from None
    except exceptions.VisitError as error:
        if isinstance(error.orig_exc, CompilationError):
            raise error.orig_exc from None
        raise
    _check_brackets(text)
    _check_tree(tree)
    return tree


@functools.cache
def _get_parser() -> lark.Lark:
    grammar = _resources.read_resource_text("grammar", GRAMMAR_FILE)
    return lark.Lark(grammar, parser="lalr", maybe_placeholders=False, transformer=_TreeBuilder())


def _check_brackets(text: str) -> None:
    """Check how deeply brackets are nested: the tree has no node for parentheses."""
    if sum(map(text.count, _OPENING)) < MAX_DEPTH:
        return
    depth = 0
    for token in _get_parser().lex(text):
        if token in _CLOSING:
            depth -= 1
        elif depth >= MAX_DEPTH:
            raise _make_depth_error()
        elif token in _OPENING:
            depth += 1


def _make_depth_error() -> CompilationError:
    return CompilationError(f"expression recursion limit exceeded: {MAX_DEPTH}")


def _check_tree(tree: CelNode) -> None:
    pending: list[tuple[CelNode, int]] = [(tree, 1)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise _make_depth_error()
        if isinstance(node, Literal):
            _check_literal(node.value)
        if isinstance(node, Identifier) and node.name in _RESERVED:
            raise CompilationError(f"reserved identifier: {node.name}")
        below = depth + (_LOOP_DEPTH if isinstance(node, Comprehension) else 1)
        pending += [(child, below) for child in node.list_children()]


def _check_literal(value: object) -> None:
    if type(value) is int and not int64.fits_int64(value):
        raise CompilationError("invalid int literal")


class _Optional:
    """An element or an entry after a question mark."""

    def __init__(self, content: Any) -> None:  # noqa: ANN401 - what the rule without it returns
        self.content = content


@lark.v_args(inline=True)
class _TreeBuilder(lark.Transformer[Any, Any]):
    """A method for each rule of the grammar; its arguments are the results of the parts."""

    def conditional(self, condition: CelNode, yes: CelNode, no: CelNode) -> CelNode:
        return Conditional(condition, yes, no)

    def or_terms(self, left: CelNode, right: CelNode) -> CelNode:
        return _join_terms(left, right, decisive=True)

    def and_terms(self, left: CelNode, right: CelNode) -> CelNode:
        return _join_terms(left, right, decisive=False)

    def binary(self, left: CelNode, operator: str, right: CelNode) -> CelNode:
        function = "@in" if operator == "in" else f"_{operator}_"
        return FunctionCall(function, None, [left, right])

    def negation(self, *parts: Any) -> CelNode:  # noqa: ANN401 - signs, then a node
        return FunctionCall("!_", None, [parts[-1]]) if len(parts) % 2 == 0 else parts[-1]

    def minus(self, *parts: Any) -> CelNode:  # noqa: ANN401 - signs, then a node
        operand = parts[-1]
        signs = len(parts) - 1
        first = _find_first(operand)
        if signs == 1 and isinstance(first, Literal) and _takes_sign(first):
            first.value = -first.value  # type: ignore[operator]  # checked in the line before
            signs -= 1
        return FunctionCall("-_", None, [operand]) if signs % 2 else operand

    def select(self, operand: CelNode, field: str) -> CelNode:
        return Select(operand, field)

    def optional_select(self, operand: CelNode, field: str) -> CelNode:
        return Select(operand, field, is_optional=True)

    def method(self, target: CelNode, name: str, arguments: list[CelNode]) -> CelNode:
        return macros.expand_call(str(name), target, arguments)

    def index(self, operand: CelNode, key: CelNode) -> CelNode:
        return Index(operand, key)

    def optional_index(self, operand: CelNode, key: CelNode) -> CelNode:
        return Index(operand, key, is_optional=True)

    def message(self, name: CelNode, fields: list[tuple[str, CelNode]]) -> CelNode:
        return messages.make_message(name, fields)

    def message_field(self, name: str, value: CelNode) -> tuple[str, CelNode]:
        return name, value

    def optional_message_field(self, name: str, value: CelNode) -> tuple[str, CelNode]:
        return name, messages.make_optional_field(value)

    def enclosed(self, node: CelNode) -> CelNode:
        if isinstance(node, Literal):
            node.is_enclosed = True
        return node

    def identifier(self, name: str) -> CelNode:
        return Identifier(str(name))

    def call(self, name: str, arguments: list[CelNode]) -> CelNode:
        return macros.expand_call(str(name), None, arguments)

    def list_literal(self, elements: list[Any]) -> CelNode:
        optional = [isinstance(each, _Optional) for each in elements]
        return ListLiteral([_unwrap(each) for each in elements], optional)

    def map_literal(self, entries: list[Any]) -> CelNode:
        optional = [isinstance(each, _Optional) for each in entries]
        pairs = [_unwrap(each) for each in entries]
        return MapLiteral([key for key, _ in pairs], [value for _, value in pairs], optional)

    def int_literal(self, text: str) -> CelNode:
        return Literal(literals.read_int(text))

    def uint_literal(self, text: str) -> CelNode:
        return Literal(literals.read_uint(text))

    def double_literal(self, text: str) -> CelNode:
        return Literal(literals.read_double(text))

    def string_literal(self, text: str) -> CelNode:
        return Literal(literals.read_string(text))

    def bytes_literal(self, text: str) -> CelNode:
        return Literal(literals.read_bytes(text))

    def true(self, _text: str) -> CelNode:
        return Literal(True)

    def false(self, _text: str) -> CelNode:
        return Literal(False)

    def null(self, _text: str) -> CelNode:
        return Literal(None)

    def field(self, name: str) -> str:
        return str(name)

    def arguments(self, *parts: CelNode) -> list[CelNode]:
        return list(parts)

    elements = arguments
    entries = arguments
    message_fields = arguments

    def entry(self, key: CelNode, value: CelNode) -> tuple[CelNode, CelNode]:
        return key, value

    def optional_element(self, element: CelNode) -> _Optional:
        return _Optional(element)

    def optional_entry(self, key: CelNode, value: CelNode) -> _Optional:
        return _Optional((key, value))


def _unwrap(part: Any) -> Any:  # noqa: ANN401 - an element or an entry
    return part.content if isinstance(part, _Optional) else part


def _join_terms(left: CelNode, right: CelNode, *, decisive: bool) -> CelNode:
    """Return one node for a chain of terms, so that a long chain is not deep."""
    if isinstance(left, Logical) and left.decisive == decisive:
        left.terms.append(right)
        return left
    return Logical(decisive, [left, right])


def _takes_sign(literal: Literal) -> bool:
    return not literal.is_enclosed and type(literal.value) in {int, float}


def _find_first(node: CelNode) -> CelNode:
    """Return the leftmost part: in `-1.x()` the sign belongs to the 1."""
    while True:
        match node:
            case Select(operand=operand) | Index(operand=operand):
                node = operand
            case FunctionCall(target=target) if target is not None:
                node = target
            case _:
                return node
