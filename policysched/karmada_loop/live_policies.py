"""The cluster policies of a running scheduler, and the samples of their metrics.

New samples and new versions do not move a binding that has its clusters; only Karmada's triggers
do. A failed binding is retried when policies permit more clusters for it than at its last attempt.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from typing import TYPE_CHECKING, NoReturn

from policysched.cluster import metric_needs
from policysched.inputs import metrics_source
from policysched.karmada import errors
from policysched.karmada.policies import cluster_rows
from policysched.karmada.scheduler import event_handlers

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator, Mapping

    from policysched import clock as clocks
    from policysched.cluster.metrics import metric_table, metric_windows
    from policysched.cluster.objects import objects as node_objects
    from policysched.compiler.metrics import readings
    from policysched.karmada import objects
    from policysched.karmada.policies import cluster_policies, permitted_clusters
    from policysched.karmada.scheduler import binding_scheduler
    from policysched.karmada.state import snapshot, store
    from policysched.karmada.steps import algorithm, binding_decision
    from policysched.profiles import policies as policy_sets

_log = logging.getLogger("policysched")

_LOOK_SECONDS = 1.0
"""Maximum delay of a retry after a sample becomes stale; also the minimum time between checks."""
_LOOK_SHARE = 0.1
"""Maximum share of time spent on checks while many bindings wait."""
_BINDINGS_AT_ONCE = 64
"""Number of bindings to check before yielding to other tasks."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterPolicyConsumers:
    """The components that use cluster policies.

    Attributes:
        algorithm: the algorithm without policies.
        decisions: the binding scheduler, which uses the algorithm with the current policies.
        handlers: queue bindings for another attempt.
        pausing: the loop, which pauses while the first samples are queried.
    """

    algorithm: algorithm.BindingAlgorithm
    decisions: binding_scheduler.BindingScheduler
    handlers: event_handlers.BindingEventHandlers
    pausing: metrics_source.PausableLoop


