"""Whether selectors on labels can match, by trying every object of a small world."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from policysched.lang.checked import checked_selector
from tests.reference import policy_selectors


def objects(keys: Sequence[str], values: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield every object that has some of the labels, each with one of the values."""
    for chosen in itertools.product([None, *values], repeat=len(keys)):
        yield {key: value for key, value in zip(keys, chosen, strict=True) if value is not None}


def matches(selector: checked_selector.Selector, labels: dict[str, str]) -> bool:
    """Return whether an object with these labels matches."""
    match selector:
        case checked_selector.SelectorConjunction(operands=operands):
            return all(matches(each, labels) for each in operands)
        case checked_selector.SelectorDisjunction(operands=operands):
            return any(matches(each, labels) for each in operands)
        case checked_selector.SelectorNegation(operand=operand):
            return not matches(operand, labels)
        case checked_selector.LabelRequirement(key=key, operator=operator, values=values):
            return policy_selectors.pattern_holds(operator, values, labels.get(key))
        case _:
            raise NotImplementedError(selector)
