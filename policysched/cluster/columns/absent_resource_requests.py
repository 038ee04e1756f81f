"""What placed pods request of resources that no node has.

Anybody who may create pods may invent names of resources, thousands in one pod, and may name the
pod's node. A column each, over all nodes, would be gigabytes; here they cost what the pods do.
"""

from __future__ import annotations

from collections.abc import Mapping

_INT64_VALUES = 2**64


class AbsentResourceRequests:
    """Requested amounts by resource and row, without zeros."""

    def __init__(self) -> None:
        """Start with nothing requested."""
        self._requested: dict[str, dict[int, int]] = {}

    def __len__(self) -> int:
        """Return how many resources are requested that no node has."""
        return len(self._requested)

    def change_pod_requests(self, row: int, amounts: Mapping[str, int], sign: int) -> None:
        """Add what a pod requests on a row (1), or take it back (-1)."""
        for name, amount in amounts.items():
            by_row = self._requested.setdefault(name, {})
            by_row[row] = by_row.get(row, 0) + sign * amount
            if not by_row[row]:
                del by_row[row]
            if not by_row:
                del self._requested[name]

    def pop_resource(self, name: str) -> dict[int, int]:
        """Forget a resource that a node has from now on; return what is requested of it, by row.

        Sums are cut to int64 as in columns, and in Go.
        """
        found = self._requested.pop(name, {})
        return {row: _as_int64(amount) for row, amount in found.items()}

    def get_amounts(self, row: int) -> dict[str, int]:
        """Return what is requested on one row, by resource."""
        return {name: rows[row] for name, rows in self._requested.items() if row in rows}


def _as_int64(amount: int) -> int:
    half = _INT64_VALUES // 2
    return (amount + half) % _INT64_VALUES - half
