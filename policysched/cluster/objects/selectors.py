"""Represent label selectors in a canonical, hashable form, with Kubernetes' semantics.

Sources: apimachinery `pkg/labels/selector.go` (`Requirement.Matches`), component-helpers
`scheduling/corev1/nodeaffinity`. NotIn and DoesNotExist match an absent key. Gt and Lt require
decimal int64 values on both sides, and are false otherwise.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Mapping

from policysched import int64
from policysched.cluster.objects import objects, selector_errors


class LabelOperator(enum.StrEnum):
    """The label operators of Kubernetes."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


@dataclasses.dataclass(frozen=True, slots=True)
class Requirement:
    """A condition on the label `key`; `values` is empty for Exists and DoesNotExist."""

    key: str
    operator: LabelOperator
    values: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """Return the requirement as text, such as `disk In (ssd)`."""
        return f"{self.key} {self.test}"

    @property
    def test(self) -> str:
        """The requirement as text without the key."""
        values = f" ({', '.join(sorted(self.values))})" if self.values else ""
        return f"{self.operator}{values}"

    def matches_value(self, value: str | None) -> bool:
        """Return whether the requirement matches a value; None means that the label is absent."""
        match self.operator:
            case LabelOperator.IN:
                return value is not None and value in self.values
            case LabelOperator.NOT_IN:
                return value is None or value not in self.values
            case LabelOperator.EXISTS:
                return value is not None
            case LabelOperator.DOES_NOT_EXIST:
                return value is None
            case LabelOperator.GT | LabelOperator.LT:
                return value is not None and self._compares_to_threshold(value)

    def _compares_to_threshold(self, value: str) -> bool:
        actual = int64.parse_int64(value)
        wanted = self.threshold
        if actual is None or wanted is None:
            return False
        return actual > wanted if self.operator is LabelOperator.GT else actual < wanted

    @property
    def threshold(self) -> int | None:
        """The integer to which Gt and Lt compare; None if there is not exactly one integer."""
        if len(self.values) != 1:
            return None
        return int64.parse_int64(next(iter(self.values)))


@dataclasses.dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that are ANDed; without requirements, the selector matches everything."""

    requirements: tuple[Requirement, ...] = ()
    matches_nothing: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether the selector matches an object with these labels."""
        if self.matches_nothing:
            return False
        for each in self.requirements:  # noqa: SIM110 - `all` of a generator takes twice as long
            if not each.matches_value(labels.get(each.key)):
                return False
        return True

    def add_requirements(self, *extra: Requirement) -> Selector:
        """Return a copy of this selector with additional requirements."""
        return dataclasses.replace(
            self, requirements=_sort_requirements((*self.requirements, *extra))
        )


EVERYTHING = Selector()
NOTHING = Selector(matches_nothing=True)


def from_label_selector(selector: objects.LabelSelector | None) -> Selector:
    """Convert a selector to its canonical form (`metav1.LabelSelectorAsSelector`).

    None matches nothing, and so does a selector with a requirement that Kubernetes would reject.
    """
    if selector is None:
        return NOTHING
    from_labels = [
        Requirement(key, LabelOperator.IN, frozenset((value,)))
        for key, value in selector.match_labels.items()
    ]
    from_expressions = [from_requirement(e) for e in selector.match_expressions]
    requirements = [r for r in (*from_labels, *from_expressions) if r is not None]
    if len(requirements) < len(from_labels) + len(from_expressions):
        return NOTHING
    return Selector(_sort_requirements(requirements))


def from_match_labels(labels: Mapping[str, str]) -> Selector:
    """Return the selector for exact `key: value` pairs, such as `spec.nodeSelector`."""
    return from_accepted_values((key, (value,)) for key, value in labels.items())


def from_accepted_values(accepted: Iterable[tuple[str, Iterable[str]]]) -> Selector:
    """Return the selector for labels that have one of some values each."""
    return Selector(
        _sort_requirements(
            Requirement(key, LabelOperator.IN, frozenset(values)) for key, values in accepted
        )
    )


def from_requirement(requirement: objects.SelectorRequirement) -> Requirement | None:
    """Return the canonical requirement, or None if Kubernetes would reject it."""
    try:
        operator = LabelOperator(requirement.operator)
    except ValueError:
        return None
    if selector_errors.find_requirement_errors(requirement):
        return None
    return Requirement(requirement.key, operator, frozenset(requirement.values))


def _sort_requirements(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    unique = set(requirements)
    return tuple(sorted(unique, key=lambda r: (r.key, r.operator, sorted(r.values))))
