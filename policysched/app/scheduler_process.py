"""Run the process of `run`, which connects `kube`, `scheduler`, profiles and metrics.

`SchedulerProcess()` reads files and options; an error there ends the process. `run` connects,
assembles the process (`_assemble_process`), adds the components of `_PARTS` and starts them. Each
component adds background work, pages or listeners to the `ProcessComponents`.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import math
import random
import urllib.parse
from collections.abc import Callable
from typing import TYPE_CHECKING

import policysched
from policysched import clock as clocks
from policysched import malloc_tuning, process
from policysched.app import (
    cluster_sync,
    context,
    lifecycle,
    page_data,
    policy_reloads,
    reflectors,
    reports,
    secure_port,
    writers,
)
from policysched.config import config as configs
from policysched.config import election_config, extender_faults, run_options
from policysched.framework.answers import shape_answers
from policysched.inputs import metrics_source
from policysched.kube.auth import kubeconfig
from policysched.kube.http import client, fence, rate_limit
from policysched.leadership import election as elections
from policysched.leadership import runner
from policysched.observability import (
    exporter,
    known_secrets,
    logs,
    metrics_source_events,
    request_metrics,
    scheduler_metrics,
    tracing,
    unserved_pod_reporter,
)
from policysched.profiles import profile_members
from policysched.promapi import query_source
from policysched.queue import scheduling_queue
from policysched.reload import initial_version, live_profiles, versions
from policysched.reload import state as states
from policysched.scheduler import scheduler as schedulers

if TYPE_CHECKING:  # most processes ask no extender
    from policysched.app import extenders

_log = logging.getLogger("policysched")

RunOptions = run_options.RunOptions

_OTHER_CONNECTIONS = 32
"""Number of connections for watches, events and status, in addition to those for bindings."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Connections:
    """The servers that a process has contact with.

    Attributes:
        settings: of the API server.
        api: its client.
        elector: reports whether this process leads.
        extenders: the HTTP extenders, or None.
    """

    settings: kubeconfig.ApiClientConfig
    api: client.ApiClient
    elector: runner.LeaderElector
    extenders: extenders.ConnectedExtenders | None


