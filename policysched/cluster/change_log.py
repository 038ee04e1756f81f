"""Which rows, or objects, changed since something was computed from them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")

_KEEP = 4096


class ChangeLog(Generic[ItemT]):
    """A numbered list of what changed; a cache remembers a number and asks what came after it.

    Only the newest entries are kept, mostly a few thousand: whoever asks about older ones gets None
    and recomputes everything, which is cheaper than patching that many rows.

    Attributes:
        generation: the number that the next change will get.
    """

    def __init__(self, keep: int = _KEEP) -> None:
        """Start with nothing changed; the newest `keep` entries are kept at least."""
        self._items: list[ItemT] = []
        self._keep = keep
        self._first_number = 0
        self.generation = 0

    def note_changed_item(self, item: ItemT) -> None:
        """Note that `item` changed."""
        self._items.append(item)
        self.generation += 1
        if len(self._items) > 2 * self._keep:
            self._drop_oldest_changes()

    def note_changed_items(self, items: Collection[ItemT]) -> None:
        """Note that all of `items` changed."""
        self._items.extend(items)
        self.generation = self._first_number + len(self._items)
        if len(self._items) > 2 * self._keep:
            self._drop_oldest_changes()

    def _drop_oldest_changes(self) -> None:
        forgotten = len(self._items) - self._keep
        del self._items[:forgotten]
        self._first_number += forgotten

    def note_everything_changed(self) -> None:
        """Note that whatever there is changed: everybody recomputes."""
        self._items.clear()
        self._first_number = self.generation = self.generation + 1

    def list_changes_since(self, generation: int) -> list[ItemT] | None:
        """Return what changed since `generation`, with repeats; None when unknown by now."""
        if generation < self._first_number:
            return None
        return self._items[generation - self._first_number :]


class ChangeLogCursor:
    """How far somebody has read a log that it does not hold."""

    __slots__ = ("_generation",)

    def __init__(self) -> None:
        """Start with nothing read."""
        self._generation = -1

    def read_changes(self, log: ChangeLog[ItemT]) -> list[ItemT] | None:
        """Return what changed since the last time, with repeats; None when unknown by now."""
        if log.generation == self._generation:
            return []
        found = log.list_changes_since(self._generation)
        self._generation = log.generation
        return found


class ChangeLogReader(Generic[ItemT]):
    """Reads one log, of which nothing is known at first."""

    def __init__(self, log: ChangeLog[ItemT]) -> None:
        """Follow `log`."""
        self._log = log
        self._seen = ChangeLogCursor()

    def read_changes(self) -> list[ItemT] | None:
        """Return what changed since the last time, with repeats; None when unknown by now."""
        return self._seen.read_changes(self._log)
