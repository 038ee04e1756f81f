"""Convert syntax trees to JSON values and back.

A node becomes an object with its `kind`, its position (`at`) and its fields. Empty fields are
omitted: empty lists, false and null. Decoding refuses an invalid value with its JSON path. It
ignores positions, because trees from other programs do not have them.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from policysched import spelling
from policysched.lang import source, text_limits
from policysched.lang.interchange import syntax_node_kinds
from policysched.lang.syntax import syntax_expr

Json: TypeAlias = dict[str, Any]
MAX_NODES = text_limits.MAX_DEPTH + 16
"""Maximum nesting of nodes: the language's limit, plus the levels of statements and words."""
MAX_NESTING = 3 * MAX_NODES
"""Maximum nesting of objects and lists; at most two lists surround each node."""

_NOWHERE = source.Span("", 0, 0, 1, 1)


class InvalidSyntaxTreeError(Exception):
    """A value that is not a syntax tree.

    Attributes:
        path: JSON path of the value, such as `$.items[0].name`.
    """

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        super().__init__(problem)


def encode_tree(node: syntax_expr.SyntaxNode, place: Callable[[source.Span], Json]) -> Json:
    """Encode a node as an object; `place` converts its span to the value of `at`."""
    found: Json = {
        "kind": syntax_node_kinds.get_syntax_node_kind(type(node)),
        "at": place(node.span),
    }
    node_type: Any = type(node)  # mypy treats dataclasses as unhashable types
    for name in syntax_node_kinds.get_syntax_node_fields(node_type):
        value = getattr(node, name)
        if value not in (None, (), False):
            found[syntax_node_kinds.get_json_field_name(name)] = _encode_value(value, place)
    return found


def _encode_value(value: object, place: Callable[[source.Span], Json]) -> object:
    if isinstance(value, syntax_expr.SyntaxNode):
        return encode_tree(value, place)
    return [_encode_value(each, place) for each in value] if isinstance(value, tuple) else value


def decode_tree(hint: Any, value: object, path: str) -> Any:  # noqa: ANN401 - the result has the type of the hint
    """Decode a JSON value to a node, tuple or scalar of the type `hint`.

    Raises:
        InvalidSyntaxTreeError: the value does not encode this type.
    """
    given = syntax_node_kinds.list_union_members(hint)
    members = [each for each in given if each is not types.NoneType]
    if value is None and len(members) < len(given):
        return None
    origin = typing.get_origin(members[0])
    if origin is tuple:
        return _decode_items(typing.get_args(members[0]), value, path)
    if origin is typing.Literal:
        return _decode_choice(typing.get_args(members[0]), value, path)
    if members[0] in (str, bool):
        return _decode_scalar(members[0], value, path)
    return _decode_syntax_node(members, value, path)


def refuse_deep_nesting(value: object, path: str) -> None:
    """Refuse values that are nested deeper than any policy, because other code recurses into them.

    Raises:
        InvalidSyntaxTreeError: the value is nested too deeply.
    """
    waiting = [(value, 0, 0)]
    while waiting:
        inner, depth, nodes = waiting.pop()
        if depth > MAX_NESTING or nodes > MAX_NODES:
            raise InvalidSyntaxTreeError(
                path, f"is nested deeper than {text_limits.MAX_DEPTH} levels"
            )
        if isinstance(inner, dict):
            waiting += [(each, depth + 1, nodes + 1) for each in inner.values()]
        elif isinstance(inner, list):
            waiting += [(each, depth + 1, nodes) for each in inner]