class SchedulerProcess:
    """One scheduler process, and the files that it reads before it connects to the API server."""

    def __init__(
        self, options: RunOptions, configuration: configs.Config, clock: clocks.Clock
    ) -> None:
        """Read policies and metrics that come from files.

        Raises:
            InputError: a file cannot be read or is invalid.
        """
        self._options = options
        self._clock = clock
        self._rng = random.Random()
        self._config = configuration
        self._election = configuration.leader_election
        if options.dry_run:
            # A dry run never takes part in an election, regardless of the configuration.
            self._election = election_config.LeaderElectionConfig()
        self._metrics_exporter = exporter.MetricsExporter()
        self._source_watch = metrics_source_events.MetricsSourceEventWriter()
        self._checker = versions.VersionChecker(configuration, options.scheduler_name, clock)
        self._starting = initial_version.InitialVersionFinder(configuration.policies, self._checker)
        self._metrics: metrics_source.MetricsSource | None = None
        start = self._starting.find_local_version()
        if start is not None:
            self._metrics = self._open_metrics_source(start)

    def _open_metrics_source(
        self, start: initial_version.InitialVersion
    ) -> metrics_source.MetricsSource | None:
        """Return the source of node metrics, or None if no source is configured."""
        dependencies = query_source.SourceDependencies(
            self._clock, self._rng, observer=self._source_watch
        )
        declared = start.checked.policy_set.node_metrics
        return metrics_source.open_metrics_source(
            self._options.metrics_file, self._config.prometheus, declared, dependencies
        )

    async def run(self) -> None:
        """Schedule until the process is asked to stop.

        Raises:
            InputError: the kubeconfig or a plugin cannot be used.
            RemoteError: no credential was available.
        """
        options = self._options
        connecting = kubeconfig.load_api_client_config(
            options.kubeconfig, options.context, self._clock
        )
        await lifecycle.connect_and_serve(connecting, self._connect_and_run)

    async def _connect_and_run(
        self, connection: kubeconfig.ApiClientConfig, stopping: asyncio.Event
    ) -> None:
        """Open the API client and the elector, and run until stopped."""
        writes = self._make_write_fence()
        async with (
            client.ApiClient(
                connection,
                rng=self._rng,
                max_connections=self._config.parallel_binds + _OTHER_CONNECTIONS,
                limit=self._make_request_limit(),
                fence=writes,
            ) as api,
            self._make_elector(connection, writes) as elector,
            self._connect_extenders(writes) as connected,
        ):
            connections = _Connections(connection, api, elector, connected)
            await self._run_connected(connections, stopping)

    async def _run_connected(self, connections: _Connections, stopping: asyncio.Event) -> None:
        """Find the first policies, assemble the process, and run it."""
        api = connections.api
        begun = await self._starting.find_first_version(api, self._rng, stopping)
        if begun is None:
            return
        start, followed = begun
        if self._metrics is None:
            self._metrics = self._open_metrics_source(start)
        _log.info(
            "starting %s",
            logs.format_log_fields(
                version=policysched.__version__,
                server=connections.settings.server,
                policies=followed.origin if followed else "none",
                hash=start.checked.hash or "none",
            ),
        )
        state = policy_reloads.make_initial_policy_state(
            start, followed, self._checker, self._clock.now()
        )
        components = self._assemble_process(connections, stopping, start.checked, state)
        policy_reloads.add_policy_reloads(components, start, followed, self._checker)
        await self._run_components(components)

    def _make_write_fence(self) -> fence.WriteFence | None:
        if self._options.dry_run:
            return elections.make_closed_write_fence(self._clock)
        return elections.make_write_fence(self._election, self._clock)

    def _make_elector(
        self, connection: kubeconfig.ApiClientConfig, writes: fence.WriteFence | None
    ) -> contextlib.AbstractAsyncContextManager[runner.LeaderElector]:
        if self._options.dry_run:
            return contextlib.nullcontext(runner.NeverLeader())
        return elections.make_lease_elector(
            self._election, connection, writes, self._clock, self._rng
        )

    def _connect_extenders(
        self, writes: fence.WriteFence | None
    ) -> contextlib.AbstractAsyncContextManager[extenders.ConnectedExtenders | None]:
        """Connect the extenders; a dry run asks none, because they can change the cluster."""
        configured = self._config.extenders
        for warning in extender_faults.find_extender_warnings(configured):
            _log.warning("%s", warning)
        if self._options.dry_run and configured:
            _log.warning("a dry run does not ask the %d configured extenders", len(configured))
            configured = ()
        if not configured:
            return contextlib.nullcontext()
        from policysched.app import extenders  # noqa: PLC0415 - most processes ask no extender

        def require_leadership() -> None:
            if writes is not None:
                writes.compute_allowed_write_seconds()

        return extenders.connect_extenders(configured, self._clock, require_leadership)

    def _make_request_limit(self) -> rate_limit.TokenBucket | None:
        limits = self._config.client_connection
        burst = limits.burst or math.ceil(2 * (limits.qps or 0.0))
        return lifecycle.make_request_limit(limits.qps, burst, self._clock)

    def _assemble_process(
        self,
        connections: _Connections,
        stopping: asyncio.Event,
        first: versions.CheckedVersion,
        state: states.PolicyState,
    ) -> context.ProcessComponents:
        """Return the context of this process with its first profiles.

        Raises:
            ConfigurationError: a plugin cannot be created, or a metric has no source.
        """
        clock, rng = self._clock, self._rng
        api, connected = connections.api, connections.extenders
        written = writers.ApiWriters(api, clock)
        scheduler = schedulers.Scheduler(
            {},
            written.make_write_ports(None if connected is None else connected.chain),
            clock,
            settings=self._make_settings(),
        )
        make = policy_reloads.make_writing_profiles_factory(written, scheduler, rng, state)
        made = make(first)
        for line in profile_members.describe_profiles(made):
            _log.info("%s", line)
        watches = reflectors.ClusterReflectors(api, scheduler, rng, connected)
        sync = cluster_sync.ClusterSync(watches)
        kept = shape_answers.MAX_SHAPES if self._config.features.opportunistic_batching else 0
        profiles = live_profiles.LiveProfiles(
            scheduler, self._metrics, clock, rng, shapes_kept=kept, require=sync.require_synced
        )
        profiles.use_version(first.policy_set, made)
        if not self._options.dry_run:
            self._source_watch.recorder = written.recorder
        return context.ProcessComponents(
            options=self._options,
            config=self._config,
            election=self._election,
            clock=clock,
            rng=rng,
            connection=connections.settings,
            api=api,
            elector=connections.elector,
            writers=written,
            scheduler=scheduler,
            reflectors=watches,
            sync=sync,
            profiles=profiles,
            policies=state,
            metrics=self._metrics,
            metrics_exporter=self._metrics_exporter,
            extenders=connected,
            term=scheduler,
            stopping=stopping,
        )

    async def _run_components(self, components: context.ProcessComponents) -> None:
        """Add the components; run them, and schedule during terms, until stopped."""
        _add_parts(components)
        leading = lifecycle.make_leadership_runner(
            components.election,
            components.elector,
            components.term,
            components.reflectors.pods.relist,
        )
        background = [*components.background, _schedule_while_leading(components, leading)]
        await lifecycle.run_until_stopped(
            background, leading, components.writers.flush_pending_writes, components.stopping
        )

    def _make_settings(self) -> schedulers.SchedulerSettings:
        """Return the scheduler's settings from the configuration."""
        return schedulers.SchedulerSettings(
            queue=scheduling_queue.QueueSettings(
                initial_backoff_seconds=self._config.pod_initial_backoff_seconds,
                max_backoff_seconds=self._config.pod_max_backoff_seconds,
                max_unschedulable_seconds=self._config.pod_max_in_unschedulable_pods_seconds,
                pops_from_backoff=self._config.features.scheduler_pop_from_backoff_q,
                asks_hints=self._config.features.scheduler_queueing_hints,
            ),
            max_bindings_in_flight=self._config.parallel_binds,
            decisions_kept=self._config.decisions.kept,
        )


