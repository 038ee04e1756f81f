"""Requirements on the text of a label, annotation or field, of nodes, pods and namespaces alike."""

from __future__ import annotations

import dataclasses

from policysched.cluster.columns import label_column
from policysched.cluster.objects import selectors
from policysched.lang.checked import checked_selector
from policysched.lang.words import glob_patterns


@dataclasses.dataclass(frozen=True, slots=True)
class PatternTest:
    """Whether a text matches one of some patterns.

    Attributes:
        is_negated: whether it must match none of them, or be absent.
        is_field: whether the text is a field, which is unset if it is "".
    """

    key: str
    values: tuple[str, ...]
    is_negated: bool = False
    is_field: bool = False

    @property
    def test(self) -> str:
        """The requirement as text, without the key."""
        return f"{'NotIn' if self.is_negated else 'In'} ({', '.join(self.values)})"

    def matches_value(self, value: str | None) -> bool:
        """Return whether a text meets the requirement; None means that it is absent."""
        if value is None:
            return self.is_negated
        find = glob_patterns.matches_field if self.is_field else glob_patterns.matches_any_pattern
        return find(self.values, value) is not self.is_negated


def make_value_test(
    required: checked_selector.LabelRequirement | checked_selector.AnnotationRequirement,
) -> label_column.ValueTest:
    """Return the test of a value that a requirement on a label or annotation means."""
    if required.has_patterns:
        return PatternTest(required.key, required.values, required.operator == "NotIn")
    operator = selectors.LabelOperator(required.operator)
    return selectors.Requirement(required.key, operator, frozenset(required.values))
