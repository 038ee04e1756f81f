"""Log changed rows or objects, for caches that update their results incrementally."""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")

_KEEP = 4096


class ChangeLog(Generic[ItemT]):
    """A numbered list of changes; a cache stores its position and reads the changes after it.

    Only the newest entries are kept, at least 4,096 by default. A reader that is further behind
    gets None and recomputes everything, which is cheaper than updating that many rows.

    Attributes:
        generation: number of the next change.
    """

    def __init__(self, keep: int = _KEEP) -> None:
        """Start without changes; keep at least the newest `keep` entries."""
        self._items: list[ItemT] = []
        self._keep = keep
        self._first_number = 0
        self.generation = 0

    def note_changed_item(self, item: ItemT) -> None:
        """Record that `item` changed."""
        self._items.append(item)
        self.generation += 1
        if len(self._items) > 2 * self._keep:
            self._drop_oldest_changes()

    def note_changed_items(self, items: Collection[ItemT]) -> None:
        """Record that all of `items` changed."""
        self._items.extend(items)
        self.generation = self._first_number + len(self._items)
        if len(self._items) > 2 * self._keep:
            self._drop_oldest_changes()

    def _drop_oldest_changes(self) -> None:
        forgotten = len(self._items) - self._keep
        del self._items[:forgotten]
        self._first_number += forgotten

    def note_everything_changed(self) -> None:
        """Record that everything changed, so that every reader recomputes its results."""
        self._items.clear()
        self._first_number = self.generation = self.generation + 1

    def list_changes_since(self, generation: int) -> list[ItemT] | None:
        """Return the items changed since `generation`, with repeats; None if some were dropped."""
        if generation < self._first_number:
            return None
        return self._items[generation - self._first_number :]


class ChangeLogCursor:
    """The position of a reader in a log, without a reference to the log."""

    __slots__ = ("_generation",)

    def __init__(self) -> None:
        """Start before the first change."""
        # Older than the start of any log, so that the first read returns None.
        self._generation = -1

    def read_changes(self, log: ChangeLog[ItemT]) -> list[ItemT] | None:
        """Return the items changed since the last call, with repeats; None if some were dropped."""
        if log.generation == self._generation:
            return []
        found = log.list_changes_since(self._generation)
        self._generation = log.generation
        return found


class ChangeLogReader(Generic[ItemT]):
    """A reader of one log; its first read returns None."""

    def __init__(self, log: ChangeLog[ItemT]) -> None:
        """Follow `log`."""
        self._log = log
        self._seen = ChangeLogCursor()

    def read_changes(self) -> list[ItemT] | None:
        """Return the items changed since the last call, with repeats; None if some were dropped."""
        return self._seen.read_changes(self._log)
