"""Store the requests of placed pods for resources that no node has.

Users who can create pods can invent resource names, thousands in one pod, and can set the node of
the pod. A column over all nodes for each name would take gigabytes. Here, memory is proportional to
the requests of the pods.
"""

from __future__ import annotations

from collections.abc import Mapping

_INT64_VALUES = 2**64


class AbsentResourceRequests:
    """Requested amounts, keyed by resource and row, without zeros."""

    def __init__(self) -> None:
        """Start without requests."""
        self._requested: dict[str, dict[int, int]] = {}

    def __len__(self) -> int:
        """Return the number of requested resources that no node has."""
        return len(self._requested)

    def change_pod_requests(self, row: int, amounts: Mapping[str, int], sign: int) -> None:
        """Add (`sign` 1) or subtract (-1) the requests of one pod on a row."""
        for name, amount in amounts.items():
            by_row = self._requested.setdefault(name, {})
            by_row[row] = by_row.get(row, 0) + sign * amount
            if not by_row[row]:
                del by_row[row]
            if not by_row:
                del self._requested[name]

    def pop_resource(self, name: str) -> dict[int, int]:
        """Remove and return the amounts of a resource that a node now has, keyed by row.

        Sums wrap around at int64, as in the columns and in Go.
        """
        found = self._requested.pop(name, {})
        return {row: _as_int64(amount) for row, amount in found.items()}

    def get_amounts(self, row: int) -> dict[str, int]:
        """Return the requested amounts on one row, keyed by resource."""
        return {name: rows[row] for name, rows in self._requested.items() if row in rows}


def _as_int64(amount: int) -> int:
    half = _INT64_VALUES // 2
    return (amount + half) % _INT64_VALUES - half
