"""PrioritySort: order pods by priority, then by waiting time.

Source: `plugins/queuesort/priority_sort.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.framework import interface, queued_pod
from policysched.plugins import names


class PrioritySort:
    """Orders pods by priority, then by the time of queueing, then by arrival."""

    name = names.PRIORITY_SORT

    def sort_key(self, pod: queued_pod.QueuedPodInfo) -> tuple[object, ...]:
        """Return (-priority, seconds, sequence); pods with lower keys are scheduled first."""
        return (-pod.info.shape.priority, pod.timestamp_seconds, pod.sequence)


if TYPE_CHECKING:
    _queue_sort: type[interface.QueueSortPlugin] = PrioritySort
