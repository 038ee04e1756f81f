"""Detects selectors that cannot match, and the parts that exclude each other."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

from policysched.lang.checked import checked_selector
from policysched.lint.sets import selector_sets


@dataclasses.dataclass(frozen=True, slots=True)
class Contradiction:
    """A part of a selector that cannot match any object.

    Attributes:
        whole: the part; none of its own parts is contradictory by itself.
        pair: two operands that exclude each other; None if no two suffice.
        is_whole_selector: whether the whole selector cannot match either.
    """

    whole: checked_selector.Selector
    pair: tuple[checked_selector.Selector, checked_selector.Selector] | None
    is_whole_selector: bool

    @property
    def has_number_bounds(self) -> bool:
        """Whether the contradiction involves bounds on a number."""
        parts = self.pair or (self.whole,)
        requirements = (checked_selector.walk_requirements(part) for part in parts)
        return any(map(_is_bound, itertools.chain.from_iterable(requirements)))


def find_contradictions(selector: checked_selector.Selector) -> Iterator[Contradiction]:
    """Yield the smallest parts of a selector that cannot match."""
    is_whole = selector_sets.can_never_match_together(selector)
    for part, pair in _find_contradictory_parts(selector):
        yield Contradiction(part, pair, is_whole)


_Pair = tuple[checked_selector.Selector, checked_selector.Selector] | None


def _find_contradictory_parts(
    selector: checked_selector.Selector,
) -> Iterator[tuple[checked_selector.Selector, _Pair]]:
    """Yield the smallest parts that cannot match, each with its `Contradiction.pair`."""
    match selector:
        case (
            checked_selector.SelectorConjunction(operands=operands)
            | checked_selector.SelectorDisjunction(operands=operands)
        ):
            inner = [part for operand in operands for part in _find_contradictory_parts(operand)]
            yield from inner
            if inner or isinstance(selector, checked_selector.SelectorDisjunction):
                return
        case _:
            pass
    if selector_sets.can_never_match_together(selector):
        yield selector, _find_contradictory_pair(selector)


def _find_contradictory_pair(selector: checked_selector.Selector) -> _Pair:
    if not isinstance(selector, checked_selector.SelectorConjunction):
        return None
    if len(selector.operands) > selector_sets.MAX_OPERANDS:
        return None
    pairs = itertools.combinations(selector.operands, 2)
    return next((pair for pair in pairs if selector_sets.can_never_match_together(*pair)), None)


def _is_bound(requirement: checked_selector.Requirement) -> bool:
    """Return whether a requirement bounds a number."""
    match requirement:
        case (
            checked_selector.LabelRequirement(operator=operator)
            | checked_selector.AnnotationRequirement(operator=operator)
        ):
            return operator in {"Gt", "Lt"}
        case checked_selector.NumberRequirement() | checked_selector.VersionRequirement():
            return True
        case _:
            return False
