"""Track pods that were placed so recently that metric samples do not include their load.

For each duration in use (`placed adds … for 2m`), `RecentPlacements` contains the pods on each row
that still count. A pod counts from the time when it was scheduled until the duration has passed.
Its row is then logged as a usage change, as if a pod had been removed, so that cached results for
the row are recomputed.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping

from policysched.cluster import change_log
from policysched.cluster.objects import objects, time_text
from policysched.cluster.pods import pod_shape


def get_scheduled_at_seconds(pod: objects.Pod) -> float:
    """Return when a placed pod was scheduled, in seconds since 1970; -inf if unknown.

    This is the transition time of its PodScheduled condition to True, or else `status.startTime`,
    or else its creation.
    """
    scheduled = (
        c.last_transition_time
        for c in pod.status.conditions
        if c.type == "PodScheduled" and c.status == "True"
    )
    said = (next(scheduled, None), pod.status.start_time, pod.metadata.creation_timestamp)
    return next((time_text.parse_rfc3339_seconds(text) for text in said if text), float("-inf"))


class RecentPlacements:
    """The pods that still count, by duration and row."""

    def __init__(self, usage_changes: change_log.ChangeLog[int]) -> None:
        """Start without durations; log rows on which a pod stops counting in `usage_changes`."""
        self._changes = usage_changes
        self._counting: dict[float, _PlacementWindow] = {}

    @property
    def has_durations(self) -> bool:
        """Whether any policy uses a duration."""
        return bool(self._counting)

    def replace_durations(self, seconds: Collection[float]) -> None:
        """Replace the durations, and start without pods."""
        for counting in self._counting.values():
            self._changes.note_changed_items(counting.rows)
        self._counting = {each: _PlacementWindow(each) for each in seconds}

    def add(
        self, info: pod_shape.PodInfo, row: int, placed_at_seconds: float, now_seconds: float
    ) -> None:
        """Count a pod that was placed on a row, for each duration that has not passed."""
        for counting in self._counting.values():
            if placed_at_seconds + counting.seconds > now_seconds:
                counting.add(info, row, placed_at_seconds)

    def remove(self, info: pod_shape.PodInfo) -> None:
        """Stop counting a pod; the caller that removes it from its row logs the usage change."""
        for counting in self._counting.values():
            counting.remove(info.uid)

    def expire_placements(self, now_seconds: float) -> None:
        """Stop counting pods whose duration has passed."""
        for counting in self._counting.values():
            self._changes.note_changed_items(counting.expire_placements(now_seconds))

    def set_times_back(self, seconds: float) -> None:
        """Move all times back by `seconds`, because the clock was set back."""
        for counting in self._counting.values():
            counting.set_times_back(seconds)

    def next_change_seconds(self) -> float | None:
        """Return when the next pod stops counting, in seconds since 1970, or None."""
        ends = [counting.next_end for counting in self._counting.values()]
        return min((end for end in ends if end is not None), default=None)

    def get_rows(self, seconds: float) -> Iterable[int]:
        """Return the rows with pods that count for a duration."""
        counting = self._counting.get(seconds)
        return counting.rows if counting else ()

    def get_pods(self, seconds: float, row: int) -> Mapping[str, pod_shape.PodShape]:
        """Return the pods on a row that count for a duration, as uid → shape."""
        counting = self._counting.get(seconds)
        return counting.get_pods(row) if counting else {}

    def count_pods_by_shape(self, seconds: float, row: int) -> Mapping[pod_shape.PodShape, int]:
        """Return the pods on a row that count for a duration, as shape → number."""
        counting = self._counting.get(seconds)
        return counting.count_pods_by_shape(row) if counting else {}


class _PlacementWindow:
    """The pods that count for one duration."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._on: dict[int, dict[str, pod_shape.PodShape]] = {}
        self._shapes_on: dict[int, dict[pod_shape.PodShape, int]] = {}
        self._places: dict[str, tuple[int, float]] = {}
        self._ends: list[tuple[float, str]] = []

    @property
    def rows(self) -> Collection[int]:
        return self._on.keys()

    @property
    def next_end(self) -> float | None:
        # The heap can contain entries of pods that were removed or added again.
        while self._ends and not self._is_current(*self._ends[0]):
            heapq.heappop(self._ends)
        return self._ends[0][0] if self._ends else None

    def get_pods(self, row: int) -> Mapping[str, pod_shape.PodShape]:
        return self._on.get(row, {})

    def count_pods_by_shape(self, row: int) -> Mapping[pod_shape.PodShape, int]:
        return self._shapes_on.get(row, {})

    def add(self, info: pod_shape.PodInfo, row: int, at_seconds: float) -> None:
        self.remove(info.uid)
        end = at_seconds + self.seconds
        self._on.setdefault(row, {})[info.uid] = info.shape
        shapes = self._shapes_on.setdefault(row, {})
        shapes[info.shape] = shapes.get(info.shape, 0) + 1
        self._places[info.uid] = (row, end)
        heapq.heappush(self._ends, (end, info.uid))

    def remove(self, uid: str) -> int | None:
        """Stop counting a pod; return its row, or None if it is not counted."""
        row, _ = self._places.pop(uid, (None, 0.0))
        if row is None:
            return None
        pods, shapes = self._on[row], self._shapes_on[row]
        shape = pods.pop(uid)
        shapes[shape] -= 1
        if not shapes[shape]:
            del shapes[shape]
        if not pods:
            del self._on[row], self._shapes_on[row]
        return row

    def expire_placements(self, now_seconds: float) -> list[int]:
        rows = []
        while self._ends and self._ends[0][0] <= now_seconds:
            end, uid = heapq.heappop(self._ends)
            row = self.remove(uid) if self._is_current(end, uid) else None
            if row is not None:
                rows.append(row)
        return rows

    def set_times_back(self, seconds: float) -> None:
        self._ends = [(end - seconds, uid) for end, uid in self._ends]
        self._places = {uid: (row, end - seconds) for uid, (row, end) in self._places.items()}

    def _is_current(self, end: float, uid: str) -> bool:
        return self._places.get(uid, (0, None))[1] == end
