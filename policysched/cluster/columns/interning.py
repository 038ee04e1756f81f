"""Small dense numbers for hashable values, so that columns hold integers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT", bound=Hashable)


class Interner(Generic[ValueT]):
    """Numbers values 0, 1, 2, … in the order in which they are first seen."""

    def __init__(self) -> None:
        """Start empty."""
        self.values: list[ValueT] = []
        self._ids: dict[ValueT, int] = {}

    def __len__(self) -> int:
        """Return how many values are known."""
        return len(self.values)

    def intern(self, value: ValueT) -> int:
        """Return the number of `value`, a new one when it was not seen before."""
        known = self._ids.get(value)
        if known is None:
            known = self._ids[value] = len(self.values)
            self.values.append(value)
        return known

    def find(self, value: ValueT) -> int | None:
        """Return the number of `value`, or None when it was never interned."""
        return self._ids.get(value)
