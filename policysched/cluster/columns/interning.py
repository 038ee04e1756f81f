"""Map hashable values to small dense numbers, so that columns hold integers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT", bound=Hashable)


class Interner(Generic[ValueT]):
    """Numbers values 0, 1, 2, … in the order of their first occurrence."""

    def __init__(self) -> None:
        """Start empty."""
        self.values: list[ValueT] = []
        self._ids: dict[ValueT, int] = {}

    def __len__(self) -> int:
        """Return the number of known values."""
        return len(self.values)

    def intern(self, value: ValueT) -> int:
        """Return the number of `value`; a new value gets the next number."""
        known = self._ids.get(value)
        if known is None:
            known = self._ids[value] = len(self.values)
            self.values.append(value)
        return known

    def find(self, value: ValueT) -> int | None:
        """Return the number of `value`, or None if it was never interned."""
        return self._ids.get(value)
