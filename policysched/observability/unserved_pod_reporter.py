"""Report pods that no scheduler seems to serve.

In a cluster that also runs kube-scheduler, it is normal that pods with other scheduler names wait,
either briefly or for resources. The gauge therefore counts all of them, and the log warns only
about pods that no scheduler has handled for some time: probably their schedulerName is misspelt, or
its scheduler was removed or is down.
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
"""How long a pod must wait without a condition from any scheduler before it is reported."""
LOOK_SECONDS = 60.0
"""Minimum interval between warnings."""
AGAIN_SECONDS = 3600.0
"""Interval after which the same name is reported again."""
MAX_NAMES = 20
"""Maximum number of names in one warning and in the labels of the gauge."""
OTHERS = "(others)"
"""Label value for all names beyond MAX_NAMES."""

_STANDBY_SECONDS = 5.0
_MAX_NAME_CHARACTERS = 63


class UnservedPodReporter:
    """Warns periodically about unserved pods."""

    def __init__(
        self,
        pods: unserved_pods.UnservedPods,
        clock: clocks.Clock,
        served: Callable[[], Iterable[str]],
        *,
        speaks: Callable[[], bool] = lambda: True,
    ) -> None:
        """Report the pods in `pods`.

        Args:
            pods: tracks the unserved pods.
            clock: the clock for pod ages and intervals.
            served: returns the names of our profiles, for the warning.
            speaks: returns whether this process warns; only one of several replicas should.
        """
        self._pods = pods
        self._clock = clock
        self._served = served
        self._speaks = speaks
        self._told_seconds: dict[str, float] = {}

    async def run(self, synced: asyncio.Event) -> None:
        """Check periodically once pods have been listed (`synced`), until cancelled."""
        await synced.wait()
        while True:
            if self._speaks():
                self.warn_of_unserved_pods()
                await asyncio.sleep(LOOK_SECONDS)
            else:
                await asyncio.sleep(_STANDBY_SECONDS)

    def warn_of_unserved_pods(self) -> None:
        """Log a warning about names that have not been reported within AGAIN_SECONDS."""
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
            self._warn_of_scheduler_names(new)
            self._told_seconds |= dict.fromkeys(new, now_seconds)

    def _warn_of_scheduler_names(self, by_name: dict[str, list[objects.Pod]]) -> None:
        """Log one warning about all names, sorted by their number of pods."""
        largest = sorted(by_name, key=lambda name: (-len(by_name[name]), name))
        told = [
            f"`{name}` ({len(by_name[name])} waiting, such as {by_name[name][0].key})"
            for name in largest[:MAX_NAMES]
        ]
        if len(largest) > MAX_NAMES:
            told.append(f"{len(largest) - MAX_NAMES} further names")
        _log.warning(
            "no scheduler has reacted to pods with the schedulerName %s; profiles here: %s; "
            "correct the pods, or add a profile",
            ", ".join(told),
            ", ".join(f"`{name}`" for name in self._served()),
        )

    def collect_metrics(self) -> Iterator[core.Metric]:
        """Yield the number of pods that no profile serves, keyed by schedulerName."""
        gauge = core.GaugeMetricFamily(
            "policysched_unserved_pods",
            "Pods without a node, with a schedulerName that no profile has.",
            labels=("scheduler_name",),
        )
        by_name: Counter[str] = Counter()
        for number, (name, count) in enumerate(self._pods.count_by_scheduler_name().most_common()):
            by_name[_shorten_scheduler_name(name) if number < MAX_NAMES else OTHERS] += count
        for name, count in by_name.items():
            gauge.add_metric((name,), count)
        yield gauge


def _shorten_scheduler_name(name: str) -> str:
    """Escape and shorten a name, because the API server accepts any text as a name."""
    plain = name.encode("unicode_escape").decode("ascii")
    return plain if len(plain) <= _MAX_NAME_CHARACTERS else f"{plain[:_MAX_NAME_CHARACTERS]}…"
