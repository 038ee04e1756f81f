"""The order in which Go's `sort.Slice` leaves elements that it takes for equal.

It is pattern-defeating quicksort (https://arxiv.org/abs/2106.05123), which is not stable but always
does the same. Where kube-scheduler sorts so, the order of equals decides, and this gives the same.
The numbers are those of Go's package `sort`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

ItemT = TypeVar("ItemT")
Less: TypeAlias = Callable[[ItemT, ItemT], bool]

_INSERTED_UP_TO = 12
_NINTHER_FROM = 50
_SHIFTED_FROM = 50
_MAX_SHIFTS = 5
_ALL_SWAPPED = 12
_WORD = 2**64 - 1


def ordered(items: Sequence[ItemT], less: Callable[[ItemT, ItemT], bool]) -> list[ItemT]:
    """Return `items` sorted by `less`, which need not be consistent."""
    found = list(items)
    _Quicksort(found, less).sort(0, len(found), len(found).bit_length())
    return found


class _Quicksort:
    """Sorts a list in place; ranges are half open."""

    def __init__(self, items: list[ItemT], less: Callable[[ItemT, ItemT], bool]) -> None:
        self._items = items
        self._less = less

    def _is_less(self, one: int, other: int) -> bool:
        return self._less(self._items[one], self._items[other])

    def _swap(self, one: int, other: int) -> None:
        items = self._items
        items[one], items[other] = items[other], items[one]

    def sort(self, low: int, high: int, bad_left: int) -> None:
        """Sort a range; after `bad_left` unbalanced partitions it is left to heapsort."""
        was_balanced = was_partitioned = True
        while high - low > _INSERTED_UP_TO:
            if bad_left == 0:
                self._heapsort(low, high)
                return
            if not was_balanced:
                self._scatter(low, high)
                bad_left -= 1
            pivot, swaps = self._choose_pivot(low, high)
            is_rising = swaps == 0
            if swaps == _ALL_SWAPPED:
                self._items[low:high] = self._items[low:high][::-1]
                pivot = high - 1 - (pivot - low)
                is_rising = True
            if was_balanced and was_partitioned and is_rising and self._shift_few(low, high):
                return
            if low > 0 and not self._is_less(low - 1, pivot):
                low = self._part_equals(low, high, pivot)
                continue
            middle, was_partitioned = self._part(low, high, pivot)
            left, right = middle - low, high - middle
            was_balanced = min(left, right) >= (high - low) // 8
            if left < right:
                self.sort(low, middle, bad_left)
                low = middle + 1
            else:
                self.sort(middle + 1, high, bad_left)
                high = middle
        self._insert(low, high)

    def _insert(self, low: int, high: int) -> None:
        for begin in range(low + 1, high):
            position = begin
            while position > low and self._is_less(position, position - 1):
                self._swap(position, position - 1)
                position -= 1

    def _choose_pivot(self, low: int, high: int) -> tuple[int, int]:
        """Return the median of three elements, or of nine, and how many pairs were out of order."""
        length = high - low
        chosen = [low + length // 4 * quarter for quarter in (1, 2, 3)]
        swaps = 0
        if length >= _NINTHER_FROM:
            for number, position in enumerate(chosen):
                chosen[number], more = self._median(position - 1, position, position + 1)
                swaps += more
        median, more = self._median(*chosen)
        return median, swaps + more

    def _median(self, one: int, two: int, three: int) -> tuple[int, int]:
        swaps = 0
        if self._is_less(two, one):
            one, two, swaps = two, one, swaps + 1
        if self._is_less(three, two):
            two, three, swaps = three, two, swaps + 1
        if self._is_less(two, one):
            one, two, swaps = two, one, swaps + 1
        return two, swaps

    def _part(self, low: int, high: int, pivot: int) -> tuple[int, bool]:
        """Move what is less than the pivot before it; return its place, and if nothing moved."""
        self._swap(low, pivot)
        left, right = low + 1, high - 1
        moved = 0
        while True:
            while left <= right and self._is_less(left, low):
                left += 1
            while left <= right and not self._is_less(right, low):
                right -= 1
            if left > right:
                break
            self._swap(left, right)
            left, right, moved = left + 1, right - 1, moved + 1
        self._swap(right, low)
        return right, moved == 0

    def _part_equals(self, low: int, high: int, pivot: int) -> int:
        """Move what equals the pivot to the front, nothing being less; return where it ends."""
        self._swap(low, pivot)
        left, right = low + 1, high - 1
        while True:
            while left <= right and not self._is_less(low, left):
                left += 1
            while left <= right and self._is_less(low, right):
                right -= 1
            if left > right:
                return left
            self._swap(left, right)
            left, right = left + 1, right - 1

    def _shift_few(self, low: int, high: int) -> bool:
        """Repair a nearly sorted range; False when it is not, or is too short to be worth it."""
        position = low + 1
        for _ in range(_MAX_SHIFTS):
            while position < high and not self._is_less(position, position - 1):
                position += 1
            if position == high:
                return True
            if high - low < _SHIFTED_FROM:
                return False
            self._swap(position, position - 1)
            self._shift_down(position - 1, low)
            self._shift_up(position + 1, high)
        return False

    def _shift_down(self, position: int, low: int) -> None:
        if position > low:
            while position >= 1 and self._is_less(position, position - 1):
                self._swap(position, position - 1)
                position -= 1

    def _shift_up(self, position: int, high: int) -> None:
        while position < high and self._is_less(position, position - 1):
            self._swap(position, position - 1)
            position += 1

    def _scatter(self, low: int, high: int) -> None:
        """Swap three elements with others, by xorshift."""
        length = high - low
        state = length
        for position in range(low + length // 4 * 2 - 1, low + length // 4 * 2 + 2):
            state ^= state << 13 & _WORD
            state ^= state >> 7
            state ^= state << 17 & _WORD
            other = state & ((1 << length.bit_length()) - 1)
            self._swap(position, low + (other - length if other >= length else other))

    def _heapsort(self, low: int, high: int) -> None:
        length = high - low
        for root in range((length - 1) // 2, -1, -1):
            self._sift_down(root, length, low)
        for last in range(length - 1, -1, -1):
            self._swap(low, low + last)
            self._sift_down(0, last, low)

    def _sift_down(self, root: int, end: int, low: int) -> None:
        while (child := 2 * root + 1) < end:
            if child + 1 < end and self._is_less(low + child, low + child + 1):
                child += 1
            if not self._is_less(low + root, low + child):
                return
            self._swap(low + root, low + child)
            root = child
