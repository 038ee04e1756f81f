"""One node as plain numbers: where a single row changed, NumPy costs more than it saves."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policysched.cluster import snapshot as snapshots

_INT64_SPAN = 2**64
_INT64_END = 2**63


class NodeRow:
    """A node that a plugin is asked about alone.

    Amounts are Python integers, read once. It must not be kept: `Snapshot.at_row` makes another
    one when anything has changed.

    Attributes:
        known: what those who ask have worked out, for others who ask for the same.
    """

    def __init__(self, snapshot: snapshots.Snapshot, row: int) -> None:
        """View `row` of `snapshot`."""
        self.snapshot = snapshot
        self.row = row
        self.known: dict[str, float] = {}
        self._nodes = snapshot.nodes

    @functools.cached_property
    def allocatable(self) -> list[int]:
        """R amounts: milli-CPU, bytes or pieces."""
        found: list[int] = self._nodes.allocatable[self.row].tolist()
        return found

    @functools.cached_property
    def requested(self) -> list[int]:
        """R amounts: what placed pods request."""
        found: list[int] = self._nodes.requested[self.row].tolist()
        return found

    @functools.cached_property
    def nonzero_requested(self) -> list[int]:
        """Milli-CPU and bytes of memory, defaults counted."""
        found: list[int] = self._nodes.nonzero_requested[self.row].tolist()
        return found

    @property
    def pod_count(self) -> int:
        """Placed pods."""
        return self._nodes.pod_count.item(self.row)

    @property
    def allowed_pods(self) -> int:
        """Allocatable `pods`."""
        return self._nodes.allowed_pods.item(self.row)

    def allocatable_of(self, resource: str) -> int:
        """Return the amount of a resource, `pods` too; 0 of one that no node has."""
        if resource == "pods":
            return self.allowed_pods
        column = self._nodes.resources.find(resource)
        return 0 if column is None else self.allocatable[column]

    def requested_of(self, resource: str) -> int:
        """Return what placed pods request of a resource, `pods` too; 0 of one that no node has."""
        if resource == "pods":
            return self.pod_count
        column = self._nodes.resources.find(resource)
        return 0 if column is None else self.requested[column]

    def free_of(self, resource: str) -> int:
        """Return the difference; beyond 64 bits it overflows as it does for many rows."""
        free = self.allocatable_of(resource) - self.requested_of(resource)
        return (free + _INT64_END) % _INT64_SPAN - _INT64_END
