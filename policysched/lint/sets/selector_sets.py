"""Selectors as sets: decides whether objects can match, and whether a selector implies another.

A selector reads variables: a label, a field, a number, a taint. Values of a variable that no
requirement distinguishes form one class, so each variable has few classes: absent, each named
value, the integers between two bounds, any other text. A selector is then a union of boxes, each of
which allows some classes of some variables. The selector is empty if every box is empty.

The result is always sound: a selector that is reported as impossible cannot match. It is exact for
labels, annotations, numbers and fields, up to `MAX_BOXES`. Beyond this limit, no selector is
reported as impossible. A contradiction between different requirements on taints, images or storage
classes of one object is not detected, nor one of three patterns of which each two have common
matches (`pattern_classes`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from policysched import int64, release_version
from policysched.lang.checked import checked_selector, comparisons
from policysched.lang.words import glob_patterns, vocabulary
from policysched.lint.sets import pattern_classes

MAX_BOXES = 256
MAX_OPERANDS = 64
"""The maximum number of operands compared in pairs; selectors written by hand have fewer."""

_SEVERAL = ("image", "storageClass")
"""Fields with several values."""
_ALWAYS_SET = ("nodeName", "clusterName")
"""Fields that are never empty."""

Variable: TypeAlias = tuple[object, ...]
Value: TypeAlias = "str | float | bool | pattern_classes.TextClass | None"
Box: TypeAlias = dict[Variable, int]


class _UnnamedText(str):
    """A text that no requirement names; it represents all texts of its class."""

    __slots__ = ()


_OTHER = _UnnamedText("other~")
"""Represents all texts that no requirement names; no label can have this value."""


class _TooLargeError(Exception):
    """A selector has more than `MAX_BOXES` boxes."""


def can_never_match_together(*selectors: checked_selector.Selector) -> bool:
    """Return whether certainly no object matches all the selectors."""
    try:
        return not _SelectorSpace(selectors).compute_boxes(
            checked_selector.SelectorConjunction(selectors)
        )
    except _TooLargeError:
        return False


def does_selector_imply(
    first: checked_selector.Selector, second: checked_selector.Selector
) -> bool:
    """Return whether every object that matches `first` certainly matches `second`."""
    return can_never_match_together(first, checked_selector.SelectorNegation(second))


def does_match_everything(selector: checked_selector.Selector) -> bool:
    """Return whether every object certainly matches the selector."""
    return can_never_match_together(checked_selector.SelectorNegation(selector))


def find_matching_object(selector: checked_selector.Selector) -> Mapping[Variable, Value] | None:
    """Return the values of one object that matches, or None if no such object is known.

    A variable may be absent from the result if any value would match. A text of which only the
    matching patterns are known is a `TextClass`.
    """
    try:
        space = _SelectorSpace((selector,))
        boxes = space.compute_boxes(selector)
    except _TooLargeError:
        return None
    return space.make_example_object(boxes[0]) if boxes else None


class _SelectorSpace:
    """The variables that a group of selectors reads, with one value for each class."""

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
        """Return non-empty boxes whose union is the set of objects that match.

        With `negated`, the union is the set of objects that do not match.
        """
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
        """Return the values of one object in a box."""
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
        """Return the boxes of the union of selectors."""
        found = [
            box for operand in operands for box in self.compute_boxes(operand, negated=negated)
        ]
        if len(found) > MAX_BOXES:
            raise _TooLargeError
        return found

    def _intersect_boxes(
        self, operands: Sequence[checked_selector.Selector], *, negated: bool
    ) -> list[Box]:
        """Return the boxes of the intersection of selectors."""
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
        # A variable without an entry allows all classes: -1 has all bits set.
        both[variable] = both.get(variable, -1) & mask
        if not both[variable]:
            return None
    return both


def _get_variable(requirement: checked_selector.Requirement) -> Variable:
    """Return the variable that a requirement reads."""
    match requirement:
        case checked_selector.LabelRequirement(key=key):
            return ("label", key)
        case checked_selector.AnnotationRequirement(key=key):
            return ("annotation", key)
        case checked_selector.FieldRequirement(field=field, values=values):
            return (field, values) if field in _SEVERAL else ("field", field)
        case checked_selector.ConditionRequirement(condition=condition):
            return ("condition", condition)
        case checked_selector.VersionRequirement():
            return ("kubeletVersion",)
        case checked_selector.NumberRequirement(resource=resource, amount=amount):
            return ("number", resource, amount)
        case checked_selector.TaintRequirement(pattern=pattern):
            return ("taint", pattern)


def _choose_representative_values(
    readers: Sequence[checked_selector.Requirement],
) -> tuple[Value, ...]:
    """Return one value for each class that the requirements on one variable distinguish."""
    match readers[0]:
        case checked_selector.LabelRequirement():
            return (None, *_split_by_patterns(readers, _choose_representative_texts(readers)))
        case checked_selector.AnnotationRequirement():
            return (None, *_choose_representative_texts(readers))
        case checked_selector.FieldRequirement(field=field) if field not in _SEVERAL:
            named = {value for each in readers for value in _list_required_values(each)}
            exact = sorted(value for value in named if value and not _is_pattern(readers[0], value))
            if field in vocabulary.FIELDS["pod"] and (
                known := vocabulary.FIELDS["pod"][field].values
            ):
                return tuple(known)
            texts = _split_by_patterns(readers, [*exact, _OTHER])
            return tuple(texts) if field in _ALWAYS_SET else ("", *texts)
        case checked_selector.ConditionRequirement():
            return (None, *vocabulary.CONDITION_STATUSES, _OTHER)
        case checked_selector.VersionRequirement():
            return _choose_representative_versions(readers)
        case checked_selector.NumberRequirement():
            return _choose_representative_numbers(readers)
        case _:
            return (False, True)


def _is_pattern(reader: checked_selector.Requirement, value: str) -> bool:
    """Return whether a value of a requirement is a pattern; annotations have none."""
    is_literal = isinstance(reader, checked_selector.AnnotationRequirement)
    return not is_literal and glob_patterns.is_pattern(value)


def _split_by_patterns(
    readers: Sequence[checked_selector.Requirement], texts: Sequence[Value]
) -> list[Value]:
    """Return the texts, and for those that no requirement names, one class for each pattern."""
    patterns = {
        value
        for each in readers
        if isinstance(each, checked_selector.LabelRequirement | checked_selector.FieldRequirement)
        for value in each.values
        if glob_patterns.is_pattern(value)
    }
    if not patterns:
        return list(texts)
    if len(patterns) > pattern_classes.MAX_PATTERNS:
        raise _TooLargeError
    sets = pattern_classes.list_possible_sets(patterns)
    found: list[Value] = []
    for text in texts:
        if isinstance(text, _UnnamedText):
            found += [pattern_classes.TextClass(text, matched) for matched in sets]
        else:
            found.append(text)
    return found


def _choose_representative_versions(
    readers: Sequence[checked_selector.Requirement],
) -> tuple[Value, ...]:
    """Return no version, the lowest one, and those at which a comparison changes its result."""
    bounds = [
        each.bound for each in readers if isinstance(each, checked_selector.VersionRequirement)
    ]
    cuts = sorted({cut for bound in bounds for cut in (bound.low, bound.end)})
    lowest = release_version.ReleaseVersion(0, 0, 0, is_release=False)
    return (None, *(str(each) for each in (lowest, *cuts)))


def _list_required_values(requirement: checked_selector.Requirement) -> tuple[str, ...]:
    return requirement.values if isinstance(requirement, checked_selector.FieldRequirement) else ()


def _choose_representative_texts(readers: Sequence[checked_selector.Requirement]) -> list[Value]:
    """Return the named texts, an integer between any two bounds, and one other text."""
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
                    named.update(value for value in values if not _is_pattern(each, value))
            case _:
                pass
    is_label = isinstance(readers[0], checked_selector.LabelRequirement)
    lowest = 0 if is_label else int64.MIN  # the value of a label begins with a letter or a digit
    starts = sorted({lowest, *(cut for cut in cuts if lowest < cut <= int64.MAX)})
    integers = [_make_unnamed_integer(start, named) for start in starts] if cuts else []
    return [*sorted(named), *integers, _OTHER]


def _make_unnamed_integer(number: int, named: set[str]) -> str:
    """Return a spelling of an integer that no requirement names; leading zeros keep the value."""
    text = str(abs(number))
    while (signed := f"-{text}" if number < 0 else text) in named:
        text = f"0{text}"
    return _UnnamedText(signed)


def _choose_representative_numbers(
    readers: Sequence[checked_selector.Requirement],
) -> tuple[Value, ...]:
    """Return each bound, a number between any two bounds, and a number beyond each end.

    Amounts of resources are never negative. For `limits`, None represents a limit that is not set.
    """
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
    """Return whether a value of the requirement's variable meets the requirement."""
    match requirement:
        case checked_selector.LabelRequirement(has_patterns=True, operator=operator):
            is_in = _matches_patterns(requirement.values, value)
            return is_in is (operator == "In")
        case (
            checked_selector.LabelRequirement(operator=operator, values=values)
            | checked_selector.AnnotationRequirement(operator=operator, values=values)
            | checked_selector.ConditionRequirement(operator=operator, values=values)
        ):
            plain = value.text if isinstance(value, pattern_classes.TextClass) else value
            return _matches_text(operator, values, plain)
        case checked_selector.VersionRequirement(comparator=comparator, bound=bound):
            version = value if isinstance(value, str) else ""
            return comparisons.compare_version(version, comparator, bound)
        case checked_selector.FieldRequirement(field="image" | "storageClass", operator=operator):
            return bool(value) is (operator == "In")
        case checked_selector.FieldRequirement(operator=operator, values=values):
            is_in = value in values or (value != "" and _matches_patterns(values, value))
            return is_in is (operator == "In")
        case checked_selector.NumberRequirement(comparator=comparator, value=bound):
            return isinstance(value, float | int) and _compare_numbers(value, comparator, bound)
        case _:
            return bool(value)


def _matches_patterns(patterns: Sequence[str], value: Value) -> bool:
    """Return whether a text, or each text of a class, matches one of some patterns."""
    if isinstance(value, pattern_classes.TextClass):
        return not value.matched.isdisjoint(patterns)
    return isinstance(value, str) and glob_patterns.matches_any_pattern(patterns, value)


def _matches_text(
    operator: checked_selector.LabelOperator, values: tuple[str, ...], value: Value
) -> bool:
    """Return whether a label value meets an operator; None is an absent label."""
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
    """Return the int64 that Kubernetes parses from the text (strconv.ParseInt), or None."""
    return int64.parse_int64(value) if isinstance(value, str) else None


def _compare_numbers(value: float, comparator: checked_selector.Comparator, bound: float) -> bool:
    """Return whether `value` meets the comparison with `bound`."""
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
