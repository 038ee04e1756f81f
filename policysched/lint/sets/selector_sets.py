"""Selectors as sets: whether any object can match, whether one selector implies another.

A selector reads variables: a label, a field, a number, a taint. Values of a variable that no
requirement tells apart are one class, so that each variable has few classes: absent, each value
that is named, the integers between two bounds, any other text. A selector is then a union of boxes,
each of which allows some classes of some variables; it is empty if every box is.

Sound in any case: what is said to be impossible is. Exact for labels, annotations, numbers and
fields, up to `MAX_BOXES`; beyond, and about several taints or images of one object, nothing is
claimed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from policysched import int64
from policysched.lang.checked import checked_selector

MAX_BOXES = 256
MAX_OPERANDS = 64
"""Of more operands than these, no two are compared: nobody writes them by hand."""
_OTHER = "other~"
"""A text that no label can have as its value, for all texts that are not named."""

Variable: TypeAlias = tuple[object, ...]
Value: TypeAlias = "str | float | bool | None"
Box: TypeAlias = dict[Variable, int]


class _TooLargeError(Exception):
    """A selector has more boxes than are worth looking at."""


def can_never_match_together(*selectors: checked_selector.Selector) -> bool:
    """Return whether it is certain that no object matches all the selectors."""
    try:
        return not _SelectorSpace(selectors).compute_boxes(
            checked_selector.SelectorConjunction(selectors)
        )
    except _TooLargeError:
        return False


def does_selector_imply(
    first: checked_selector.Selector, second: checked_selector.Selector
) -> bool:
    """Return whether it is certain that whatever matches `first` matches `second`."""
    return can_never_match_together(first, checked_selector.SelectorNegation(second))


def does_match_everything(selector: checked_selector.Selector) -> bool:
    """Return whether it is certain that every object matches."""
    return can_never_match_together(checked_selector.SelectorNegation(selector))


def find_matching_object(selector: checked_selector.Selector) -> Mapping[Variable, Value] | None:
    """Return values of one object that matches; None if no such object is known.

    Where any value of a variable would do, it may be left out.
    """
    space = _SelectorSpace((selector,))
    try:
        boxes = space.compute_boxes(selector)
    except _TooLargeError:
        return None
    return space.make_example_object(boxes[0]) if boxes else None


class _SelectorSpace:
    """The variables that some selectors read, each with one value for each class."""

    def __init__(self, selectors: Iterable[checked_selector.Selector]) -> None:
        readers: dict[Variable, list[checked_selector.Requirement]] = {}
        for selector in selectors:
            for each in checked_selector.walk_requirements(selector):
                readers.setdefault(_get_variable(each), []).append(each)
        self._values = {
            variable: _choose_representative_values(each) for variable, each in readers.items()
        }

    def compute_boxes(
        self, selector: checked_selector.Selector, *, negated: bool = False
    ) -> list[Box]:
        """Return boxes, none of them empty, whose union is what matches (or does not)."""
        match selector:
            case checked_selector.SelectorNegation(operand=operand):
                return self.compute_boxes(operand, negated=not negated)
            case checked_selector.SelectorConjunction(operands=operands):
                return (self._unite_boxes if negated else self._intersect_boxes)(
                    operands, negated=negated
                )
            case checked_selector.SelectorDisjunction(operands=operands):
                return (self._intersect_boxes if negated else self._unite_boxes)(
                    operands, negated=negated
                )
            case _:
                return self._make_box(selector, negated=negated)

    def make_example_object(self, box: Box) -> dict[Variable, Value]:
        """Return an object in a box."""
        return {
            variable: self._values[variable][(mask & -mask).bit_length() - 1]
            for variable, mask in box.items()
        }

    def _make_box(self, requirement: checked_selector.Requirement, *, negated: bool) -> list[Box]:
        variable = _get_variable(requirement)
        mask = 0
        for index, value in enumerate(self._values[variable]):
            if _matches_requirement(requirement, value) is not negated:
                mask |= 1 << index
        return [{variable: mask}] if mask else []

    def _unite_boxes(
        self, operands: Sequence[checked_selector.Selector], *, negated: bool
    ) -> list[Box]:
        found = [
            box for operand in operands for box in self.compute_boxes(operand, negated=negated)
        ]
        if len(found) > MAX_BOXES:
            raise _TooLargeError
        return found

    def _intersect_boxes(
        self, operands: Sequence[checked_selector.Selector], *, negated: bool
    ) -> list[Box]:
        found: list[Box] = [{}]
        for operand in operands:
            more = self.compute_boxes(operand, negated=negated)
            pairs = itertools.product(found, more)
            found = [
                box for one, other in pairs if (box := _intersect_two_boxes(one, other)) is not None
            ]
            if len(found) > MAX_BOXES:
                raise _TooLargeError
        return found


def _intersect_two_boxes(one: Box, other: Box) -> Box | None:
    both = dict(one)
    for variable, mask in other.items():
        both[variable] = both.get(variable, -1) & mask
        if not both[variable]:
            return None
    return both


def _get_variable(requirement: checked_selector.Requirement) -> Variable:
    match requirement:
        case checked_selector.LabelRequirement(key=key):
            return ("label", key)
        case checked_selector.AnnotationRequirement(key=key):
            return ("annotation", key)
        case checked_selector.FieldRequirement(field="image", values=values):
            return ("image", values)
        case checked_selector.FieldRequirement(field=field):
            return ("field", field)
        case checked_selector.NumberRequirement(resource=resource, amount=amount):
            return ("number", resource, amount)
        case checked_selector.TaintRequirement(pattern=pattern):
            return ("taint", pattern)


def _choose_representative_values(
    readers: Sequence[checked_selector.Requirement],
) -> tuple[Value, ...]:
    """Return a value of each class that the requirements on one variable tell apart."""
    match readers[0]:
        case checked_selector.LabelRequirement() | checked_selector.AnnotationRequirement():
            return (None, *_choose_texts(readers))
        case checked_selector.FieldRequirement(field=field) if field != "image":
            named = {value for each in readers for value in _list_values(each)}
            return ("", *sorted(named - {""}), _OTHER)
        case checked_selector.NumberRequirement():
            return _choose_numbers(readers)
        case _:
            return (False, True)


def _list_values(requirement: checked_selector.Requirement) -> tuple[str, ...]:
    has_values = not isinstance(
        requirement, checked_selector.NumberRequirement | checked_selector.TaintRequirement
    )
    return requirement.values if has_values else ()  # type: ignore[union-attr]  # excluded above


def _choose_texts(readers: Sequence[checked_selector.Requirement]) -> list[Value]:
    """Return texts: those that are named, an integer between any two bounds, another text."""
    named: set[str] = set()
    cuts: set[int] = set()
    for each in readers:
        match each:
            case (
                checked_selector.LabelRequirement(operator=operator, values=values)
                | checked_selector.AnnotationRequirement(operator=operator, values=values)
            ):
                if operator == "Gt":
                    cuts.add(int(values[0]) + 1)
                elif operator == "Lt":
                    cuts.add(int(values[0]))
                else:
                    named.update(values)
            case _:
                pass
    is_label = isinstance(readers[0], checked_selector.LabelRequirement)
    lowest = 0 if is_label else int64.MIN  # a label's value begins with a letter or digit
    starts = sorted({lowest, *(cut for cut in cuts if lowest < cut <= int64.MAX)})
    integers = [_make_unnamed_integer(start, named) for start in starts] if cuts else []
    return [*sorted(named), *integers, _OTHER]


def _make_unnamed_integer(number: int, named: set[str]) -> str:
    """Return an integer as a text that is not named: leading zeros do not change its value."""
    text = str(abs(number))
    while (signed := f"-{text}" if number < 0 else text) in named:
        text = f"0{text}"
    return signed


def _choose_numbers(readers: Sequence[checked_selector.Requirement]) -> tuple[Value, ...]:
    """Return numbers: each bound, one between any two, one beyond both ends."""
    numeric = [each for each in readers if isinstance(each, checked_selector.NumberRequirement)]
    bounds = sorted({each.value for each in numeric})
    between = [(low + high) / 2 for low, high in itertools.pairwise(bounds)]
    found = [bounds[0] - 1, *bounds, *between, bounds[-1] + 1]
    first = numeric[0]
    if first.resource is None:
        return tuple(found)
    amounts: list[Value] = [0.0, *(number for number in found if number > 0)]
    if bounds[0] > 0:
        amounts.append(bounds[0] / 2)
    return (None, *amounts) if first.amount == "limits" else tuple(amounts)


def _matches_requirement(requirement: checked_selector.Requirement, value: Value) -> bool:
    match requirement:
        case (
            checked_selector.LabelRequirement(operator=operator, values=values)
            | checked_selector.AnnotationRequirement(operator=operator, values=values)
        ):
            return _matches_text(operator, values, value)
        case checked_selector.FieldRequirement(field="image", operator=operator):
            return bool(value) is (operator == "In")
        case checked_selector.FieldRequirement(operator=operator, values=values):
            return (value in values) is (operator == "In")
        case checked_selector.NumberRequirement(comparator=comparator, value=bound):
            return isinstance(value, float | int) and _compare_numbers(value, comparator, bound)
        case _:
            return bool(value)


def _matches_text(
    operator: checked_selector.LabelOperator, values: tuple[str, ...], value: Value
) -> bool:
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            number = _parse_int64_text(value)
            if number is None:
                return False
            return number > int(values[0]) if operator == "Gt" else number < int(values[0])


def _parse_int64_text(value: Value) -> int | None:
    """Return a text as Kubernetes reads it: a decimal int64 (strconv.ParseInt), else None."""
    return int64.parse_int64(value) if isinstance(value, str) else None


def _compare_numbers(value: float, comparator: checked_selector.Comparator, bound: float) -> bool:
    match comparator:
        case "=":
            return value == bound
        case "!=":
            return value != bound
        case "<":
            return value < bound
        case "<=":
            return value <= bound
        case ">":
            return value > bound
        case ">=":
            return value >= bound
