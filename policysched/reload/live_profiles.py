"""Manage the profiles of a running scheduler, and retry pods when verdicts change over time."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NoReturn

from policysched import clock as clocks
from policysched.framework import events, profile, runtime
from policysched.framework.answers import shape_answers
from policysched.inputs import metrics_source
from policysched.profiles import policies
from policysched.scheduler import scheduler as schedulers

if TYPE_CHECKING:
    from policysched.compiler.metrics import readings

_log = logging.getLogger("policysched")

_LONGEST_SLEEP_SECONDS = 60.0
"""Maximum sleep of timers that depend on the wall clock, because the clock can be set."""
_METRICS_LOOK_SECONDS = 1.0
"""Maximum delay of a retry after a sample has become stale."""
_POLICY_CHANGE = events.ClusterEvent(events.EventResource.POLICY, events.ActionType.UPDATE_OTHER)


class LiveProfiles:
    """Passes the same profiles to the scheduler and to the source of metrics.

    Attributes:
        policy_set: the policies of the current profiles.
        current: the profiles in use.
    """

    def __init__(
        self,
        scheduler: schedulers.Scheduler,
        metrics: metrics_source.MetricsSource | None,
        clock: clocks.Clock,
        rng: random.Random,
        *,
        shapes_kept: int = shape_answers.MAX_SHAPES,
        require: Callable[[Collection[profile.Profile]], None] = lambda _: None,
    ) -> None:
        """Start without profiles; call `use_version` before any other method.

        Args:
            scheduler: uses the profiles.
            metrics: provides the metrics that the profiles read; None without a source.
            clock: its wall clock determines when rules begin and cease to act.
            rng: breaks ties between nodes.
            shapes_kept: see `runtime.Framework`.
            require: raises ConfigurationError for profiles that cannot be used now.
        """
        self.policy_set: policies.PolicySet
        self.current: policies.Profiles
        self._scheduler = scheduler
        self._metrics = metrics
        self._clock = clock
        self._rng = rng
        self._shapes_kept = shapes_kept
        self._require = require
        self._changed = asyncio.Event()
        self._served: frozenset[str] = frozenset()

    def use_version(self, policy_set: policies.PolicySet, profiles: policies.Profiles) -> None:
        """Use `profiles`, made from `policy_set`, starting with the next pod.

        Raises:
            ConfigurationError: the profiles cannot be used now, or a metric has no source; in
                either case nothing has changed.
        """
        self._require(profiles.by_name.values())
        if self._metrics is not None:
            histories = profiles.metric_needs.histories
            window_seconds = {key: need.seconds for key, need in histories.items()}
            self._metrics.set_metrics(policy_set.node_metrics, window_seconds)
        elif policy_set.node_metrics:
            _log.warning(
                "the policies read metrics, but no source is configured, so they are missing "
                "on all nodes; give --prometheus URL, or set `prometheus` in the configuration"
            )
        frameworks = {
            name: runtime.Framework(
                prof,
                self._rng,
                shapes_kept=self._shapes_kept,
                has_extenders=self._scheduler.has_extenders,
            )
            for name, prof in profiles.by_name.items()
        }
        self._scheduler.set_profiles(frameworks, profiles.annotation_keys, profiles.metric_needs)
        self.policy_set, self.current = policy_set, profiles
        self._changed.set()
        self._warn_of_removed_profiles()

    def _warn_of_removed_profiles(self) -> None:
        """Warn about removed profiles, because no other message reports that their pods wait."""
        names = frozenset(self.current.by_name)
        waiting = self._scheduler.events.pods.unserved.count_by_scheduler_name()
        for name in sorted(self._served - names):
            _log.warning(
                "the profile `%s` no longer exists; %d waiting pods with this schedulerName "
                "stay Pending unless another scheduler serves them",
                name,
                waiting[name],
            )
        self._served = names

    async def wait_for_metrics(self, news: asyncio.Event | None = None) -> None:
        """Pause scheduling until new metrics have been queried once, for a few seconds at most.

        Without values, rules would be ignored as in an outage, and waiting pods would be placed
        without metrics. The pause is needed at startup, and for a new version of the policies with
        other queries. The event `news`, which signals another version, ends the wait.
        """
        if self._metrics is not None:
            await metrics_source.pause_for_first_samples(self._metrics, self._scheduler, news)

    def get_profiles(self) -> Collection[profile.Profile]:
        """Return the profiles in use."""
        return self.current.by_name.values()

    def get_metric_readers(self) -> tuple[readings.MetricReader, ...]:
        """Return the readers of the metrics that the rules in use query."""
        return self.current.metric_readers

    async def retry_at_rule_changes(self) -> NoReturn:
        """Retry rejected pods whenever the time makes a rule active or inactive."""
        while True:
            self._changed.clear()
            now = self._clock.now()
            change = self.current.next_change(now)
            seconds = _LONGEST_SLEEP_SECONDS if change is None else (change - now).total_seconds()
            if await self._wait_for_profile_change(min(seconds, _LONGEST_SLEEP_SECONDS)):
                continue
            if change is not None and self._clock.now() >= change:
                self._scheduler.queue.move_all_to_active_or_backoff(_POLICY_CHANGE, None, None)

    async def _wait_for_profile_change(self, seconds: float) -> bool:
        """Return True as soon as the profiles change, or False after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def retry_at_sample_expiry(self) -> NoReturn:
        """Retry rejected pods when samples become stale or recent placements expire.

        A refresh of samples retries pods by itself; this handles samples that are no longer
        refreshed.
        """
        while True:
            before = self.current.next_metric_change(self._scheduler.cache.snapshot())
            await asyncio.sleep(_METRICS_LOOK_SECONDS)
            if before is not None and self._clock.now() >= before:
                self._scheduler.events.expire_samples()
