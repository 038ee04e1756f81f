"""Compute the elapsed times of pods and nodes that policies read.

Policies compare three times with constants: how long a pod has waited, its age, and the age of a
node. All count whole seconds, so an answer changes only when a time reaches a known bound.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from policysched.cluster.objects import objects, time_text

_GATED = "SchedulingGated"


class PodTimes(NamedTuple):
    """The times of a pod.

    As part of a shape, each is rounded down to the last bound that it has reached, or to 0.
    """

    waiting_seconds: int = 0
    age_seconds: int = 0


NO_TIMES = PodTimes()


@dataclasses.dataclass(frozen=True, slots=True)
class TimeBounds:
    """The positive whole seconds at which answers of policies change, in ascending order.

    Attributes:
        waiting: of the time since the first attempt to schedule a pod.
        pod_age: of the time since the creation of the pod.
        node_age: of the time since the creation of a node.
    """

    waiting: tuple[int, ...] = ()
    pod_age: tuple[int, ...] = ()
    node_age: tuple[int, ...] = ()

    @property
    def is_of_pods(self) -> bool:
        """Whether a time of pods has a bound."""
        return bool(self.waiting or self.pod_age)

    def find_times(self, pod: objects.Pod, first_tried: int | None, now_seconds: float) -> PodTimes:
        """Return the rounded times of a pod that was first tried at `first_tried`, if at all."""
        if not self.is_of_pods:
            return NO_TIMES
        times = measure_times(pod, first_tried, now_seconds)
        return PodTimes(
            _round_down(self.waiting, times.waiting_seconds),
            _round_down(self.pod_age, times.age_seconds),
        )

    def find_next_change(
        self, pod: objects.Pod, first_tried: int | None, now_seconds: float
    ) -> float | None:
        """Return when a time of a pod next reaches a bound, in seconds since 1970; None if never.

        `first_tried` is None if no scheduler has tried the pod.
        """
        moments = [] if first_tried is None else [first_tried + each for each in self.waiting]
        if self.pod_age:
            moments += list_age_changes(pod.metadata, self.pod_age)
        return min((moment for moment in moments if moment > now_seconds), default=None)


NO_BOUNDS = TimeBounds()


def join_bounds(every: Iterable[TimeBounds]) -> TimeBounds:
    """Return all bounds together."""
    bounds = list(every)
    return TimeBounds(
        _join(each.waiting for each in bounds),
        _join(each.pod_age for each in bounds),
        _join(each.node_age for each in bounds),
    )


def measure_times(pod: objects.Pod, first_tried: int | None, now_seconds: float) -> PodTimes:
    """Return the times of a pod that was first tried at `first_tried`, if at all."""
    waiting = 0 if first_tried is None else max(0, math.floor(now_seconds) - first_tried)
    return PodTimes(waiting, compute_age_seconds(pod.metadata, now_seconds))


def find_first_try_seconds(pod: objects.Pod) -> int | None:
    """Return when a scheduler first tried the pod, in seconds since 1970; None if none has.

    This is the transition time of a PodScheduled condition that is False, or the creation of the
    pod if the condition has no time. Scheduling gates write this condition, too, before a scheduler
    sees the pod.
    """
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            if condition.reason == _GATED:
                return None
            written = condition.last_transition_time or pod.metadata.creation_timestamp
            return _parse_whole_seconds(written)
    return None


def find_creation_seconds(metadata: objects.ObjectMeta) -> int | None:
    """Return when an object was created, in seconds since 1970; None if that is unknown."""
    return _parse_whole_seconds(metadata.creation_timestamp)


def compute_age_seconds(metadata: objects.ObjectMeta, now_seconds: float) -> int:
    """Return the age of an object, 0 if its creation is unknown or in the future."""
    created = find_creation_seconds(metadata)
    return 0 if created is None else max(0, math.floor(now_seconds) - created)


def list_age_changes(metadata: objects.ObjectMeta, bounds: Sequence[int]) -> Iterator[int]:
    """Yield when an object reaches each of some ages, in seconds since 1970."""
    created = find_creation_seconds(metadata)
    if created is not None:
        yield from (created + bound for bound in bounds)


def _parse_whole_seconds(text: str | None) -> int | None:
    seconds = time_text.parse_rfc3339_seconds(text) if text else -math.inf
    return math.floor(seconds) if math.isfinite(seconds) else None


def _round_down(bounds: Sequence[int], seconds: int) -> int:
    reached = bisect.bisect_right(bounds, seconds)
    return bounds[reached - 1] if reached else 0


def _join(bounds: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted(set(itertools.chain.from_iterable(bounds))))
