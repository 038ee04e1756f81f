"""Run the process of `karmada run`: watches, decisions, writes and pages."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import random
import urllib.parse
from typing import TYPE_CHECKING, Any

import policysched
from policysched import malloc_tuning, process
from policysched.app import karmada_health_checks, lifecycle
from policysched.inputs import karmada_resources
from policysched.karmada import objects
from policysched.karmada.scheduler import (
    binding_scheduler,
    event_handlers,
    measurements,
    priority_queue,
    work_queue,
)
from policysched.karmada.state import store
from policysched.karmada_loop import (
    acknowledgements,
    backpressure,
    binding_writer,
    event_recording,
    loop,
    metrics,
    options,
)
from policysched.kube.auth import kubeconfig
from policysched.kube.events import event_formats, event_recorder
from policysched.kube.http import client, rate_limit
from policysched.kube.reading import reflector, resources, watch_sync
from policysched.leadership import election, runner
from policysched.observability import exporter, known_secrets, logs, request_metrics
from policysched.serving import shared_http_servers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterable

    from policysched import clock as clocks
    from policysched.app import karmada_policies
    from policysched.karmada.steps import algorithm
    from policysched.karmada_loop import estimators, live_policies

_log = logging.getLogger("policysched")

_READERS = {
    resource.name: [watch_sync.EVERYBODY]
    for resource in (
        karmada_resources.CLUSTERS,
        karmada_resources.BINDINGS,
        karmada_resources.CLUSTER_BINDINGS,
    )
}

_OTHER_CONNECTIONS = 8
_EVENT_CONNECTIONS = event_recorder.LANES + 1


@dataclasses.dataclass(frozen=True, slots=True)
class _ApiConnections:
    """The connections of a process; events have their own client and thus their own rate limit."""

    to: kubeconfig.ApiClientConfig
    api: client.ApiClient
    events: client.ApiClient
    elector: runner.LeaderElector


class KarmadaSchedulerProcess:
    """One scheduler process of a Karmada control plane."""

    def __init__(
        self,
        said: options.KarmadaSchedulerOptions,
        how: algorithm.BindingAlgorithm,
        clock: clocks.Clock,
    ) -> None:
        """Prepare to schedule with the algorithm `how`; read policies that come from files.

        Raises:
            InputError: a policy or a metric value cannot be read or is invalid.
        """
        self._options = said
        self._clock = clock
        self._rng = random.Random()
        self._measured = measurements.BindingMeasurements(clock)
        self._algorithm = dataclasses.replace(how, observer=self._measured)
        self._following = _make_policy_follower(said, clock, self._rng)

    async def run(self) -> None:
        """Schedule until the process is asked to stop.

        Raises:
            InputError: the kubeconfig cannot be used, an address is unavailable, a certificate for
                estimators cannot be used, or there is no usable version of the policies.
            RemoteError: no credential was available.
        """
        said = self._options
        connecting = kubeconfig.load_api_client_config(said.kubeconfig, said.context, self._clock)
        await lifecycle.connect_and_serve(connecting, self._run_with_connections)

    async def _run_with_connections(
        self, connection: kubeconfig.ApiClientConfig, stopping: asyncio.Event
    ) -> None:
        """Open the connections, find the first policies, and run until stopped."""
        said, following = self._options, self._following
        if said.master is not None:
            connection = dataclasses.replace(connection, server=said.master.rstrip("/"))
        servers = said.configuration.prometheus
        logs.SECRETS.add_secret_source(
            known_secrets.make_process_secret_source(connection.credentials, servers)
        )
        async with self._open_connections(connection) as connected:
            if following is not None and not await following.find_first_version(
                connected.api, stopping
            ):
                return
            self._log_start(connection)
            await _ConnectedProcess(
                said, self._algorithm, self._measured, self._clock, self._rng, following
            ).run(connected, stopping)

    def _log_start(self, connection: kubeconfig.ApiClientConfig) -> None:
        """Log the version, the server, the plugins and the policies."""
        policies = {} if self._following is None else self._following.policy_log_fields
        _log.info(
            "starting %s",
            logs.format_log_fields(
                version=policysched.__version__,
                server=connection.server,
                scheduler=self._options.scheduler_name,
                plugins=",".join(plugin.name for plugin in self._algorithm.plugins),
                **policies,
            ),
        )

    @contextlib.asynccontextmanager
    async def _open_connections(
        self, connection: kubeconfig.ApiClientConfig
    ) -> AsyncIterator[_ApiConnections]:
        """Open the API clients and the elector, which share one write fence."""
        said, rng = self._options, self._rng
        writes = election.make_write_fence(said.election, self._clock)
        async with (
            client.ApiClient(
                connection,
                rng=rng,
                max_connections=said.writes_at_once + _OTHER_CONNECTIONS,
                limit=self._make_request_limit(),
                fence=writes,
            ) as api,
            client.ApiClient(
                connection,
                rng=rng,
                max_connections=_EVENT_CONNECTIONS,
                limit=self._make_request_limit(),
                fence=writes,
            ) as events,
            election.make_lease_elector(
                said.election, connection, writes, self._clock, rng
            ) as elector,
        ):
            yield _ApiConnections(connection, api, events, elector)

    def _make_request_limit(self) -> rate_limit.TokenBucket | None:
        return lifecycle.make_request_limit(self._options.qps, self._options.burst, self._clock)


def _make_policy_follower(
    said: options.KarmadaSchedulerOptions, clock: clocks.Clock, rng: random.Random
) -> karmada_policies.KarmadaPolicyFollower | None:
    if not said.has_policies:
        return None
    from policysched.app import karmada_policies  # noqa: PLC0415 - only needed with policies

    return karmada_policies.KarmadaPolicyFollower(said, clock, rng)


def _make_estimators(
    said: options.KarmadaSchedulerOptions, api: client.ApiClient, rng: random.Random
) -> estimators.Estimators | None:
    if said.estimators is None:
        return None
    from policysched.karmada_loop import estimators  # noqa: PLC0415 - gRPC is an extra

    return estimators.Estimators(said.estimators, api, rng)


class _ConnectedProcess:
    """All running components of the process after it has connected."""

    def __init__(
        self,
        said: options.KarmadaSchedulerOptions,
        how: algorithm.BindingAlgorithm,
        measured: measurements.BindingMeasurements,
        clock: clocks.Clock,
        rng: random.Random,
        followed: karmada_policies.KarmadaPolicyFollower | None,
    ) -> None:
        self._following = followed
        self._live: live_policies.LiveClusterPolicies | None = None
        self._estimators: estimators.Estimators | None = None
        self._options = said
        self._algorithm = how
        self._measured = measured
        self._clock = clock
        self._rng = rng
        self._awake = asyncio.Event()
        self._echoes = acknowledgements.WriteAcknowledgements()
        known = store.ControlPlaneStore()
        self._handlers = event_handlers.BindingEventHandlers(
            known, self._make_queue(known), said.scheduler_name, on_change=self._awake.set
        )
        self._handlers.stop_queueing()

    def _make_queue(self, known: store.ControlPlaneStore) -> work_queue.WorkQueue:
        said, clock, on_ready = self._options, self._clock, self._awake.set
        if said.by_priority:
            return priority_queue.BindingPriorityQueue(
                clock, known.get_binding_priority, on_ready=on_ready
            )
        bucket = rate_limit.TokenBucket(said.retry.per_second, said.retry.burst, clock)
        return work_queue.WorkQueue(clock, bucket, said.retry, on_ready=on_ready)

    async def run(self, connected: _ApiConnections, stopping: asyncio.Event) -> None:
        self._estimators = _make_estimators(self._options, connected.api, self._rng)
        watches = self._make_reflectors(connected.api)
        sync = watch_sync.WatchSync(watches.values(), "binding")
        recorder = event_recorder.ApiEventRecorder(
            connected.events,
            self._clock,
            form=event_formats.CoreV1EventFormat(self._options.scheduler_name),
        )
        decisions = self._make_binding_scheduler(recorder)
        schedules = self._make_scheduling_loop(connected, decisions, recorder)
        self._follow_policies(connected, watches, recorder, decisions, schedules)
        leading = self._make_leadership_runner(connected, watches, schedules)
        followed = self._following.background if self._following is not None else []
        try:
            health = self._make_health_pages(connected, sync, stopping, schedules)
            servers = list(self._make_page_servers(connected, health))
        except BaseException:
            lifecycle.close_coroutines(followed)
            raise
        background: list[Coroutine[Any, Any, None]] = [
            *servers,
            *followed,
            *(watch.run() for watch in watches.values()),
            recorder.run(),
            malloc_tuning.trim_periodically(),
            self._schedule_while_leading(sync, leading),
            *([] if self._estimators is None else [self._estimators.run()]),
        ]
        await lifecycle.run_until_stopped(
            background, leading, lambda: event_recording.flush_binding_events(recorder), stopping
        )

    def _make_reflectors(self, api: client.ApiClient) -> dict[str, reflector.Reflector[Any]]:
        """Return a reflector for each watched resource, keyed by the resource's name."""
        clusters: reflector.ReflectorSink[objects.Cluster] = self._handlers.clusters
        if self._estimators is not None:
            clusters = self._estimators.wrap_sink(clusters)
        sinks: list[tuple[resources.ApiResource[Any], reflector.ReflectorSink[Any]]] = [
            (karmada_resources.CLUSTERS, clusters),
            (karmada_resources.BINDINGS, self._echoes.wrap_sink(self._handlers.bindings)),
            (
                karmada_resources.CLUSTER_BINDINGS,
                self._echoes.wrap_sink(self._handlers.cluster_bindings),
            ),
        ]
        return {
            resource.name: reflector.Reflector(api, resource, sink, rng=self._rng)
            for resource, sink in sinks
        }

    def _make_binding_scheduler(
        self, recorder: event_recorder.ApiEventRecorder
    ) -> binding_scheduler.BindingScheduler:
        """Return the scheduler of bindings, which records events."""
        return binding_scheduler.BindingScheduler(
            self._algorithm,
            self._handlers,
            event_recording.ApiBindingEventRecorder(recorder),
            self._clock,
            self._measured,
            asks_estimators=self._estimators is not None,
        )

    def _follow_policies(
        self,
        connected: _ApiConnections,
        watches: dict[str, reflector.Reflector[Any]],
        recorder: event_recorder.ApiEventRecorder,
        decisions: binding_scheduler.BindingScheduler,
        schedules: loop.BindingSchedulingLoop,
    ) -> None:
        """Connect cluster policies, if configured, to the scheduling loop and its decisions."""
        if self._following is None:
            return
        from policysched.app import karmada_policies  # noqa: PLC0415 - see above
        from policysched.karmada_loop import live_policies  # noqa: PLC0415 - see above

        goes_by = live_policies.ClusterPolicyConsumers(
            self._algorithm, decisions, self._handlers, schedules
        )
        self._live = self._following.make_live_policies(
            karmada_policies.KarmadaPolicyFollowerDependencies(
                connected.api,
                connected.elector,
                recorder,
                goes_by,
                watches[karmada_resources.CLUSTERS.name].synced,
            )
        )

    def _make_scheduling_loop(
        self,
        connected: _ApiConnections,
        decisions: binding_scheduler.BindingScheduler,
        recorder: event_recorder.ApiEventRecorder,
    ) -> loop.BindingSchedulingLoop:
        """Return the scheduling loop with its writer, backpressure and estimators."""
        schedules = loop.BindingSchedulingLoop(
            decisions,
            self._handlers,
            binding_writer.BindingWriter(connected.api, decisions, self._echoes, self._clock),
            self._clock,
            self._awake,
            writes_at_once=self._options.writes_at_once,
        )
        schedules.is_held_back = backpressure.EventBackpressure(
            lambda: recorder.waiting_count, self._clock
        ).is_event_backlog_full
        if self._estimators is not None:
            schedules.ask = self._estimators.ask_estimators
        return schedules

    def _make_leadership_runner(
        self,
        connected: _ApiConnections,
        watches: dict[str, reflector.Reflector[Any]],
        schedules: loop.BindingSchedulingLoop,
    ) -> runner.LeadershipRunner:
        """Return the runner of terms, which lists all resources again before a term."""

        async def refresh() -> None:
            await asyncio.gather(*(watch.relist() for watch in watches.values()))

        return lifecycle.make_leadership_runner(
            self._options.election, connected.elector, schedules, refresh
        )

    async def _schedule_while_leading(
        self, sync: watch_sync.WatchSync, leading: runner.LeadershipRunner
    ) -> None:
        """Schedule bindings while this process leads, once all resources have been listed."""
        await sync.wait_until_synced(lambda: _READERS)
        if self._live is not None:
            await self._live.wait_for_metrics()
        if self._estimators is not None:
            await self._estimators.wait_until_estimators_tried()
        process.exempt_objects_from_gc()
        known = self._handlers.store
        _log.info(
            "synced %s",
            logs.format_log_fields(clusters=len(known.clusters), bindings=len(known.bindings)),
        )
        await leading.run()

    def _make_health_pages(
        self,
        connected: _ApiConnections,
        sync: watch_sync.WatchSync,
        stopping: asyncio.Event,
        schedules: loop.BindingSchedulingLoop,
    ) -> shared_http_servers.Pages:
        queue = self._handlers.queue
        checked = karmada_health_checks.MonitoredKarmadaComponents(
            connected.elector, sync, tuple(_READERS), stopping, schedules, queue, self._clock
        )
        return karmada_health_checks.make_karmada_health_checks(checked).make_pages()

    def _make_page_servers(
        self, connected: _ApiConnections, health: shared_http_servers.Pages
    ) -> Iterable[Coroutine[Any, Any, None]]:
        """Return coroutines that serve the pages.

        Raises:
            ConfigurationError: an address is unavailable.
        """
        own = exporter.MetricsExporter()
        own.add_collector(lambda: metrics.collect_binding_metrics(self._measured, self._handlers))
        own.add_collector(metrics.collect_build_info)
        for collect in self._following.collectors if self._following is not None else ():
            own.add_collector(collect)
        if self._estimators is not None:
            own.add_collector(self._estimators.collect_metrics)
        own.add_collector(
            lambda: election.collect_leadership_metrics(self._options.election, connected.elector)
        )
        host = urllib.parse.urlsplit(connected.to.server).netloc
        own.add_collector(
            lambda: request_metrics.collect_request_metrics(connected.api.stats, host)
        )
        said = self._options
        return shared_http_servers.make_serving_coroutines(
            (said.health_address, health), (said.metrics_address, {exporter.PATH: own.make_page})
        )
