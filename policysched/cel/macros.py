"""Replace calls of macros by nodes of their own: `has`, `all`, `map`, `cel.bind` and the like.

Other calls stay calls. Sources: cel-go
`parser/macro.go`, `ext/{bindings,comprehensions,lists}.go`, `cel/library.go`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from policysched.cel.failures import CompilationError
from policysched.cel.syntax_tree import (
    Bind,
    CelNode,
    Comprehension,
    FunctionCall,
    Identifier,
    OptionalMap,
    Select,
)

_SORTED_LIST: Final = "@sorted"
"""A name that no expression can write."""


def expand_call(function: str, target: CelNode | None, arguments: list[CelNode]) -> CelNode:
    """Return the node of a call, with macros expanded.

    Raises:
        CompilationError: the arguments of a macro do not fit.
    """
    if target is None:
        is_has = function == "has" and len(arguments) == 1
        return _expand_has(arguments[0]) if is_has else FunctionCall(function, None, arguments)
    if (function, len(arguments)) == ("bind", 3) and target == Identifier("cel"):
        return Bind(_read_name(arguments[0]), arguments[1], arguments[2])
    expand = _MACROS.get((function, len(arguments)))
    return (
        FunctionCall(function, target, arguments) if expand is None else expand(target, *arguments)
    )


def _expand_has(argument: CelNode) -> CelNode:
    if not isinstance(argument, Select) or argument.is_optional:
        raise CompilationError("invalid argument to has() macro")
    argument.is_test = True
    return argument


def _read_name(argument: CelNode) -> str:
    if not isinstance(argument, Identifier):
        raise CompilationError("argument must be a simple name")
    return argument.name


def _read_names(first: CelNode, second: CelNode) -> tuple[str, str]:
    names = _read_name(first), _read_name(second)
    if names[0] == names[1]:
        raise CompilationError(f"duplicate variable name: {names[0]}")
    return names


def _make_test(macro: str) -> Callable[[CelNode, CelNode, CelNode], CelNode]:
    return lambda target, name, condition: Comprehension(
        macro, target, (_read_name(name),), condition, None
    )


def _make_pair_test(macro: str) -> Callable[[CelNode, CelNode, CelNode, CelNode], CelNode]:
    return lambda target, first, second, condition: Comprehension(
        macro, target, _read_names(first, second), condition, None
    )


def _expand_map(target: CelNode, name: CelNode, result: CelNode) -> CelNode:
    return Comprehension("map", target, (_read_name(name),), None, result)


def _expand_map_if(target: CelNode, name: CelNode, condition: CelNode, result: CelNode) -> CelNode:
    return Comprehension("map", target, (_read_name(name),), condition, result)


def _make_transformation(macro: str) -> Callable[[CelNode, CelNode, CelNode, CelNode], CelNode]:
    return lambda target, first, second, result: Comprehension(
        macro, target, _read_names(first, second), None, result
    )


def _make_transformation_if(
    macro: str,
) -> Callable[[CelNode, CelNode, CelNode, CelNode, CelNode], CelNode]:
    return lambda target, first, second, condition, result: Comprehension(
        macro, target, _read_names(first, second), condition, result
    )


def _make_optional_map(*, is_flat: bool) -> Callable[[CelNode, CelNode, CelNode], CelNode]:
    return lambda target, name, body: OptionalMap(target, _read_name(name), body, is_flat)


def _expand_sort_by(target: CelNode, name: CelNode, key: CelNode) -> CelNode:
    items = Identifier(_SORTED_LIST)
    keys = _expand_map(Identifier(_SORTED_LIST), name, key)
    return Bind(_SORTED_LIST, target, FunctionCall("@sortByAssociatedKeys", items, [keys]))


_MACROS: Final[dict[tuple[str, int], Callable[..., CelNode]]] = {
    ("all", 2): _make_test("all"),
    ("exists", 2): _make_test("exists"),
    ("exists_one", 2): _make_test("existsOne"),
    ("filter", 2): _make_test("filter"),
    ("map", 2): _expand_map,
    ("map", 3): _expand_map_if,
    ("all", 3): _make_pair_test("all"),
    ("exists", 3): _make_pair_test("exists"),
    ("exists_one", 3): _make_pair_test("existsOne"),
    ("existsOne", 3): _make_pair_test("existsOne"),
    **{
        key: make(macro)
        for macro in ("transformList", "transformMap", "transformMapEntry")
        for key, make in (
            ((macro, 3), _make_transformation),
            ((macro, 4), _make_transformation_if),
        )
    },
    ("optMap", 2): _make_optional_map(is_flat=False),
    ("optFlatMap", 2): _make_optional_map(is_flat=True),
    ("sortBy", 2): _expand_sort_by,
}
