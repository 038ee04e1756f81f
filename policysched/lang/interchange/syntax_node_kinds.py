"""Define the public names of syntax tree nodes and their fields.

If the language has a word for a node or field, the name is this word. The names are a stable
interface: schemas/ast.schema.json is generated from them, and docs/ast.md explains them.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import types
import typing
from typing import Any

from policysched.lang import source
from policysched.lang.syntax import syntax, syntax_clause, syntax_expr

_NAMES = {
    "Value": "word",
    "Text": "string",
    "Ref": "name",
    "Binary": "arithmetic",
    "NodeTest": "node",
    "ClusterTest": "cluster",
    "PodTest": "pod",
    "PodCount": "count",
    "SelectorRef": "name",
    "SelectorAnd": "and",
    "SelectorOr": "or",
    "SelectorNot": "not",
    "ExprAnd": "and",
    "ExprOr": "or",
    "ExprNot": "not",
    "LetExpr": "let",
    "PromQL": "promql",
    "Scope": "for",
    "AllProfiles": "profiles",
    "ProfilePolicies": "policies",
    "ExcludePolicies": "exclude",
    "UsePlugin": "plugin",
    "DisablePlugins": "disable",
    "BuiltinWeight": "builtin",
    "ProfileParam": "param",
}
_HIDDEN = ("SyntaxTree", "Comment", "SyntaxNode", "Operation")
MIN_ITEMS = {"operands": 2}
"""List field -> minimum number of items, if not 0."""


def get_syntax_node_kind(node_type: type) -> str:
    """Return the public name of a node type."""
    name = node_type.__name__
    return _NAMES.get(name) or name[0].lower() + name[1:]


def get_json_field_name(name: str) -> str:
    """Return the public name of a field: `scoresOnly` for `scores_only`, `keyword` for `kind`."""
    if name == "kind":
        return "keyword"
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


@functools.cache
def get_syntax_node_fields(node_type: type) -> dict[str, Any]:
    """Return the types of a node's fields without spans, keyed by their names in Python."""
    hints = typing.get_type_hints(node_type)
    listed = dataclasses.fields(node_type)
    return {each.name: hints[each.name] for each in listed if hints[each.name] is not source.Span}


@functools.cache
def list_syntax_node_types() -> tuple[type, ...]:
    """Return all node types of a tree, in the order of their modules."""
    found = []
    for module in (syntax, syntax_clause, syntax_expr):
        for each in vars(module).values():
            is_own = isinstance(each, type) and each.__module__ == module.__name__
            if is_own and issubclass(each, syntax_expr.SyntaxNode) and each.__name__ not in _HIDDEN:
                found.append(each)
    return tuple(found)


def list_union_members(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401 - hints have no common type
    """Return the members of a union type, or the type itself."""
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if is_union else (hint,)


def may_field_be_absent(hint: Any) -> bool:  # noqa: ANN401 - as above
    """Return whether the JSON omits an empty field of this type: None, no items or false."""
    is_list = typing.get_origin(hint) is tuple and typing.get_args(hint)[-1] is Ellipsis
    return types.NoneType in list_union_members(hint) or is_list or hint is bool
