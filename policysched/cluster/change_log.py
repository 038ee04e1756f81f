"""Which rows changed since a cached vector was computed."""

from __future__ import annotations

_KEEP = 4096


class ChangeLog:
    """A numbered list of changed rows; a cache remembers a number and asks what came after it.

    Only the newest few thousand entries are kept: whoever asks about older ones gets None and
    recomputes everything, which is cheaper than patching that many rows.
    """

    def __init__(self) -> None:
        """Start with nothing changed."""
        self._rows: list[int] = []
        self._first_number = 0

    @property
    def generation(self) -> int:
        """The number that the next change will get."""
        return self._first_number + len(self._rows)

    def touch(self, row: int) -> None:
        """Note that `row` changed."""
        self._rows.append(row)
        if len(self._rows) > 2 * _KEEP:
            del self._rows[:_KEEP]
            self._first_number += _KEEP

    def since(self, generation: int) -> list[int] | None:
        """Return the rows changed since `generation`, with repeats; None when unknown by now."""
        if generation < self._first_number:
            return None
        return self._rows[generation - self._first_number :]
