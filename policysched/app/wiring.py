"""The scheduler of `run`: `kube`, `scheduler`, profiles and metrics joined, started and stopped."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import math
import platform
import random
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, NoReturn

import policysched
from policysched import clock as clocks
from policysched import errors
from policysched.app import (
    config,
    config_reading,
    http_server,
    logs,
    metrics_source,
    own_metrics,
    policies,
    process,
    source_watch,
    terms,
)
from policysched.app import election as elections
from policysched.cluster import cache as caches
from policysched.cluster import node_names
from policysched.framework import events, interface, runtime
from policysched.kube import (
    binding,
    client,
    event_recorder,
    eviction,
    kubeconfig,
    pod_status,
    rate_limit,
    reflector,
    resources,
    volume_writing,
)
from policysched.promapi import live_source, settings, source
from policysched.queue import scheduling_queue
from policysched.scheduler import ports
from policysched.scheduler import scheduler as schedulers

_log = logging.getLogger("policysched")

_OTHER_CONNECTIONS = 32
"""Connections besides those of bindings: watches, events, status."""
_FLUSH_SECONDS = 5.0
_LONGEST_SLEEP_SECONDS = 60.0
"""The wall clock may be set; timers by it look again this often."""
_METRICS_LOOK_SECONDS = 1.0
"""How late a pod may be tried again after a sample grew old."""
_FIRST_METRICS_SECONDS = 10.0
"""How long pods wait for first values of metrics; what has none by then is missing."""
_POLICY_CHANGE = events.ClusterEvent(events.EventResource.POLICY, events.ActionType.UPDATE_OTHER)


@dataclasses.dataclass(frozen=True, slots=True)
class RunOptions:
    """What `run` is started with.

    Attributes:
        kubeconfig: a path, None for the usual places.
        context: a context of it, None for the current one.
        config: a configuration file.
        policies: see `policy_sources.read`.
        params: values of params, over those of the configuration.
        scheduler_name: name of the profile where the policies declare none.
        metrics_file: see `metrics_source.FileSource`; it stands for all of Prometheus.
        prometheus: `[NAME=]URL`, over the servers of the configuration.
        metrics_address: where metrics of our own are served; None for nowhere.
        leader_election: over what the configuration says of it.
    """

    kubeconfig: str | None = None
    context: str | None = None
    config: str | None = None
    policies: tuple[str, ...] = ()
    params: Mapping[str, str] = dataclasses.field(default_factory=dict)
    scheduler_name: str | None = None
    metrics_file: str | None = None
    prometheus: tuple[str, ...] = ()
    metrics_address: http_server.Address | None = None
    leader_election: elections.Overrides = dataclasses.field(default_factory=dict)


class Service:
    """One scheduler process: everything that is read before the API server is asked.

    Attributes:
        policy_set: the profiles to be made.
    """

    def __init__(self, options: RunOptions, clock: clocks.Clock) -> None:
        """Read configuration, policies and metrics.

        Raises:
            InputError: something cannot be read or is wrong.
        """
        self._options = options
        self._clock = clock
        self._rng = random.Random()
        self._config = config_reading.read(options.config) if options.config else config.Config()
        self._election = elections.with_overrides(
            self._config.leader_election, options.leader_election
        )
        self.policy_set = policies.load(
            options.policies, options.params, options.scheduler_name, self._config
        )
        self._own_metrics = own_metrics.OwnMetrics()
        self._source_watch = source_watch.SourceWatch(self._own_metrics)
        self._metrics = self._metrics_source()

    def _metrics_source(self) -> metrics_source.MetricsSource | None:
        options, declared = self._options, self.policy_set.metrics
        if options.metrics_file is not None:
            if options.prometheus:
                raise errors.UsageError("give either --metrics-file or --prometheus")
            return metrics_source.FileSource(options.metrics_file, declared)
        servers = self._config.prometheus | dict(map(settings.from_option, options.prometheus))
        if servers:
            watch = self._source_watch
            around = source.Surroundings(self._clock, self._rng, observer=watch)
            return live_source.LiveSource(servers, declared, around)
        if declared:
            _log.warning(
                "the policies read metrics, which are missing on all nodes without a source; "
                "give --prometheus URL, or `prometheus` in the configuration"
            )
        return None

    async def run(self) -> None:
        """Schedule until the process is asked to stop.

        Raises:
            InputError: the kubeconfig or a plugin cannot be used.
            RemoteError: a credential could not be had.
        """
        stopping = process.stop_on_signals()
        connection = await kubeconfig.load(
            self._options.kubeconfig, self._options.context, self._clock
        )
        connections = self._config.parallel_binds + _OTHER_CONNECTIONS
        writes = elections.new_fence(self._election, self._clock)
        async with (
            client.ApiClient(
                connection,
                rng=self._rng,
                max_connections=connections,
                limit=self._request_limit(),
                fence=writes,
            ) as api,
            elections.elector(
                self._election, connection, writes, self._clock, self._rng
            ) as elector,
        ):
            _log.info(
                "starting %s",
                logs.fields(
                    version=policysched.__version__,
                    server=connection.server,
                    policies=",".join(self._options.policies) or "none",
                    hash=self.policy_set.content_hash or "none",
                ),
            )
            await self._serve(api, elector, stopping)
        _log.info("stopped")

    def _request_limit(self) -> rate_limit.TokenBucket | None:
        limits = self._config.client_connection
        if limits.qps is None:
            return None
        burst = limits.burst or math.ceil(2 * limits.qps)
        return rate_limit.TokenBucket(limits.qps, burst, self._clock)

    async def _serve(
        self, api: client.ApiClient, elector: terms.Elector, stopping: asyncio.Event
    ) -> None:
        instance = f"policysched-{platform.node()}"
        recorder = event_recorder.ApiEventRecorder(api, self._clock, instance=instance)
        status_writer = pod_status.PodStatusWriter(api, self._clock)
        evictor = eviction.PodEvictor(api, self._clock)
        outside = ports.Outside(recorder, status_writer, evictor)
        scheduler = schedulers.Scheduler({}, outside, self._clock, settings=self._settings())
        profiles = self._set_profiles(scheduler, api)
        reflectors = _reflectors(api, scheduler, self._rng)
        background: list[Coroutine[None, None, None]] = [each.run() for each in reflectors]
        background += [recorder.run(), status_writer.run()]
        background.append(self._retry_by_time(scheduler, profiles))
        background.append(self._look_at_metrics(scheduler, profiles))
        self._source_watch.recorder = recorder
        if self._options.metrics_address is not None:
            self._own_metrics.follow(scheduler, profiles.metric_readers, self._metrics)
            self._own_metrics.add(lambda: elections.status(self._election, elector))
            pages = {own_metrics.PATH: self._own_metrics.page}
            background.append(http_server.HttpServer(self._options.metrics_address, pages).run())
        if self._metrics is not None:
            nodes = _ClusterNodes(scheduler.cache, reflectors[0].synced)
            handlers = scheduler.events
            background.append(
                self._metrics.run(handlers.refresh_metrics, nodes, handlers.backfill_metrics)
            )
        leading = self._terms(elector, scheduler, reflectors[-1])
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in background]
            tasks.append(group.create_task(self._schedule(scheduler, reflectors, leading)))
            await stopping.wait()
            _log.info("stopping")
            await leading.end(lambda: _flush(recorder, status_writer))
            for task in tasks:
                task.cancel()
        await leading.hand_over()

    def _terms(
        self,
        elector: terms.Elector,
        scheduler: schedulers.Scheduler,
        pods: reflector.Reflector[Any],
    ) -> terms.Terms:
        if not self._election.leader_elect:
            return terms.Terms(elector, scheduler)
        return terms.Terms(
            elector,
            scheduler,
            refresh=pods.refresh,
            last_writes_seconds=elections.times(self._election).last_writes_seconds,
        )

    async def _schedule(
        self,
        scheduler: schedulers.Scheduler,
        reflectors: Sequence[reflector.Reflector[Any]],
        leading: terms.Terms,
    ) -> None:
        """Schedule pods whenever this process leads, once everything has been listed."""
        started_seconds = self._clock.monotonic_seconds()
        await asyncio.gather(*(each.synced.wait() for each in reflectors))
        await self._wait_for_metrics()
        process.settle_memory()
        seconds = self._clock.monotonic_seconds() - started_seconds
        cache = scheduler.cache
        _log.info(
            "synced %s",
            logs.fields(
                nodes=cache.nodes.alive_count, pods=cache.pod_count, seconds=f"{seconds:.1f}"
            ),
        )
        await leading.run()

    async def _wait_for_metrics(self) -> None:
        """Give metrics a moment: pods that wait since before the start should not go blind."""
        if self._metrics is None:
            return
        try:
            async with asyncio.timeout(_FIRST_METRICS_SECONDS):
                await self._metrics.wait_asked()
        except TimeoutError:
            _log.warning("scheduling begins before all metrics have been asked")

    def _settings(self) -> schedulers.SchedulerSettings:
        return schedulers.SchedulerSettings(
            queue=scheduling_queue.QueueSettings(
                initial_backoff_seconds=self._config.pod_initial_backoff_seconds,
                max_backoff_seconds=self._config.pod_max_backoff_seconds,
                max_unschedulable_seconds=self._config.pod_max_in_unschedulable_pods_seconds,
            ),
            max_bindings_in_flight=self._config.parallel_binds,
        )

    async def _retry_by_time(
        self, scheduler: schedulers.Scheduler, profiles: policies.Profiles
    ) -> NoReturn:
        """Try rejected pods again whenever a rule begins or ceases to act by the time."""
        while True:
            now = self._clock.now()
            change = profiles.next_change(now)
            seconds = _LONGEST_SLEEP_SECONDS if change is None else (change - now).total_seconds()
            await asyncio.sleep(min(seconds, _LONGEST_SLEEP_SECONDS))
            if change is not None and self._clock.now() >= change:
                scheduler.queue.move_all_to_active_or_backoff(_POLICY_CHANGE, None, None)

    async def _look_at_metrics(
        self, scheduler: schedulers.Scheduler, profiles: policies.Profiles
    ) -> NoReturn:
        """Try rejected pods again when samples grow old or just-placed pods cease to count.

        A refresh does so by itself; this is for samples that nothing refreshes any more.
        """
        while True:
            before = profiles.next_metric_change(scheduler.cache.snapshot())
            await asyncio.sleep(_METRICS_LOOK_SECONDS)
            if before is not None and self._clock.now() >= before:
                scheduler.events.look_at_metrics()

    def _set_profiles(
        self, scheduler: schedulers.Scheduler, api: client.ApiClient
    ) -> policies.Profiles:
        cache = scheduler.cache
        handle = interface.Handle(
            binding.ApiBinder(api),
            cache.owners,
            scheduler.preemptions,
            cache.storage,
            cache.budgets,
            volume_writer=volume_writing.ApiVolumeWriter(api),
            rng=self._rng,
        )
        profiles = policies.require(policies.make(self.policy_set, handle))
        for line in policies.describe(profiles):
            _log.info("%s", line)
        frameworks = {
            name: runtime.Framework(prof, self._rng) for name, prof in profiles.by_name.items()
        }
        scheduler.set_profiles(frameworks, profiles.annotation_keys, profiles.metric_needs)
        if self._metrics is not None:
            histories = profiles.metric_needs.histories
            window_seconds = {key: need.seconds for key, need in histories.items()}
            self._metrics.set_metrics(self.policy_set.metrics, window_seconds)
        return profiles


class _ClusterNodes:
    """The nodes of the cache, for whoever brings metrics."""

    def __init__(self, cache: caches.Cache, synced: asyncio.Event) -> None:
        """Follow `cache`, complete once `synced` is set."""
        self._cache = cache
        self._synced = synced
        self._names = node_names.NodeNames()

    async def wait_synced(self) -> None:
        """Return when all nodes have been listed."""
        await self._synced.wait()

    def names(self) -> node_names.NodeNames:
        """Return what the nodes that there are now are called."""
        self._names.follow(node for node in self._cache.nodes.nodes if node is not None)
        return self._names


def _reflectors(
    api: client.ApiClient, scheduler: schedulers.Scheduler, rng: random.Random
) -> list[reflector.Reflector[Any]]:
    handlers = scheduler.events
    sinks: list[tuple[resources.Resource[Any], reflector.Sink[Any]]] = [
        (resources.NODES, handlers.nodes),  # the first: metrics wait for it
        (resources.NAMESPACES, handlers.namespaces),
        *((resources.OWNERS[kind], sink) for kind, sink in handlers.owners.items()),
        *((resources.STORAGE[kind], sink) for kind, sink in handlers.storage.items()),
        (resources.BUDGETS, handlers.budgets),
        (resources.PODS, handlers.pods),  # the last: a new leader lists them again
    ]
    return [reflector.Reflector(api, resource, sink, rng=rng) for resource, sink in sinks]


async def _flush(
    recorder: event_recorder.ApiEventRecorder, status_writer: pod_status.PodStatusWriter
) -> None:
    """Let what was decided be told, as far as the API server takes it in time."""
    try:
        async with asyncio.timeout(_FLUSH_SECONDS):
            await asyncio.gather(recorder.flush(), status_writer.flush())
    except TimeoutError:
        _log.warning("some events or conditions were not written before the end")
