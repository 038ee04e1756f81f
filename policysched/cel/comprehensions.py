"""Loops: `all`, `exists`, `map`, `filter` and the like, each as one function of a frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from policysched.cel.failures import EvaluationError, make_overload_error
from policysched.cel.meter import Meter
from policysched.cel.plans import Evaluate, Frame
from policysched.cel.syntax_tree import Comprehension
from policysched.cel.values import Map, Value, get_type_name, make_key

_Visit: TypeAlias = Callable[[Frame], Iterable[Value]]
"""Puts each item into the slots, and returns the first variable's value for it."""


def plan_comprehension(
    node: Comprehension, items: Evaluate, condition: Evaluate | None, result: Evaluate | None
) -> Evaluate:
    """Return the function for a loop, whose parts are planned already."""
    visit = _plan_visit(node, items)
    if node.macro in {"all", "exists"}:
        return _plan_quantifier(visit, condition or _accept, decisive=node.macro == "exists")
    select = _plan_selection(visit, condition)
    if node.macro == "existsOne":
        return _plan_exists_one(select)
    if node.macro == "transformMap":
        return _plan_transform_map(select, result or _accept)
    if node.macro == "transformMapEntry":
        return _plan_transform_entries(select, result or _accept)
    return _plan_map(select, result)


def _accept(_frame: Frame) -> bool:
    return True


def _plan_visit(node: Comprehension, items: Evaluate) -> _Visit:
    cost = _count_nodes(node)
    if len(node.slots) == 1:
        return _plan_single_visit(items, node.slots[0], cost)
    first, second = node.slots

    def visit(frame: Frame) -> Iterable[Value]:
        meter: Meter = frame[0]
        for key, value in _list_pairs(items(frame)):
            meter.charge(cost)
            frame[first], frame[second] = key, value
            yield key

    return visit


def _plan_single_visit(items: Evaluate, slot: int, cost: int) -> _Visit:
    def visit(frame: Frame) -> Iterable[Value]:
        meter: Meter = frame[0]
        for item in _list_items(items(frame)):
            meter.charge(cost)
            frame[slot] = item
            yield item

    return visit


def _count_nodes(node: Comprehension) -> int:
    """Return how many nodes one turn evaluates at most, apart from loops in it."""
    pending = [each for each in (node.condition, node.result) if each is not None]
    count = 1
    while pending:
        count += 1
        pending += pending.pop().list_children()
    return count


def _list_items(value: Value) -> Iterable[Value]:
    if type(value) is list:
        return value
    if type(value) is Map:
        return value.keys()
    raise EvaluationError(f"got '{get_type_name(value)}', expected iterable type")


def _list_pairs(value: Value) -> Iterable[tuple[Value, Value]]:
    if type(value) is list:
        return enumerate(value)
    if type(value) is Map:
        return value.items()
    raise EvaluationError(f"got '{get_type_name(value)}', expected iterable type")


def _is_accepted(condition: Evaluate, frame: Frame) -> bool:
    value = condition(frame)
    if type(value) is not bool:
        raise make_overload_error()
    return value


def _plan_quantifier(visit: _Visit, condition: Evaluate, *, decisive: bool) -> Evaluate:
    """Plan `all` and `exists`: a failure counts only if no other item decides."""

    def decide(frame: Frame) -> bool:
        failure: EvaluationError | None = None
        for _ in visit(frame):
            try:
                value = condition(frame)
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


def _plan_selection(visit: _Visit, condition: Evaluate | None) -> _Visit:
    """Plan the loop over the items that a condition accepts.

    As in cel-go, the last failure of the condition counts, after all items, and nothing is computed
    for items after the first failure.
    """
    if condition is None:
        return visit

    def select(frame: Frame) -> Iterable[Value]:
        failure: EvaluationError | None = None
        for item in visit(frame):
            try:
                is_accepted = _is_accepted(condition, frame)
            except EvaluationError as error:
                failure = error
                continue
            if is_accepted and failure is None:
                yield item
        if failure is not None:
            raise failure

    return select


def _plan_exists_one(select: _Visit) -> Evaluate:
    return lambda frame: sum(1 for _ in select(frame)) == 1


def _plan_map(select: _Visit, result: Evaluate | None) -> Evaluate:
    """Plan `map`, `filter` and `transformList`."""
    if result is None:
        return lambda frame: list(select(frame))
    return lambda frame: [result(frame) for _ in select(frame)]


def _plan_transform_map(select: _Visit, result: Evaluate) -> Evaluate:
    return lambda frame: Map.from_pairs([(key, result(frame)) for key in select(frame)])


def _plan_transform_entries(select: _Visit, result: Evaluate) -> Evaluate:
    def run(frame: Frame) -> Map:
        entries: list[tuple[Value, Value]] = []
        for _ in select(frame):
            entries += _read_entries(result(frame))
        return _make_map(entries)

    return run


def _read_entries(value: Value) -> list[tuple[Value, Value]]:
    if type(value) is not Map:
        raise make_overload_error()
    return list(value.items())


def _make_map(entries: list[tuple[Value, Value]]) -> Map:
    items: dict[Value, Value] = {}
    made = Map(items)
    for key, value in entries:
        if made.has_own(key):
            raise EvaluationError("insert failed: key already exists")
        items[make_key(key)] = value
    return made
