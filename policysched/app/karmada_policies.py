"""Follow changes to cluster policies and their metrics in `karmada run`."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING

from policysched.app import policy_reloads
from policysched.inputs import metrics_source
from policysched.karmada.policies import cluster_rows
from policysched.karmada_loop import live_policies
from policysched.observability import exporter, metrics_source_events
from policysched.profiles import cluster_policy_loading
from policysched.promapi import query_source
from policysched.reload import initial_version, reloader, reporting, rule_expiry, versions

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Coroutine, Iterable

    from prometheus_client import core

    from policysched import clock as clocks
    from policysched.karmada.policies import cluster_policies
    from policysched.karmada_loop import options
    from policysched.kube.http import client
    from policysched.leadership import runner
    from policysched.observability import event_recorders


@dataclasses.dataclass(frozen=True, slots=True)
class KarmadaPolicyFollowerDependencies:
    """The components of the process that `KarmadaPolicyFollower` uses.

    Attributes:
        api: the client of the Karmada API server.
        elector: reports whether this process leads; only the leader writes.
        recorder: records events about policies.
        loop: the consumers of the policies.
        clusters_synced: set after all clusters have been listed.
    """

    api: client.ApiClient
    elector: runner.LeaderElector
    recorder: event_recorders.ObjectEventRecorder
    loop: live_policies.ClusterPolicyConsumers
    clusters_synced: asyncio.Event


class KarmadaPolicyFollower:
    """Finds the first version of the policies and loads later versions.

    Attributes:
        background: coroutines that run until the process ends; `make_live_policies` adds them.
        collectors: yield metrics about policies; `make_live_policies` adds them.
    """

    def __init__(
        self, said: options.KarmadaSchedulerOptions, clock: clocks.Clock, rng: random.Random
    ) -> None:
        """Read policies and metric values that come from files.

        Raises:
            InputError: a file cannot be read or is invalid.
        """
        self._options = said
        self._clock = clock
        self._rng = rng
        self._rows = cluster_rows.ClusterRows(clock)
        self._checker = versions.VersionChecker(
            said.configuration, said.scheduler_name, clock, has_rollouts=False
        )
        self._starting = initial_version.InitialVersionFinder(
            said.configuration.policies, self._checker
        )
        self._source_watch = metrics_source_events.MetricsSourceEventWriter()
        self._followed: initial_version.PolicySource | None = None
        self._metrics: metrics_source.MetricsSource | None = None
        self._start = self._starting.find_local_version()
        if self._start is not None:
            self._metrics = self._open_metrics_source(self._start)
        self.background: list[Coroutine[None, None, None]] = []
        self.collectors: list[Callable[[], Iterable[core.Metric]]] = []

    async def find_first_version(self, api: client.ApiClient, stopping: asyncio.Event) -> bool:
        """Find the first version, if necessary with requests to the API server.

        Returns:
            False if the process must stop before a version is found.

        Raises:
            InputError: there is no usable version.
            KubeError: the stored versions cannot be read.
        """
        begun = await self._starting.find_first_version(api, self._rng, stopping)
        if begun is None:
            return False
        self._start, self._followed = begun
        if self._metrics is None:
            self._metrics = self._open_metrics_source(self._start)
        return True

    @property
    def policy_log_fields(self) -> dict[str, str]:
        """The origin and the version of the policies, keyed by the name of the log field."""
        start, followed = self._start, self._followed
        return {
            "policies": followed.origin if followed else "none",
            "hash": start.checked.hash if start else "none",
        }

    def make_live_policies(
        self, dependencies: KarmadaPolicyFollowerDependencies
    ) -> live_policies.LiveClusterPolicies:
        """Return the live policies of the loop, using the first version.

        Raises:
            RuntimeError: `find_first_version` has not found a version.
            ConfigurationError: a metric has no source.
        """
        start, followed = self._start, self._followed
        if start is None or followed is None:
            raise RuntimeError("there is no initial version")
        live = live_policies.LiveClusterPolicies(
            dependencies.loop, self._metrics, self._clock, self._rows
        )
        live.use_version(start.checked.policy_set, self._make_cluster_policies(start.checked))
        state = policy_reloads.make_initial_policy_state(
            start, followed, self._checker, self._clock.now()
        )
        reloads = reloader.Reloader(
            self._checker, state, live, self._make_cluster_policies, self._clock, known=start.offer
        )
        clusters = live_policies.ClusterMetricTargets(
            dependencies.clusters_synced, dependencies.loop.handlers.store
        )
        self.background += [live.follow_metrics(clusters), live.retry_bindings()]
        parts = policy_reloads.PolicyFollowingDependencies(
            self._options.configuration.policies,
            state,
            dependencies.api,
            dependencies.elector,
            dependencies.recorder,
            self._rng,
            self.background,
        )
        policy_reloads.follow_policies(parts, start, followed, reloads)
        self._source_watch.recorder = dependencies.recorder
        self.collectors.append(lambda: reporting.collect_reload_metrics(state))
        self._add_metric_collectors(live, dependencies.loop)
        return live

    def _add_metric_collectors(
        self, live: live_policies.LiveClusterPolicies, loop: live_policies.ClusterPolicyConsumers
    ) -> None:
        """Export the age of samples, the expiry of rules, and the state of sources."""

        def of_samples() -> Iterable[core.Metric]:
            rows = live.rows.take_snapshot_of_clusters(loop.handlers.store.get_cluster_snapshot())
            return exporter.collect_sample_age_metrics(live.make_metric_readers(), rows, "clusters")

        def of_expiry() -> Iterable[core.Metric]:
            return rule_expiry.collect_rule_expiry_metrics(
                lambda: live.policy_set, lambda profile: profile.cluster_policies
            )

        self.collectors += [of_samples, of_expiry]
        metrics = self._metrics
        if metrics is not None:
            self.collectors += [
                lambda: exporter.collect_source_metrics(metrics.get_server_health()),
                lambda: exporter.collect_query_metrics(metrics.get_metric_stats()),
            ]

    def _make_cluster_policies(
        self, checked: versions.CheckedVersion
    ) -> cluster_policies.ClusterPolicies | None:
        name = self._options.scheduler_name
        return cluster_policy_loading.make_cluster_policies(
            checked.policy_set, name, self._clock, self._rows
        )

    def _open_metrics_source(
        self, start: initial_version.InitialVersion
    ) -> metrics_source.MetricsSource | None:
        """Return the source of metric samples, or None if no metric needs one.

        Raises:
            InputError: the file with metric values cannot be read or is invalid.
            ConfigurationError: a metric names a source that is not configured.
        """
        found = self._make_cluster_policies(start.checked)
        dependencies = query_source.SourceDependencies(
            self._clock, self._rng, observer=self._source_watch
        )
        said = self._options
        return metrics_source.open_metrics_source(
            said.metrics_file,
            said.configuration.prometheus,
            found.metrics if found else (),
            dependencies,
        )