def _decode_items(hints: tuple[Any, ...], value: object, path: str) -> tuple[Any, ...]:
    """Decode a list to a tuple of any length, or of a fixed length with one hint per item."""
    listed = _require_json_type(list, "a list", value, path)
    if hints[-1] is Ellipsis:
        name = path.rpartition(".")[2]
        least = syntax_node_kinds.MIN_ITEMS.get(name, 0)
        if len(listed) < least:
            raise InvalidSyntaxTreeError(
                path, f"has {len(listed)} items, but needs at least {least}"
            )
        hints = hints[:1] * len(listed)
    elif len(listed) != len(hints):
        raise InvalidSyntaxTreeError(path, f"has {len(listed)} items instead of {len(hints)}")
    pairs = enumerate(zip(hints, listed, strict=True))
    return tuple(decode_tree(hint, each, f"{path}[{at}]") for at, (hint, each) in pairs)


def _decode_choice(allowed: tuple[str, ...], value: object, path: str) -> str:
    text: str = _require_json_type(str, "a text", value, path)
    if text not in allowed:
        hint = spelling.suggest_names(text, allowed)
        problem = f"is `{text}`, not {spelling.join_alternatives(f'`{each}`' for each in allowed)}"
        raise InvalidSyntaxTreeError(path, problem + (hint and f" ({hint})"))
    return text


def _decode_scalar(hint: type, value: object, path: str) -> object:
    return _require_json_type(hint, "a text" if hint is str else "true or false", value, path)


def _decode_syntax_node(members: list[type], value: object, path: str) -> syntax_expr.SyntaxNode:
    """Decode an object to a node of one of the types in `members`, chosen by its `kind`."""
    fields: Json = _require_json_type(dict, "an object", value, path)
    kinds = {syntax_node_kinds.get_syntax_node_kind(each): each for each in members}
    if "kind" not in fields:
        raise InvalidSyntaxTreeError(path, "lacks `kind`")
    node_type = kinds[_decode_choice(tuple(kinds), fields["kind"], f"{path}.kind")]
    names = {
        syntax_node_kinds.get_json_field_name(name): name
        for name in syntax_node_kinds.get_syntax_node_fields(node_type)
    }
    refuse_unknown_fields(fields, names, path)
    hints = syntax_node_kinds.get_syntax_node_fields(node_type)
    found = {
        name: _decode_field(hints[name], fields, written, f"{path}.{written}")
        for written, name in names.items()
    }
    if "operator_span" in node_type.__dataclass_fields__:  # type: ignore[attr-defined]  # nodes are dataclasses
        found["operator_span"] = _NOWHERE
    node: syntax_expr.SyntaxNode = node_type(_NOWHERE, **found)
    return node


def _decode_field(hint: Any, fields: Json, name: str, path: str) -> object:  # noqa: ANN401 - as in decode_tree
    if name in fields:
        return decode_tree(hint, fields[name], path)
    if not syntax_node_kinds.may_field_be_absent(hint):
        raise InvalidSyntaxTreeError(path.rpartition(".")[0], f"lacks `{name}`")
    if hint is bool:
        return False
    is_list = typing.get_origin(hint) is tuple
    return decode_tree(hint, [], path) if is_list else None


def refuse_unknown_fields(fields: Json, known: Mapping[str, object], path: str) -> None:
    """Refuse fields that a node does not have.

    Raises:
        InvalidSyntaxTreeError: there is an unknown field, or `at` is not an object.
    """
    _require_json_type(dict, "an object", fields.get("at", {}), f"{path}.at")
    for name in fields:
        if name not in known and name not in ("kind", "at"):
            hint = spelling.suggest_names(name, known)
            problem = f"has no field `{name}`" + (hint and f" ({hint})")
            raise InvalidSyntaxTreeError(
                path, f"a `{fields['kind']}` {problem}" if "kind" in fields else problem
            )


def _require_json_type(wanted: type, what: str, value: object, path: str) -> Any:  # noqa: ANN401 - it has the type `wanted`
    if type(value) is not wanted:
        raise InvalidSyntaxTreeError(path, f"is {_describe_json_type(value)}, not {what}")
    return value


def _describe_json_type(value: object) -> str:
    """Return the type of a JSON value in words, for messages."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return f"the text `{value[:40]}`"
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            return "a number"
