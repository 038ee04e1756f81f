"""Manage the profiles of a running scheduler, and retry pods when verdicts change over time.

During a rollout there are two versions, each with its own frameworks: the version in force, and a
staged one that decides about a part of the pods. Metrics and annotations are those of both.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import random
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, NoReturn

from policysched import clock as clocks
from policysched.cluster import metric_needs
from policysched.cluster.objects import objects
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


@dataclasses.dataclass(frozen=True, slots=True)
class StagedVersion:
    """A new version of the policies that is not in force yet.

    Attributes:
        policy_set: its policies.
        profiles: its profiles.
        frameworks: the frameworks of its profiles, keyed by schedulerName.
        decides_about: returns whether the version decides about a pod.
    """

    policy_set: policies.PolicySet
    profiles: policies.Profiles
    frameworks: Mapping[str, runtime.Framework]
    decides_about: Callable[[objects.Pod], bool]


class LiveProfiles:
    """Passes the same profiles to the scheduler and to the source of metrics.

    Attributes:
        policy_set: the policies of the current profiles.
        current: the profiles of the version in force.
        staged: the new version in a rollout, or None.
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
        self.staged: StagedVersion | None = None
        self._frameworks: Mapping[str, runtime.Framework] = {}
        self._scheduler = scheduler
        self._metrics = metrics
        self._clock = clock
        self._rng = rng
        self._shapes_kept = shapes_kept
        self._require = require
        self._changed = asyncio.Event()
        self._served: frozenset[str] = frozenset()

    def use_version(self, policy_set: policies.PolicySet, profiles: policies.Profiles) -> None:
        """Use `profiles`, made from `policy_set`, for all pods, starting with the next pod.

        Raises:
            ConfigurationError: the profiles cannot be used now, or a metric has no source; in
                either case nothing has changed.
        """
        self._require(profiles.by_name.values())
        self._request_metrics(policy_set, profiles)
        self.policy_set, self.current, self.staged = policy_set, profiles, None
        self._frameworks = self._make_frameworks(profiles)
        self._pass_on_profiles()
        self._warn_of_removed_profiles()

    def stage_version(
        self,
        policy_set: policies.PolicySet,
        profiles: policies.Profiles,
        decides_about: Callable[[objects.Pod], bool],
    ) -> None:
        """Use a new version for the pods that `decides_about` chooses, starting with the next pod.

        Raises:
            ConfigurationError: see `use_version`.
        """
        self._require(profiles.by_name.values())
        self._request_metrics(self.policy_set, self.current, (policy_set, profiles))
        frameworks = self._make_frameworks(profiles)
        self.staged = StagedVersion(policy_set, profiles, frameworks, decides_about)
        self._pass_on_profiles()

    def change_staged_pods(self, decides_about: Callable[[objects.Pod], bool]) -> None:
        """Let the staged version decide about other pods, starting with the next pod."""
        if self.staged is not None:
            self.staged = dataclasses.replace(self.staged, decides_about=decides_about)
            self._pass_on_profiles()

    def unstage_version(self) -> None:
        """Use the version in force for all pods again, starting with the next pod."""
        if self.staged is not None:
            self.staged = None
            self._request_metrics(self.policy_set, self.current)
            self._pass_on_profiles()

    def _request_metrics(
        self,
        policy_set: policies.PolicySet,
        profiles: policies.Profiles,
        staged: tuple[policies.PolicySet, policies.Profiles] | None = None,
    ) -> None:
        """Let the source provide the metrics of one version, or of two.

        Raises:
            ConfigurationError: a metric has no source; the previous metrics remain.
        """
        metrics = {each.key: each for each in policy_set.node_metrics}
        needs = profiles.metric_needs
        if staged is not None:
            metrics |= {each.key: each for each in staged[0].node_metrics}
            needs = metric_needs.join_needs(needs, staged[1].metric_needs)
        if self._metrics is not None:
            window_seconds = {key: need.seconds for key, need in needs.histories.items()}
            self._metrics.set_metrics(metrics.values(), window_seconds)
        elif metrics:
            _log.warning(
                "the policies read metrics, but no source is configured, so they are missing "
                "on all nodes; give --prometheus URL, or set `prometheus` in the configuration"
            )

    def _make_frameworks(self, profiles: policies.Profiles) -> dict[str, runtime.Framework]:
        return {
            name: runtime.Framework(
                prof,
                self._rng,
                shapes_kept=self._shapes_kept,
                has_extenders=self._scheduler.has_extenders,
            )
            for name, prof in profiles.by_name.items()
        }

    def _pass_on_profiles(self) -> None:
        """Pass the profiles in use, and those of the staged version, to the scheduler."""
        keys, needs, staged = self.current.annotation_keys, self.current.metric_needs, None
        if self.staged is not None:
            keys |= self.staged.profiles.annotation_keys
            needs = metric_needs.join_needs(needs, self.staged.profiles.metric_needs)
            staged = schedulers.StagedFrameworks(self.staged.frameworks, self.staged.decides_about)
        self._scheduler.set_profiles(self._frameworks, keys, needs, staged)
        self._changed.set()

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

    @property
    def _versions(self) -> list[policies.Profiles]:
        """The profiles in use, and those of the staged version."""
        return [self.current] if self.staged is None else [self.current, self.staged.profiles]

    def get_profiles(self) -> Collection[profile.Profile]:
        """Return the profiles in use, and those of the staged version."""
        return [each for version in self._versions for each in version.by_name.values()]

    def get_metric_readers(self) -> tuple[readings.MetricReader, ...]:
        """Return the readers of the metrics that the rules in force query."""
        return self.current.metric_readers

    async def retry_at_rule_changes(self) -> NoReturn:
        """Retry rejected pods whenever the time makes a rule active or inactive."""
        while True:
            self._changed.clear()
            now = self._clock.now()
            changes = (version.next_change(now) for version in self._versions)
            change = min((each for each in changes if each is not None), default=None)
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
            snap = self._scheduler.cache.snapshot()
            changes = (version.next_metric_change(snap) for version in self._versions)
            before = min((each for each in changes if each is not None), default=None)
            await asyncio.sleep(_METRICS_LOOK_SECONDS)
            if before is not None and self._clock.now() >= before:
                self._scheduler.events.expire_samples()
