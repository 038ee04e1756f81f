"""Check an expression: names, types and constant arguments.

The rules are those of cel-go 0.26 with the options that Kubernetes sets (`checker/checker.go`,
`cel/validator.go`, `k8s.io/apiserver/pkg/cel/environment/base.go`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

from policysched.cel.constant_checks import check_constants, check_format
from policysched.cel.failures import CompilationError
from policysched.cel.functions.table import OVERLOADS
from policysched.cel.static_types import (
    ANY,
    BOOL,
    BYTES,
    CIDR,
    DEVICE,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    IP,
    NULL,
    QUANTITY,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    B,
    Substitutions,
    Type,
    list_of,
    map_of,
    optional_of,
    type_of,
    unwrap_optional,
)
from policysched.cel.syntax_tree import (
    Bind,
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
    OptionalMap,
    Select,
    find_qualified_name,
)
from policysched.cel.values import get_type_name

DEVICE_VARIABLE: Final = "device"
DEVICE_SLOT, FIRST_FREE_SLOT = 1, 2
"""Slot 0 of a frame is the meter."""

_DEVICE_FIELDS: Final = {
    "driver": STRING,
    "allowMultipleAllocations": BOOL,
    "attributes": map_of(STRING, map_of(STRING, ANY)),
    "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
}
_PLAIN_TYPES: Final = {each.name: each for each in (BOOL, BYTES, DOUBLE, INT, NULL, STRING, UINT)}
_NAMED_TYPES: Final = {
    **_PLAIN_TYPES,
    **{each.name: each for each in (DYN, DURATION, TIMESTAMP, IP, CIDR)},
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "optional_type": optional_of(DYN),
    "type": Type("type"),
}
_LIST, _MAP = list_of(A), map_of(A, B)
_INDEX_SIGNATURES: Final = (
    ((_LIST, INT), A),
    ((_MAP, A), B),
    ((optional_of(_LIST), INT), optional_of(A)),
    ((optional_of(_MAP), A), optional_of(B)),
)
_OPTIONAL_INDEX_SIGNATURES: Final = tuple(
    (parameters, result if result.name == "optional_type" else optional_of(result))
    for parameters, result in _INDEX_SIGNATURES
)
_CONDITIONAL_SIGNATURES: Final = (((BOOL, A, A), A),)
_OPTIONAL_SIGNATURES: Final = (((optional_of(A),), optional_of(A)),)
_EXEMPT_FUNCTION: Final = "format"
"""Its arguments may be lists of different types."""

_Signature = tuple[Sequence[Type], Type]


def check(tree: CelNode) -> int:
    """Check a tree, and write slots and overloads into it; return the number of slots of its frame.

    Raises:
        CompilationError: the expression is not a valid selector.
    """
    checker = _Checker()
    result = checker.check_whole(tree)
    if result not in {BOOL, ANY}:
        raise CompilationError(f"must evaluate to bool or the unknown type, not {result}")
    return checker.slots


@dataclasses.dataclass(frozen=True, slots=True)
class _Variable:
    """A variable in scope; `is_lazy` as in `Identifier`."""

    type: Type
    slot: int
    is_lazy: bool = False


class _Checker:
    """Checks one tree.

    Each level of the tree takes two frames of Python's stack: `map` adds none, a comprehension can.

    Attributes:
        slots: number of slots that the variables found so far need.
    """

    def __init__(self) -> None:
        self.slots = FIRST_FREE_SLOT
        self._scope = {DEVICE_VARIABLE: _Variable(DEVICE, DEVICE_SLOT)}
        self._substitutions = Substitutions()
        self._uniform: list[list[Type]] = []
        self._exempt_calls = 0
        self._formats: list[tuple[str, ListLiteral]] = []
        self._part_types: dict[int, list[Type]] = {}
        self._checks: dict[type[CelNode], Callable[[Any], Type]] = {
            Literal: self._check_literal,
            Identifier: self._check_identifier,
            Select: self._check_select,
            Index: self._check_index,
            FunctionCall: self._check_call,
            Logical: self._check_logical,
            Conditional: self._check_conditional,
            ListLiteral: self._check_list,
            MapLiteral: self._check_map,
            Comprehension: self._check_comprehension,
            Bind: self._check_bind,
            OptionalMap: self._check_optional_map,
        }

    def check_whole(self, tree: CelNode) -> Type:
        """Return the type of the tree."""
        result = self._check(tree)
        for types in self._uniform:
            first, *others = map(self._finish, types)
            for other in others:
                if other != first:
                    raise CompilationError(f"expected type '{first}' but found '{other}'")
        for text, arguments in self._formats:
            check_format(text, self._list_parts(arguments), self._list_parts)
        return self._finish(result)

    def _list_parts(self, node: CelNode) -> list[tuple[CelNode, Type]]:
        """Return the parts of a list or map literal with their types; of others none."""
        types = self._part_types.get(id(node), [])
        return list(zip(node.list_children(), map(self._finish, types), strict=False))

    def _check(self, node: CelNode) -> Type:
        """Return the type of a node, after completing it."""
        return self._checks[type(node)](node)

    def _check_literal(self, node: Literal) -> Type:
        return _PLAIN_TYPES[get_type_name(node.value)]

    def _check_index(self, node: Index) -> Type:
        signatures = _OPTIONAL_INDEX_SIGNATURES if node.is_optional else _INDEX_SIGNATURES
        types = [self._check(node.operand), self._check(node.key)]
        return self._resolve("_[_]", signatures, types)[0]

    def _check_logical(self, node: Logical) -> Type:
        for term in node.terms:
            self._require(self._check(term), BOOL)
        return BOOL

    def _check_conditional(self, node: Conditional) -> Type:
        types = list(map(self._check, (node.condition, node.yes, node.no)))
        return self._resolve("_?_:_", _CONDITIONAL_SIGNATURES, types)[0]

    def _finish(self, type_: Type) -> Type:
        """Return the type with `dyn` for unknown parameters."""
        resolved = self._substitutions.resolve(type_)
        if resolved.is_parameter:
            return DYN
        return Type(resolved.name, tuple(map(self._finish, resolved.parameters)))

    def _require(self, given: Type, wanted: Type) -> None:
        if not self._substitutions.unify([given], [wanted]):
            raise CompilationError(
                f"expected type '{self._finish(wanted)}' but found '{self._finish(given)}'"
            )

    def _check_identifier(self, node: Identifier) -> Type:
        if node.name in self._scope:
            variable = self._scope[node.name]
            node.slot, node.is_lazy = variable.slot, variable.is_lazy
            return variable.type
        if node.name in _NAMED_TYPES:
            return type_of(_NAMED_TYPES[node.name])
        raise CompilationError(f"undeclared reference to '{node.name}' (in container '')")

    def _check_select(self, node: Select) -> Type:
        name = None if node.is_optional or node.is_test else find_qualified_name(node)
        if name in _NAMED_TYPES:
            node.type_name = name
            return type_of(_NAMED_TYPES[name])
        operand = self._substitutions.resolve(self._check(node.operand))
        target, is_optional = unwrap_optional(operand)
        result = self._find_field_type(target, node.field)
        if node.is_test:
            return BOOL
        return optional_of(result) if is_optional or node.is_optional else result

    def _find_field_type(self, target: Type, field: str) -> Type:
        if target.name == "map":
            return target.parameters[1]
        if target == DEVICE:
            if field not in _DEVICE_FIELDS:
                raise CompilationError(f"undefined field '{field}'")
            return _DEVICE_FIELDS[field]
        if target.is_parameter:
            self._substitutions.unify([DYN], [target])
        elif not target.is_dynamic:
            raise CompilationError(f"type '{target}' does not support field selection")
        return DYN

    def _check_call(self, node: FunctionCall) -> Type:
        is_exempt = node.function == _EXEMPT_FUNCTION
        self._exempt_calls += is_exempt
        types = list(map(self._check, node.arguments))
        if node.target is not None:
            prefix = find_qualified_name(node.target)
            if f"{prefix}.{node.function}" in OVERLOADS:
                node.function, node.target = f"{prefix}.{node.function}", None
            else:
                types.insert(0, self._check(node.target))
        self._exempt_calls -= is_exempt
        if node.function not in OVERLOADS:
            raise CompilationError(f"undeclared reference to '{node.function}' (in container '')")
        is_method = node.target is not None
        overloads = [each for each in OVERLOADS[node.function] if each.is_method == is_method]
        signatures = [(each.parameters, each.result) for each in overloads]
        result, matching = self._resolve(node.function, signatures, types)
        node.overloads = tuple(overloads[i] for i in matching)
        check_constants(node)
        self._record_format(node)
        return result

    def _record_format(self, node: FunctionCall) -> None:
        """Record a constant format, to check it when the types of its arguments are known."""
        if node.function == _EXEMPT_FUNCTION and isinstance(node.target, Literal):
            arguments = node.arguments[0]
            if isinstance(arguments, ListLiteral):
                self._formats.append((str(node.target.value), arguments))

    def _resolve(
        self, function: str, signatures: Sequence[_Signature], types: Sequence[Type]
    ) -> tuple[Type, list[int]]:
        """Return the type of a call, and which signatures take arguments of these types."""
        result: Type | None = None
        matching: list[int] = []
        for i, (parameters, own_result) in enumerate(signatures):
            *wanted, own_type = self._substitutions.instantiate([*parameters, own_result])
            if not self._substitutions.unify(types, wanted):
                continue
            matching.append(i)
            own_type = self._substitutions.resolve(own_type)
            if result is None:
                result = own_type
            elif not result.is_dynamic and own_type != result:
                result = DYN
        if result is None:
            given = ", ".join(str(self._finish(each)) for each in types)
            raise CompilationError(
                f"found no matching overload for '{function}' applied to '({given})'"
            )
        return result, matching

    def _check_list(self, node: ListLiteral) -> Type:
        types = list(map(self._check, node.elements))
        types = list(map(self._unwrap_element, types, node.optional))
        self._part_types[id(node)] = types
        return list_of(self._join(types))

    def _check_map(self, node: MapLiteral) -> Type:
        keys, values = (list(map(self._check, part)) for part in (node.keys, node.values))
        self._part_types[id(node)] = keys + values
        key = self._join(keys)
        return map_of(key, self._join(list(map(self._unwrap_element, values, node.optional))))

    def _unwrap_element(self, type_: Type, is_optional: bool) -> Type:  # noqa: FBT001 - a field of the literal
        if not is_optional:
            return type_
        value, has_value = unwrap_optional(self._substitutions.resolve(type_))
        if not has_value and not value.is_dynamic:
            raise CompilationError(f"expected type 'optional_type({value})' but found '{value}'")
        return value

    def _join(self, types: list[Type]) -> Type:
        if not types:
            return self._substitutions.make_parameter()
        if not self._exempt_calls:
            self._uniform.append(types)
        joined = types[0]
        for type_ in types[1:]:
            joined = self._substitutions.join(joined, type_) or DYN
        return joined

    def _check_comprehension(self, node: Comprehension) -> Type:
        range_type = self._substitutions.resolve(self._check(node.range))
        variables = self._find_variable_types(range_type, len(node.names))
        outer = self._scope
        node.slots = tuple(map(self._declare, node.names, variables))
        if node.condition is not None:
            self._require(self._check(node.condition), BOOL)
        result = variables[0] if node.result is None else self._check(node.result)
        self._scope = outer
        return self._find_result_type(node.macro, variables[0], result)

    def _find_result_type(self, macro: str, key: Type, result: Type) -> Type:
        if macro in {"all", "exists", "existsOne"}:
            return BOOL
        if macro == "transformMap":
            return map_of(key, result)
        if macro != "transformMapEntry":
            return list_of(result)
        entry = map_of(self._substitutions.make_parameter(), self._substitutions.make_parameter())
        self._require(result, entry)
        return self._substitutions.resolve(entry)

    def _find_variable_types(self, range_type: Type, count: int) -> tuple[Type, ...]:
        if range_type.name == "list" and range_type.parameters:
            element = range_type.parameters[0]
            return (element,) if count == 1 else (INT, element)
        if range_type.name == "map" and range_type.parameters:
            return range_type.parameters[:count]
        if range_type == DYN or range_type.is_parameter:
            self._substitutions.unify([DYN], [range_type])
            return (DYN,) * count
        raise CompilationError(
            f"expression of type '{range_type}' cannot be range of a comprehension"
            " (must be list, map, or dynamic)"
        )

    def _declare(self, name: str, type_: Type, *, is_lazy: bool = False) -> int:
        """Add a variable to a copy of the scope; the caller puts the outer scope back."""
        slot = self.slots
        self.slots += 1
        self._scope = {**self._scope, name: _Variable(type_, slot, is_lazy)}
        return slot

    def _check_bind(self, node: Bind) -> Type:
        type_ = self._check(node.value)
        outer = self._scope
        node.slot = self._declare(node.name, type_, is_lazy=True)
        result = self._check(node.body)
        self._scope = outer
        return result

    def _check_optional_map(self, node: OptionalMap) -> Type:
        value = self._substitutions.make_parameter()
        self._require(self._check(node.target), optional_of(value))
        outer = self._scope
        node.slot = self._declare(node.name, self._substitutions.resolve(value))
        body = self._check(node.body)
        self._scope = outer
        result = body if node.is_flat else optional_of(body)
        return self._resolve("_?_:_", _OPTIONAL_SIGNATURES, [result])[0]
