"""Turn a checked tree into closures.

Each node becomes a function of a frame (`plans`). No source text is made, so nothing of a claim can
become code. Operators of collections and variables are here; `comprehensions` has the loops.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final

from policysched.cel import comprehensions, lookup
from policysched.cel.calls import plan_function
from policysched.cel.failures import (
    AbortedError,
    CompilationError,
    EvaluationError,
    make_overload_error,
)
from policysched.cel.membership import plan_constant_membership
from policysched.cel.plans import Constant, Evaluate, Frame, read_constants
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
)
from policysched.cel.values import NO_VALUE, Map, Optional, TypeValue, Value, make_key


def plan(node: CelNode) -> Evaluate:
    """Return the function that evaluates a node.

    Raises:
        CompilationError: a conversion of a constant fails.
    """
    return _PLANS[type(node)](node)


def _plan_literal(node: Literal) -> Evaluate:
    return Constant(node.value)


def _plan_identifier(node: Identifier) -> Evaluate:
    slot = node.slot
    if slot is None:
        return Constant(TypeValue(node.name))
    return _plan_lazy_identifier(slot) if node.is_lazy else lambda frame: frame[slot]


def _plan_select(node: Select) -> Evaluate:
    if node.type_name is not None:
        return Constant(TypeValue(node.type_name))
    operand, field = plan(node.operand), node.field
    if node.is_test:
        return lambda frame: lookup.has_field(operand(frame), field)
    if node.is_optional:
        return lambda frame: lookup.find_item(operand(frame), field)
    return lambda frame: lookup.get_item(operand(frame), field)


def _plan_index(node: Index) -> Evaluate:
    operand, key = plan(node.operand), plan(node.key)
    if isinstance(key, Constant):
        _check_constant_key(key.value)
    if isinstance(key, Constant) and not node.is_optional:
        constant = key.value
        return lambda frame: lookup.get_item(operand(frame), constant)
    get = lookup.find_item if node.is_optional else lookup.get_item
    return lambda frame: get(operand(frame), key(frame))


def _check_constant_key(key: Value) -> None:
    try:
        lookup.check_key(key)
    except EvaluationError as error:
        raise CompilationError(f"program instantiation failed: {error}") from None


def _plan_call(node: FunctionCall) -> Evaluate:
    if node.function in {"or", "orValue"} and node.target is not None:
        return _plan_alternative(node, node.target)
    parts = list(map(plan, node.list_children()))
    is_in_list = node.function == "@in" and len(node.overloads) == 1
    if is_in_list and isinstance(parts[1], Constant) and type(parts[1].value) is list:
        membership = plan_constant_membership(parts[0], parts[1].value)
        if membership is not None:
            return membership
    return plan_function(node, parts)


def _plan_alternative(node: FunctionCall, target: CelNode) -> Evaluate:
    """Plan `or` and `orValue`, which evaluate their argument only if there is no value."""
    optional, other = plan(target), plan(node.arguments[0])
    is_value_wanted = node.function == "orValue"

    def choose(frame: Frame) -> Value:
        value = optional(frame)
        if type(value) is not Optional:
            raise make_overload_error()
        if value.has_value:
            return value.value if is_value_wanted else value
        return other(frame)

    return choose


def _plan_logical(node: Logical) -> Evaluate:
    decisive, terms = node.decisive, list(map(plan, node.terms))

    def decide(frame: Frame) -> bool:
        failure: EvaluationError | None = None
        for term in terms:
            try:
                value = term(frame)
            except EvaluationError as error:
                failure = failure or error
                continue
            if value is decisive:
                return bool(decisive)
            if type(value) is not bool:
                failure = failure or make_overload_error()
        if failure is not None:
            raise failure
        return not decisive

    return decide


def _plan_conditional(node: Conditional) -> Evaluate:
    condition, yes, no = plan(node.condition), plan(node.yes), plan(node.no)

    def choose(frame: Frame) -> Value:
        value = condition(frame)
        if value is True:
            return yes(frame)
        if value is False:
            return no(frame)
        raise make_overload_error()

    return choose


def _plan_list(node: ListLiteral) -> Evaluate:
    elements = list(map(plan, node.elements))
    if not any(node.optional):
        constants = read_constants(elements)
        if constants is not None:
            return Constant(constants)
        return lambda frame: [element(frame) for element in elements]
    pairs = list(zip(elements, node.optional, strict=True))

    def make(frame: Frame) -> list[Value]:
        made: list[Value] = []
        for element, is_optional in pairs:
            value = element(frame)
            if is_optional:
                made += _unwrap(value)
            else:
                made.append(value)
        return made

    return make


def _unwrap(value: Value) -> list[Value]:
    if type(value) is not Optional:
        raise EvaluationError("cannot initialize optional element from a non-optional value")
    return [value.value] if value.has_value else []


def _plan_map(node: MapLiteral) -> Evaluate:
    keys, values = list(map(plan, node.keys)), list(map(plan, node.values))
    entries = list(zip(keys, values, node.optional, strict=True))

    def make(frame: Frame) -> Map:
        items: dict[Value, Value] = {}
        for key, value, is_optional in entries:
            found_key, found = key(frame), value(frame)
            parts = _unwrap(found) if is_optional else [found]
            own = make_key(found_key)
            if parts:
                items[own] = parts[0]
            else:
                items.pop(own, None)
        return Map(items)

    if any(node.optional) or read_constants([*keys, *values]) is None:
        return make
    return _make_constant(make)


def _make_constant(make: Evaluate) -> Constant:
    try:
        return Constant(make([]))
    except AbortedError as error:
        raise CompilationError(f"program instantiation failed: {error}") from None


def _plan_comprehension(node: Comprehension) -> Evaluate:
    items = plan(node.range)
    condition = None if node.condition is None else plan(node.condition)
    result = None if node.result is None else plan(node.result)
    return comprehensions.plan_comprehension(node, items, condition, result)


@dataclasses.dataclass(frozen=True, slots=True)
class _Pending:
    """What a `cel.bind` leaves in its slot until its value is needed."""

    evaluate: Evaluate


def _plan_bind(node: Bind) -> Evaluate:
    pending, body, slot = _Pending(plan(node.value)), plan(node.body), node.slot

    def run(frame: Frame) -> Value:
        frame[slot] = pending
        return body(frame)

    return run


def _plan_lazy_identifier(slot: int) -> Evaluate:
    def read(frame: Frame) -> Value:
        value = frame[slot]
        if type(value) is _Pending:
            value = frame[slot] = value.evaluate(frame)
        return value

    return read


def _plan_optional_map(node: OptionalMap) -> Evaluate:
    target, body, slot, is_flat = plan(node.target), plan(node.body), node.slot, node.is_flat

    def run(frame: Frame) -> Value:
        optional = target(frame)
        if type(optional) is not Optional:
            raise make_overload_error()
        if not optional.has_value:
            return NO_VALUE
        frame[slot] = optional.value
        value = body(frame)
        return value if is_flat else Optional(value)

    return run


_PLANS: Final[dict[type[CelNode], Callable[[Any], Evaluate]]] = {
    Literal: _plan_literal,
    Identifier: _plan_identifier,
    Select: _plan_select,
    Index: _plan_index,
    FunctionCall: _plan_call,
    Logical: _plan_logical,
    Conditional: _plan_conditional,
    ListLiteral: _plan_list,
    MapLiteral: _plan_map,
    Comprehension: _plan_comprehension,
    Bind: _plan_bind,
    OptionalMap: _plan_optional_map,
}
