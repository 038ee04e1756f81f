"""Tells of pods that nobody schedules: no profile serves them, and no other scheduler seems to.

Beside kube-scheduler it is normal that pods of other names wait for a moment, or for room. So the
gauge counts all of them, and the log names those alone of which no scheduler has said anything for
a while: their schedulerName is misspelt, or whoever had it is gone.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import core

from policysched import clock as clocks
from policysched.cluster.objects import objects
from policysched.scheduler import unserved_pods

_log = logging.getLogger("policysched")

PATIENCE_SECONDS = 30.0
"""How long a pod waits without a word of any scheduler before it is told of."""
LOOK_SECONDS = 60.0
"""There is one warning in this time at most."""
AGAIN_SECONDS = 3600.0
"""A name is told of again after this time."""
MAX_NAMES = 20
"""Names that are told one by one: labels of the gauge, and of a warning."""
OTHERS = "(others)"
"""The label of pods with further names; no schedulerName has brackets."""

_STANDBY_SECONDS = 5.0
_MAX_NAME_CHARACTERS = 63


class UnservedPodReporter:
    """Looks at unserved pods from time to time."""

    def __init__(
        self,
        pods: unserved_pods.UnservedPods,
        clock: clocks.Clock,
        served: Callable[[], Iterable[str]],
        *,
        speaks: Callable[[], bool] = lambda: True,
    ) -> None:
        """Watch `pods`.

        Args:
            pods: what there is.
            clock: the time.
            served: returns the names of our profiles.
            speaks: whether warnings are ours to write: of several equal processes one does.
        """
        self._pods = pods
        self._clock = clock
        self._served = served
        self._speaks = speaks
        self._told_seconds: dict[str, float] = {}

    async def run(self, synced: asyncio.Event) -> None:
        """Look once pods have been listed, and then again and again until cancelled."""
        await synced.wait()
        while True:
            if self._speaks():
                self.warn_of_unserved_pods()
                await asyncio.sleep(LOOK_SECONDS)
            else:
                await asyncio.sleep(_STANDBY_SECONDS)

    def warn_of_unserved_pods(self) -> None:
        """Warn of names that have not been told of for a while."""
        now_seconds = self._clock.monotonic_seconds()
        self._told_seconds = {
            name: told
            for name, told in self._told_seconds.items()
            if now_seconds - told < AGAIN_SECONDS
        }
        by_name: dict[str, list[objects.Pod]] = {}
        for pod in self._pods.list_ignored_pods(self._clock.now().timestamp() - PATIENCE_SECONDS):
            by_name.setdefault(_shorten_scheduler_name(pod.spec.scheduler_name), []).append(pod)
        new = {name: pods for name, pods in by_name.items() if name not in self._told_seconds}
        if new:
            self._warn_of_names(new)
            self._told_seconds |= dict.fromkeys(new, now_seconds)

    def _warn_of_names(self, by_name: dict[str, list[objects.Pod]]) -> None:
        largest = sorted(by_name, key=lambda name: (-len(by_name[name]), name))
        told = [
            f"`{name}` ({len(by_name[name])} waiting, such as {by_name[name][0].key})"
            for name in largest[:MAX_NAMES]
        ]
        if len(largest) > MAX_NAMES:
            told.append(f"{len(largest) - MAX_NAMES} further names")
        _log.warning(
            "no scheduler answers pods with the schedulerName %s; profiles here: %s; mend the "
            "pods, or add a profile",
            ", ".join(told),
            ", ".join(f"`{name}`" for name in self._served()),
        )

    def collect_metrics(self) -> Iterator[core.Metric]:
        """Yield how many pods wait for others, by schedulerName."""
        gauge = core.GaugeMetricFamily(
            "policysched_unserved_pods",
            "Pods without a node whose schedulerName no profile has.",
            labels=("scheduler_name",),
        )
        by_name: Counter[str] = Counter()
        for number, (name, count) in enumerate(self._pods.count_by_scheduler_name().most_common()):
            by_name[_shorten_scheduler_name(name) if number < MAX_NAMES else OTHERS] += count
        for name, count in by_name.items():
            gauge.add_metric((name,), count)
        yield gauge


def _shorten_scheduler_name(name: str) -> str:
    """Return a name on one line and cut: the API server takes any text as a schedulerName."""
    plain = name.encode("unicode_escape").decode("ascii")
    return plain if len(plain) <= _MAX_NAME_CHARACTERS else f"{plain[:_MAX_NAME_CHARACTERS]}…"
