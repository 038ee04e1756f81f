"""schemas/ast.schema.json, made of the tree; `python -m tests.lang.ast_schema` writes it."""

from __future__ import annotations

import json
import pathlib
import types
import typing
from typing import Any

from policysched.lang.interchange import syntax_node_kinds
from policysched.lang.syntax import syntax, syntax_clause, syntax_expr

PATH = pathlib.Path(__file__).resolve().parents[2] / "schemas" / "ast.schema.json"
_LINES = {
    "type": "array",
    "items": {"type": "string", "pattern": "^(#[^\\n\\r]*)?$"},
}
_UNIONS = {
    syntax_node_kinds.list_union_members(getattr(module, name)): name
    for module, names in (
        (syntax, ("Item", "Statement", "ProfileStatement", "ArgsValue")),
        (syntax_clause, ("Clause",)),
        (syntax_expr, ("Expr", "Selector", "Amount")),
    )
    for name in names
}
_COMMENT = {"type": "string", "pattern": "^#[^\\n\\r]*$"}


def schema() -> dict[str, Any]:
    """Return the schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:policysched:schema:ast",
        "title": "policysched ast -o json",
        "description": "Syntax trees of policy texts, which `policysched ast --from-json` makes "
        "texts of again. Words stay as they were written. Fields that say nothing are left out.",
        "type": "object",
        "additionalProperties": False,
        "required": ["version", "texts"],
        "properties": {
            "version": {"const": 1},
            "texts": {"type": "array", "items": {"$ref": "#/$defs/Document"}},
        },
        "$defs": {
            "Document": {
                "description": "One policy text.",
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "name": {"type": "string"},
                    "items": {"type": "array", "items": _hint(syntax.Item)},
                    "end": _described("Comments and blank lines at the end.", _LINES),
                },
            },
            "At": {
                "description": "Where it was written: line and column count from 1, characters "
                "from 0; `end` is exclusive. Not read by --from-json.",
                "type": "object",
            },
            **{
                name: {"oneOf": [_hint(each) for each in members]}
                for members, name in _UNIONS.items()
            },
            **{each.__name__: _node(each) for each in syntax_node_kinds.list_syntax_node_types()},
        },
    }


def _described(text: str, inner: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, **inner}


def _node(node_type: type) -> dict[str, Any]:
    hints = syntax_node_kinds.get_syntax_node_fields(node_type)
    names = {name: syntax_node_kinds.get_json_field_name(name) for name in hints}
    found: dict[str, Any] = {
        "kind": {"const": syntax_node_kinds.get_syntax_node_kind(node_type)},
        "at": {"$ref": "#/$defs/At"},
    }
    for name, hint in hints.items():
        found[names[name]] = _sized(name, _hint(hint))
    is_block = node_type in (syntax.Policy, syntax.Profile)
    if is_block or node_type in _pieces():
        found["before"] = _described("Comments and blank lines before it.", _LINES)
        found["behind"] = _described("The comment behind it.", _COMMENT)
    if is_block:
        found["opening"] = _described("The comment behind `{`.", _COMMENT)
        found["end"] = _described("Comments and blank lines before `}`.", _LINES)
    summary = (node_type.__doc__ or "").partition("\n")[0]
    required = [
        names[name] for name in hints if not syntax_node_kinds.may_field_be_absent(hints[name])
    ]
    return {
        "description": summary,
        "type": "object",
        "additionalProperties": False,
        "required": ["kind", *required],
        "properties": found,
    }


def _pieces() -> tuple[Any, ...]:
    unions = (syntax.Item, syntax.Statement, syntax.ProfileStatement)
    return tuple(each for union in unions for each in syntax_node_kinds.list_union_members(union))


def _sized(name: str, inner: dict[str, Any]) -> dict[str, Any]:
    least = syntax_node_kinds.MIN_ITEMS.get(name)
    return inner if least is None else {**inner, "minItems": least}


def _hint(hint: Any) -> dict[str, Any]:
    members = syntax_node_kinds.list_union_members(hint)
    if members in _UNIONS:
        return {"$ref": f"#/$defs/{_UNIONS[members]}"}
    if len(members) > 1:
        return {"oneOf": [_hint(each) for each in members]}
    if hint is types.NoneType:
        return {"type": "null"}
    if hint in (str, bool):
        return {"type": "string" if hint is str else "boolean"}
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is typing.Literal:
        return {"enum": list(arguments)}
    if typing.get_origin(hint) is tuple and arguments[-1] is Ellipsis:
        return {"type": "array", "items": _hint(arguments[0])}
    if typing.get_origin(hint) is tuple:
        inner = [_hint(each) for each in arguments]
        return {"type": "array", "prefixItems": inner, "minItems": len(inner), "items": False}
    return {"$ref": f"#/$defs/{hint.__name__}"}


def text() -> str:
    """Return the content of the file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
