"""Counts the labels of nodes or pods to find misspelt keys and values."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from policysched.cluster.objects import objects
from policysched.explaining import suggested_edit

_MOST_VALUES = 5
"""For labels with more values, such as the host name, only similar values are proposed."""


class LabelVocabulary:
    """The label keys and values of nodes or pods, with their frequencies."""

    def __init__(self, having: Iterable[objects.Node | objects.Pod]) -> None:
        """Count the labels of nodes or pods."""
        self._values: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for each in having:
            for key, value in each.metadata.labels.items():
                self._values[key][value] += 1

    def find_similar_keys(self, key: str) -> list[str]:
        """Return keys of which `key` may be a misspelling; none if an object has `key`."""
        return [] if key in self._values else suggested_edit.find_similar_words(key, self._values)

    def list_values_by_frequency(self, key: str) -> list[str]:
        """Return the values of a key, the most frequent first."""
        return [value for value, _ in self._values.get(key, Counter()).most_common()]

    def find_other_values(self, key: str, value: str) -> list[str]:
        """Return the other values of a key: similar ones first, then all if there are few."""
        found = self._values.get(key, Counter())
        near = suggested_edit.find_similar_words(value, found) if value not in found else []
        common = self.list_values_by_frequency(key) if len(found) <= _MOST_VALUES else []
        return [each for each in dict.fromkeys([*near, *common]) if each != value]

    def is_probable_misspelling(self, key: str, value: str, other: str) -> bool:
        """Return whether `value` does not occur and is similar to `other`."""
        found = self._values.get(key, Counter())
        return value not in found and other in suggested_edit.find_similar_words(value, found)
