"""A priority queue whose items can also be removed or replaced by uid."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

ItemT = TypeVar("ItemT")

SortKey: TypeAlias = tuple[Any, ...]
"""A key that orders the items of a heap; keys are compared element by element.

All keys of a heap have the same length, and elements at the same position must be comparable.
"""

_MIN_STALE = 64


class Heap(Generic[ItemT]):
    """Items keyed by uid; the item with the smallest sort key is first.

    The list for `heapq` contains (*sort key, ticket, uid); comparing a nested key would take twice
    as long. Removing an item by uid only drops it from `_live`. Its entry, whose ticket is now
    unknown, is skipped when it becomes the first entry, and dropped when stale entries outnumber
    the others. Therefore push, remove and pop are O(log n) amortised, and `heapq` runs in C.
    """

    def __init__(self, sort_key: Callable[[ItemT], SortKey]) -> None:
        """Order items by `sort_key`, which must give distinct items distinct keys."""
        self._sort_key = sort_key
        self._entries: list[tuple[Any, ...]] = []
        self._live: dict[str, tuple[int, SortKey, ItemT]] = {}
        self._last_ticket = 0

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._live)

    def __contains__(self, uid: str) -> bool:
        """Return whether an item has this uid."""
        return uid in self._live

    def __iter__(self) -> Iterator[ItemT]:
        """Iterate over all items, in no particular order."""
        return (item for _, _, item in self._live.values())

    def get(self, uid: str) -> ItemT | None:
        """Return the item with this uid, or None."""
        found = self._live.get(uid)
        return found[2] if found else None

    def push(self, uid: str, item: ItemT) -> None:
        """Add or replace an item at the position of its current sort key."""
        key = self._sort_key(item)
        old = self._live.get(uid)
        if old is not None and old[1] == key:
            self._live[uid] = (old[0], key, item)
            return
        self._last_ticket += 1
        self._live[uid] = (self._last_ticket, key, item)
        heapq.heappush(self._entries, (*key, self._last_ticket, uid))
        self._drop_replaced_items()

    def remove(self, uid: str) -> ItemT | None:
        """Remove and return the item with this uid, or None."""
        found = self._live.pop(uid, None)
        return found[2] if found else None

    def peek(self) -> ItemT | None:
        """Return the first item, or None."""
        while self._entries:
            ticket, uid = self._entries[0][-2:]
            live = self._live.get(uid)
            if live is not None and live[0] == ticket:
                return live[2]
            heapq.heappop(self._entries)
        return None

    def pop(self) -> ItemT | None:
        """Remove and return the first item, or None."""
        while self._entries:
            ticket, uid = heapq.heappop(self._entries)[-2:]
            live = self._live.get(uid)
            if live is not None and live[0] == ticket:
                del self._live[uid]
                return live[2]
        return None

    def _drop_replaced_items(self) -> None:
        if len(self._entries) > 2 * len(self._live) + _MIN_STALE:
            self._entries = [(*key, ticket, uid) for uid, (ticket, key, _) in self._live.items()]
            heapq.heapify(self._entries)
