"""Public classes and functions have names that a reader cannot mistake."""

from __future__ import annotations

import ast
import collections
import functools
import pathlib
import re
from typing import NamedTuple

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "policysched"

# They name compiled and cached forms after the objects and the rules of which they are forms.
_INNER = ("compiler/", "framework/", "plugins/kernels/")

_SYNTAX_NODE = "schemas/ast.schema.json has the name of the syntax node; the other is {}"
SHARED_CLASS_NAMES = {
    "ClusterAffinity": _SYNTAX_NODE.format("Karmada's API object"),
    "NodeAffinity": _SYNTAX_NODE.format("Kubernetes' API object, and kube-scheduler's plugin"),
    "PodAffinity": _SYNTAX_NODE.format("Kubernetes' API object"),
    "Requirement": _SYNTAX_NODE.format("the one of apimachinery's pkg/labels"),
    "SpreadConstraint": _SYNTAX_NODE.format("Karmada's API object"),
    "Toleration": _SYNTAX_NODE.format("Kubernetes' API object"),
}

_GRAMMAR_RULE = "Lark calls the method that has the name of the rule, a word of the language"
PREPOSITIONS_AS_NAMES = {
    "lang/parsing/build_clause.py between": _GRAMMAR_RULE,
    "lang/parsing/build_clause.py over": _GRAMMAR_RULE,
    "lang/parsing/build_clause.py until": _GRAMMAR_RULE,
}
_PREPOSITION = re.compile(
    "_*(about|above|across|after|against|along|among|around|at|before|behind|below|beside|between"
    "|beyond|by|during|for|from|in|inside|into|near|of|off|on|onto|outside|over|past|per|since"
    "|through|to|toward|towards|under|until|up|upon|via|with|within|without)_*"
)


class Definition(NamedTuple):
    """A class or a function, and the module that defines it."""

    module: str
    name: str
    is_class: bool


@functools.cache
def _list_definitions() -> list[Definition]:
    """Return the definitions of all modules whose names any reader meets."""
    paths = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    return [
        Definition(module, node.name, isinstance(node, ast.ClassDef))
        for module, path in sorted(paths.items())
        if not module.startswith(_INNER)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_a_class_name_means_one_thing() -> None:
    """A name in a message or a search leads to one class, except for those with a reason."""
    modules = collections.defaultdict(set)
    for each in _list_definitions():
        if each.is_class and not each.name.startswith("_"):
            modules[each.name].add(each.module)
    assert {name for name, found in modules.items() if len(found) > 1} == set(SHARED_CLASS_NAMES)


def test_no_function_is_named_by_a_preposition_alone() -> None:
    """The name says the action or the result, except where a grammar gives the name."""
    found = {
        f"{each.module} {each.name}"
        for each in _list_definitions()
        if not each.is_class and _PREPOSITION.fullmatch(each.name)
    }
    assert found == set(PREPOSITIONS_AS_NAMES)