class LiveClusterPolicies:
    """Passes the same cluster policies to the loop and to the source of metrics.

    Attributes:
        policy_set: the policy set that contains `current`.
        current: the cluster policies in use, or None.
        rows: the clusters and their samples, which are kept when the version changes.
    """

    def __init__(
        self,
        loop: ClusterPolicyConsumers,
        metrics: metrics_source.MetricsSource | None,
        clock: clocks.Clock,
        rows: cluster_rows.ClusterRows,
    ) -> None:
        """Start without policies; call `use_version` before any other method."""
        self.policy_set: policy_sets.PolicySet
        self.current: cluster_policies.ClusterPolicies | None = None
        self.rows = rows
        self._loop = loop
        self._metrics = metrics
        self._clock = clock
        self._refused: dict[str, permitted_clusters.PermittedClusters | None] = {}
        self._news = asyncio.Event()
        loop.decisions.listeners.append(self._record_permitted_clusters)

    # --- versions ---------------------------------------------------------------------------------

    def use_version(
        self, policy_set: policy_sets.PolicySet, found: cluster_policies.ClusterPolicies | None
    ) -> None:
        """Use these cluster policies from the next binding on.

        Raises:
            ConfigurationError: a metric cannot be queried; in this case, nothing changes.
        """
        if found is None:
            _log.warning("the policies have no cluster policy in force for this scheduler")
        if self._metrics is not None:
            self._metrics.set_metrics(
                found.metrics if found else (), found.window_seconds if found else {}
            )
        elif found is not None and found.metrics:
            _log.warning(
                "the policies read metrics, but no source is configured, so they are missing "
                "on all clusters; give --prometheus URL"
            )
        if found is None:
            self.rows.keep_only_needed_samples(metric_needs.MetricNeeds())
        else:
            found.keep_only_needed_samples()
        self._loop.decisions.replace_algorithm(
            dataclasses.replace(self._loop.algorithm, policies=found)
        )
        self.policy_set, self.current = policy_set, found
        self._requeue_bindings(list(self._refused), event_handlers.POLICIES_CHANGED)

    async def wait_for_metrics(self, news: asyncio.Event | None = None) -> None:
        """Pause decisions until new metrics have been queried once, for a few seconds at most."""
        if self._metrics is not None:
            await metrics_source.pause_for_first_samples(self._metrics, self._loop.pausing, news)

    # --- samples ----------------------------------------------------------------------------------

    async def follow_metrics(self, clusters: ClusterMetricTargets) -> NoReturn:
        """Receive the samples of the source until cancelled."""
        if self._metrics is not None:
            await self._metrics.run(self.refresh_samples, clusters, self.backfill_samples)
        while True:
            await asyncio.Event().wait()

    def refresh_samples(self, samples: Mapping[str, Mapping[str, metric_table.Sample]]) -> None:
        """Replace all samples of some metrics: metric → cluster → sample."""
        self._update_cluster_rows()
        for metric, by_cluster in samples.items():
            self.rows.refresh_samples(metric, by_cluster)
        self._news.set()

    def backfill_samples(self, history: Mapping[str, metric_windows.OlderSamples]) -> None:
        """Add older samples for windows, keyed by metric."""
        self._update_cluster_rows()
        for metric, older in history.items():
            self.rows.backfill_samples(metric, older)
        self._news.set()

    def _update_cluster_rows(self) -> None:
        """Update the rows to the current clusters; call this before updating their samples."""
        self.rows.take_snapshot_of_clusters(self._store.get_cluster_snapshot())

    def make_metric_readers(self) -> tuple[readings.MetricReader, ...]:
        """Return the readers of the metrics that the current rules read."""
        return self.current.metric_readers if self.current is not None else ()

    # --- bindings without success -----------------------------------------------------------------

    async def retry_bindings(self) -> NoReturn:
        """Retry failed bindings when new samples or the passage of time permit more clusters."""
        due: datetime.datetime | None = None
        while True:
            # A change that has fallen due is no longer found, so one that was found earlier stays.
            due = _get_earlier_time(due, self._find_next_change_time())
            is_news = await self._wait_for_change(_LOOK_SECONDS)
            if not is_news and (due is None or self._clock.now() < due):
                continue
            self._news.clear()
            started_seconds = self._clock.monotonic_seconds()
            if not is_news:
                self.rows.expire_samples()
            due = self._find_next_change_time()  # a change during the check needs another check
            await self._retry_held_bindings()
            spent_seconds = self._clock.monotonic_seconds() - started_seconds
            await asyncio.sleep(max(_LOOK_SECONDS, spent_seconds / _LOOK_SHARE))

    async def _wait_for_change(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        return self._news.is_set()

    def _find_next_change_time(self) -> datetime.datetime | None:
        if self.current is None:
            return None
        return _get_earlier_time(
            self.current.find_next_rule_change(self._clock.now()),
            self.current.find_next_staleness(self._store.get_cluster_snapshot()),
        )

    async def _retry_held_bindings(self) -> None:
        keys = list(self._refused)
        for first in range(0, len(keys), _BINDINGS_AT_ONCE):
            some = keys[first : first + _BINDINGS_AT_ONCE]
            self._requeue_bindings(
                list(self._iterate_unblocked_bindings(some)), event_handlers.SAMPLES_CHANGED
            )
            await asyncio.sleep(0)

    def _iterate_unblocked_bindings(self, keys: list[str]) -> Iterator[str]:
        """Yield the keys of failed bindings for which policies now permit more clusters."""
        clusters = self._store.get_cluster_snapshot()
        for key in keys:
            before, binding = self._refused.get(key), self._store.bindings.get(key)
            if binding is None:
                self._refused.pop(key, None)
                continue
            now = self._find_permitted_clusters(binding, clusters)
            if before is not None and now is not None and now.permits_more_than(before):
                yield key

    def _requeue_bindings(self, keys: list[str], event: str) -> None:
        """Queue the bindings with these `keys`, if they are this scheduler's and not queued yet."""
        handlers = self._loop.handlers
        for key in keys:
            binding = self._store.bindings.get(key)
            if (
                binding is not None
                and handlers.is_for_this_scheduler(binding)
                and key not in handlers.queue
            ):
                handlers.queue_binding(key, event)

    def _record_permitted_clusters(
        self, binding: objects.Binding, decision: binding_decision.BindingDecision
    ) -> None:
        """Remember the permitted clusters of a failed binding; forget them once it is placed."""
        if not isinstance(decision.result, errors.PlacementFailure):
            self._refused.pop(binding.key, None)
        else:
            self._refused[binding.key] = self._find_permitted_clusters(
                binding, self._store.get_cluster_snapshot()
            )
            if len(self._refused) > len(self._store.bindings):
                known = self._store.bindings
                self._refused = {k: v for k, v in self._refused.items() if k in known}

    def _find_permitted_clusters(
        self, binding: objects.Binding, clusters: snapshot.ControlPlaneSnapshot
    ) -> permitted_clusters.PermittedClusters | None:
        """Return the clusters that policies permit now; None without policies, or if they fail."""
        if self.current is None:
            return None
        try:
            return self.current.find_permitted_clusters(binding, clusters)
        except Exception:  # noqa: BLE001 - a bug must not stop the checks of others
            _log.exception("the policies for binding %s could not be determined", binding.key)
            return None

    @property
    def _store(self) -> store.ControlPlaneStore:
        return self._loop.handlers.store


class ClusterMetricTargets:
    """The clusters as targets of a metrics source, which assigns samples to clusters by name."""

    def __init__(self, synced: asyncio.Event, known: store.ControlPlaneStore) -> None:
        """Use the clusters of `known`, which is complete once `synced` is set."""
        self._synced = synced
        self._known = known

    async def wait_synced(self) -> None:
        """Wait until all clusters have been listed."""
        await self._synced.wait()

    def current(self) -> list[node_objects.Node]:
        """Return the current clusters, converted to nodes."""
        return [
            cluster_rows.convert_cluster_to_node(each)
            for each in self._known.get_cluster_snapshot().clusters
        ]


def _get_earlier_time(
    one: datetime.datetime | None, other: datetime.datetime | None
) -> datetime.datetime | None:
    return min((each for each in (one, other) if each is not None), default=None)