def _add_parts(components: context.ProcessComponents) -> None:
    """Add each component of `_PARTS` to the process.

    Raises:
        ConfigurationError: a component failed, for example because a port is in use; nothing
            has started.
    """
    try:
        for add_part in _PARTS:
            add_part(components)
    except BaseException:
        lifecycle.close_coroutines(components.background)
        raise


async def _schedule_while_leading(
    components: context.ProcessComponents, leading: runner.LeadershipRunner
) -> None:
    """Schedule pods while this process leads, once all required resources have been listed."""
    started_seconds = components.clock.monotonic_seconds()
    await components.sync.wait_until_profiles_synced(components.profiles.get_profiles)
    await components.profiles.wait_for_metrics()
    process.exempt_objects_from_gc()
    seconds = components.clock.monotonic_seconds() - started_seconds
    cache = components.scheduler.cache
    _log.info(
        "synced %s",
        logs.format_log_fields(
            nodes=cache.nodes.alive_count, pods=cache.pod_count, seconds=f"{seconds:.1f}"
        ),
    )
    await leading.run()


# --- parts ---------------------------------------------------------------------------------------


def _hide_secrets(components: context.ProcessComponents) -> None:
    logs.SECRETS.add_secret_source(
        known_secrets.make_process_secret_source(
            components.connection.credentials,
            components.config.prometheus,
            components.config.extenders,
        )
    )


def _follow_cluster(components: context.ProcessComponents) -> None:
    """Run the watches and the writers."""
    components.background += [each.run() for each in components.reflectors]
    components.background += components.writers.list_background_writers()


def _trim_memory_periodically(components: context.ProcessComponents) -> None:
    """Periodically return unused memory to the system."""
    components.background.append(malloc_tuning.trim_periodically())


def _retry_time_dependent_pods(components: context.ProcessComponents) -> None:
    """Retry rejected pods when a verdict changes only with time, without an event."""
    components.background.append(components.profiles.retry_at_rule_changes())
    components.background.append(components.profiles.retry_at_sample_expiry())


def _feed_metric_samples(components: context.ProcessComponents) -> None:
    """Pass metric samples to the cache."""
    if components.metrics is not None:
        nodes = reflectors.NodeMetricTargets(
            components.scheduler.cache, components.reflectors.nodes.synced
        )
        handlers = components.scheduler.events
        components.background.append(
            components.metrics.run(handlers.refresh_metrics, nodes, handlers.backfill_metrics)
        )


def _add_unserved_pod_reporter(components: context.ProcessComponents) -> None:
    """Report pods with a schedulerName that no scheduler serves."""
    watch = unserved_pod_reporter.UnservedPodReporter(
        components.scheduler.events.pods.unserved,
        components.clock,
        lambda: components.profiles.current.by_name,
        speaks=lambda: components.elector.is_leading,
    )
    components.metrics_exporter.add_collector(watch.collect_metrics)
    components.background.append(watch.run(components.reflectors.pods.synced))


def _export_metrics(components: context.ProcessComponents) -> None:
    own = components.metrics_exporter
    own.add_scheduler_metrics(
        components.scheduler, components.profiles.get_metric_readers, components.metrics
    )
    if components.extenders is not None:
        measured = components.extenders.calls
        own.add_collector(lambda: scheduler_metrics.collect_extender_metrics(measured))
    own.add_collector(
        lambda: elections.collect_leadership_metrics(components.election, components.elector)
    )
    host = urllib.parse.urlsplit(components.connection.server).netloc
    own.add_collector(lambda: request_metrics.collect_request_metrics(components.api.stats, host))
    components.pages[exporter.PATH] = own.make_page


def _publish_decisions(components: context.ProcessComponents) -> None:
    page_data.add_page_data(components)
    log = components.scheduler.decisions
    tracer = tracing.make_tracer(components.config.tracing, components.clock, components.rng)
    if tracer is not None:
        log.end_listeners.append(tracer.trace_ended_attempt)
        components.background.append(tracer.run())


_PARTS: tuple[Callable[[context.ProcessComponents], None], ...] = (
    _hide_secrets,
    _follow_cluster,
    _trim_memory_periodically,
    _retry_time_dependent_pods,
    _feed_metric_samples,
    _add_unserved_pod_reporter,
    _export_metrics,
    _publish_decisions,
    reports.add_shadow_policy_report,
    reports.add_dry_run,
    reports.add_audit,
    reports.add_rule_expiry_metric,
    secure_port.add_http_servers,  # last, because it serves the pages added by the others
)
