"""Live metrics: one query per metric and refresh, for any number of nodes and pods."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeAlias

from policysched import errors
from policysched.cluster.metrics import metric_table, metric_windows
from policysched.lang.checked import checked
from policysched.promapi import (
    connection,
    failures,
    followed_metric,
    node_names_thread,
    query_source,
    settings,
    status,
)

_log = logging.getLogger(__name__)

Refresh: TypeAlias = Callable[[Mapping[str, Mapping[str, metric_table.Sample]]], None]
"""Receives new samples: key of the metric → name of the node → sample."""
Backfill: TypeAlias = Callable[[Mapping[str, metric_windows.OlderSamples]], None]
"""Receives older samples for windows, keyed by the key of the metric."""
Connect: TypeAlias = Callable[[str, settings.PrometheusSource], query_source.QueryClient]


_NO_WINDOWS: Mapping[str, float] = {}


class LiveMetricsSource:
    """Keeps the samples of the policies' metrics up to date by querying Prometheus servers.

    Each source has threads that wait for answers and decode them, and one more thread joins the
    answers of all sources with nodes. Everything else runs in the thread of the event loop.
    """

    def __init__(
        self,
        sources: Mapping[str, settings.PrometheusSource],
        metrics: Iterable[checked.CheckedMetric],
        dependencies: query_source.SourceDependencies,
        connect: Connect = connection.PrometheusClient,
    ) -> None:
        """Configure the servers, keyed by source name, and the first metrics; send no query yet.

        Raises:
            ConfigurationError: a metric's source does not exist.
        """
        self._dependencies = dependencies
        self._default = settings.get_default_source_name(list(sources))
        self._sources = {
            name: query_source.PrometheusQuerySource(name, one, connect(name, one), dependencies)
            for name, one in sources.items()
        }
        self._joins = node_names_thread.NodeNamesThread()
        self._followed: dict[str, followed_metric.FollowedMetric] = {}
        self._tasks: dict[str, asyncio.Task[NoReturn]] = {}
        self._backfills: dict[str, asyncio.Task[None]] = {}
        self._range_turn = asyncio.Lock()
        self._changed = asyncio.Event()
        self.set_metrics(metrics)

    def set_metrics(
        self,
        metrics: Iterable[checked.CheckedMetric],
        window_seconds: Mapping[str, float] = _NO_WINDOWS,
    ) -> None:
        """Query these metrics from now on; metrics whose query is unchanged keep their samples.

        Args:
            metrics: the metrics to query.
            window_seconds: length of the longest window over each metric, keyed by the key of the
                metric; the older samples are requested once.

        Raises:
            ConfigurationError: a metric's source does not exist; the metrics are unchanged.
        """
        followed = {}
        for metric in metrics:
            origin = self._get_source(metric)
            known = self._followed.get(metric.key)
            if known is None or not known.is_same_query(metric, origin):
                followed[metric.key] = followed_metric.FollowedMetric(
                    metric, origin, self._dependencies, self._joins
                )
            elif known.metric == metric:
                followed[metric.key] = known
            else:
                followed[metric.key] = followed_metric.FollowedMetric(
                    metric, origin, self._dependencies, self._joins, known.kept
                )
        for key, each in followed.items():
            each.record_longest_window_seconds(window_seconds.get(key, 0.0))
        self._followed = followed
        for one in self._sources.values():
            one.forget_other_metrics(followed.keys())
        self._changed.set()

    def get_server_health(self) -> tuple[status.SourceHealth, ...]:
        """Return the health of each source."""
        return tuple(each.health for each in self._sources.values())

    def get_metric_stats(self) -> tuple[status.MetricStats, ...]:
        """Return the status and counters of each metric."""
        return tuple(each.stats for each in self._followed.values())

    async def wait_until_metrics_asked(self) -> None:
        """Wait until every metric has been queried once, or its source does not answer.

        When this returns, the windows over metrics with an answer also have their older samples,
        unless the query for these failed.
        """
        await self._wait_until_all_queried()
        answered = [each for each in self._followed.values() if each.answered.is_set()]
        await asyncio.gather(*(each.backfilled.wait() for each in answered))

    async def _wait_until_all_queried(self) -> None:
        await asyncio.gather(*(each.asked.wait() for each in self._followed.values()))

    async def run(
        self, refresh: Refresh, nodes: node_names_thread.NodeLister, backfill: Backfill
    ) -> NoReturn:
        """Query periodically; pass new samples to `refresh`, and older ones to `backfill` once."""
        try:
            await nodes.wait_synced()
            while True:
                self._changed.clear()
                await self._start_and_stop_tasks(refresh, nodes)
                self._start_backfills(backfill, nodes)
                await self._changed.wait()
        finally:
            await self._stop_tasks(list(self._tasks))
            for each in self._sources.values():
                each.close()
            self._joins.close()

    async def _start_and_stop_tasks(
        self, refresh: Refresh, nodes: node_names_thread.NodeLister
    ) -> None:
        """Start and stop tasks so that each current metric has exactly one task."""
        gone = [
            key for key, task in self._tasks.items() if task.get_name() != self._make_task_name(key)
        ]
        await self._stop_tasks(gone)
        # The new metric with this key can have another query, and therefore other samples.
        for key in gone:
            followed = self._followed.get(key)
            refresh({key: followed.kept.samples if followed else {}})
        for key, followed in self._followed.items():
            if key not in self._tasks:
                self._tasks[key] = asyncio.create_task(
                    self._follow_metric(followed, refresh, nodes), name=self._make_task_name(key)
                )

    def _start_backfills(self, backfill: Backfill, nodes: node_names_thread.NodeLister) -> None:
        """Start tasks for the older samples that windows need, at most one task for each metric."""
        for key, followed in self._followed.items():
            task = self._backfills.get(key)
            if not followed.backfilled.is_set() and (task is None or task.done()):
                self._backfills[key] = asyncio.create_task(
                    self._backfill_metric(followed, backfill, nodes), name=f"metric {key} backfill"
                )

    def _make_task_name(self, key: str) -> str:
        # The key includes the object's identity, to distinguish the task of a replaced metric.
        followed = self._followed.get(key)
        return "" if followed is None else f"metric {key} {id(followed)}"

    async def _stop_tasks(self, keys: Iterable[str]) -> None:
        keys = list(keys)
        tasks: list[asyncio.Task[Any]] = [self._tasks.pop(key) for key in keys]
        tasks += [self._backfills.pop(key) for key in keys if key in self._backfills]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _follow_metric(
        self,
        followed: followed_metric.FollowedMetric,
        refresh: Refresh,
        nodes: node_names_thread.NodeLister,
    ) -> NoReturn:
        """Query one metric periodically and pass its samples to `refresh`."""
        wait_seconds = followed.compute_first_wait_seconds()
        while True:
            await self._dependencies.sleep(wait_seconds)
            failure = None
            try:
                await followed.fetch_samples_once(nodes)
                refresh({followed.metric.key: followed.kept.samples})
            except failures.QueryError as error:
                failure = error
                if error.is_source_at_fault and followed.origin.is_failing:
                    self._release_waiters_of_source(followed.origin)
            except Exception:  # noqa: BLE001 - logged, see below
                # An error that an answer causes in a library must not stop this metric's queries.
                _log.exception("the query of metric `%s` failed", followed.metric.name)
            followed.asked.set()
            self._dependencies.observer.metric_asked(followed.stats)
            wait_seconds = followed.compute_wait_seconds(failure)

    async def _backfill_metric(
        self,
        followed: followed_metric.FollowedMetric,
        backfill: Backfill,
        nodes: node_names_thread.NodeLister,
    ) -> None:
        """Fetch the older samples of one metric, after the first answers of all metrics.

        Only one metric is fetched at a time. A failure is not retried, because new samples fill the
        window over time.
        """
        name = followed.metric.name
        await followed.answered.wait()
        await self._wait_until_all_queried()
        while not followed.backfilled.is_set():
            async with self._range_turn:
                seconds = followed.window_seconds
                try:
                    older = await followed.fetch_older_samples(nodes)
                    backfill({followed.metric.key: older})
                except failures.QueryError as error:
                    _log.warning(
                        "the window of metric `%s` fills only with new samples: %s", name, error
                    )
                except Exception:  # noqa: BLE001 - logged; see `_follow_metric`
                    _log.exception("the query for older samples of metric `%s` failed", name)
            if followed.window_seconds <= seconds:
                followed.backfilled.set()

    def _release_waiters_of_source(self, origin: query_source.PrometheusQuerySource) -> None:
        """Mark all metrics of an unresponsive source as asked, so that no caller waits for them."""
        for each in self._followed.values():
            if each.origin is origin:
                each.asked.set()

    def _get_source(self, metric: checked.CheckedMetric) -> query_source.PrometheusQuerySource:
        """Return the source of a metric; raise ConfigurationError if it is not configured."""
        name = metric.source_name or self._default
        found = self._sources.get(name or "")
        if found is not None:
            return found
        known = ", ".join(f"`{name}`" for name in self._sources)
        if name is None:
            problem = "names no source, and none of the several sources is named `default`"
        else:
            problem = f"names the source `{name}`, which is not configured"
        raise errors.ConfigurationError(
            f"metric `{metric.name}`", problem, help=f"there are {known}"
        )
