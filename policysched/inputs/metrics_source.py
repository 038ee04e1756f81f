"""Sources of metric samples for a running scheduler."""

from __future__ import annotations

import asyncio
import datetime
import logging
import pathlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol, TypeAlias

from policysched import errors, process
from policysched.cluster.metrics import metric_table, metric_windows
from policysched.inputs import metrics_file
from policysched.promapi import node_names_thread, status

if TYPE_CHECKING:
    from policysched.lang.checked import checked
    from policysched.promapi import query_source, settings

_log = logging.getLogger(__name__)

Refresh: TypeAlias = Callable[[Mapping[str, Mapping[str, metric_table.Sample]]], None]
"""Receives new samples: metric key → node → sample."""

Backfill: TypeAlias = Callable[[Mapping[str, metric_windows.OlderSamples]], None]
"""Receives older samples for windows, keyed by metric key."""

_POLL_SECONDS = 1.0
_FIRST_METRICS_SECONDS = 10.0
"""How long scheduling waits for first samples; after that, metrics without one are missing."""


class MetricsSource(Protocol):
    """Provides metric samples, outside the scheduling path."""

    async def run(
        self, refresh: Refresh, nodes: node_names_thread.NodeLister, backfill: Backfill
    ) -> NoReturn:
        """Call `refresh` with all samples of a metric whenever there are new ones.

        `backfill` is called once with older samples to fill windows at start, if there are any.
        """
        ...

    async def wait_until_metrics_asked(self) -> None:
        """Wait until all metrics and their windows have been queried once, successfully or not."""
        ...

    def set_metrics(
        self, metrics: Iterable[checked.CheckedMetric], window_seconds: Mapping[str, float]
    ) -> None:
        """Provide these metrics from now on; `window_seconds` maps metric keys to window lengths.

        Raises:
            ConfigurationError: a metric has no source; the previous metrics remain.
        """
        ...

    def get_server_health(self) -> tuple[status.SourceHealth, ...]:
        """Return the health of each server; a file source has none."""
        ...

    def get_metric_stats(self) -> tuple[status.MetricStats, ...]:
        """Return the status of each metric; a file source has none."""
        ...


class PausableLoop(Protocol):
    """A scheduling loop whose decisions can be paused."""

    def pause(self) -> None:
        """Make no decisions until `resume` is called."""
        ...

    def resume(self) -> None:
        """Resume decisions after `pause`."""
        ...


async def pause_for_first_samples(
    source: MetricsSource, scheduling: PausableLoop, news: asyncio.Event | None = None
) -> None:
    """Pause scheduling until all metrics have been queried once, for a few seconds at most.

    The event `news`, which signals for example a change to the policies, also ends the pause.
    """
    scheduling.pause()
    try:
        async with asyncio.timeout(_FIRST_METRICS_SECONDS):
            await process.run_until_stopped(
                news or asyncio.Event(), source.wait_until_metrics_asked()
            )
    except TimeoutError:
        _log.warning("scheduling starts before all metrics have been queried")
    finally:
        scheduling.resume()


class MetricsFileSource:
    """Provides the samples in a file, which is read again when it changes.

    The time of each sample is the file's last modification, so the samples of a file that is no
    longer written become stale, as with any source.
    """

    def __init__(
        self,
        path: str,
        declared: Iterable[checked.CheckedMetric],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Read the file once, and fail if it is invalid.

        Raises:
            InputError: the file cannot be read or is invalid; later errors are only logged.
        """
        self._path = pathlib.Path(path)
        self._declared = tuple(declared)
        self._asked = asyncio.Event()
        self._sleep = sleep
        self._version: tuple[int, int] | None = self._get_file_identity()
        self._first: metrics_file.Samples | None = self._read_samples()

    async def run(
        self, refresh: Refresh, nodes: node_names_thread.NodeLister, backfill: Backfill
    ) -> NoReturn:
        """Call `refresh` with the samples of the file, now and after each change.

        A file has no older samples.
        """
        if self._first is not None:
            refresh(self._first)
        self._asked.set()
        while True:
            await self._sleep(_POLL_SECONDS)
            await self.poll_file(refresh)

    async def wait_until_metrics_asked(self) -> None:
        """Wait until the file has been read for the current metrics, successfully or not."""
        await self._asked.wait()

    def set_metrics(
        self, metrics: Iterable[checked.CheckedMetric], window_seconds: Mapping[str, float]
    ) -> None:
        """Read the file again at the next poll if the metrics changed; windows start empty."""
        declared = tuple(metrics)
        if declared != self._declared:
            self._declared = declared
            self._version = None
            self._asked.clear()

    def get_server_health(self) -> tuple[status.SourceHealth, ...]:
        """Return nothing: a file is not a server."""
        return ()

    def get_metric_stats(self) -> tuple[status.MetricStats, ...]:
        """Return nothing: there are no queries."""
        return ()

    async def poll_file(self, refresh: Refresh) -> None:
        """Read the file if it has changed; if it is invalid, keep the previous samples."""
        declared = self._declared
        await self._poll_for_changes(refresh)
        if declared is self._declared:
            self._asked.set()

    async def _poll_for_changes(self, refresh: Refresh) -> None:
        """Refresh the samples if the file has changed; log a warning if the file is invalid."""
        try:
            version = self._get_file_identity()
            if version == self._version:
                return
            self._version = version
            samples = await process.run_in_thread(self._read_samples)
        except errors.InputError as error:
            _log.warning("keeping the previous metric values: %s", error)
            return
        refresh(samples)

    def _get_file_identity(self) -> tuple[int, int]:
        try:
            found = self._path.stat()
        except OSError as error:
            problem = f"cannot be read: {error.strerror}"
            raise errors.InputError(str(self._path), problem) from error
        return found.st_mtime_ns, found.st_size

    def _read_samples(self) -> metrics_file.Samples:
        version = self._version or self._get_file_identity()
        written_at = datetime.datetime.fromtimestamp(version[0] / 1e9, datetime.UTC)
        found = metrics_file.read_metric_samples(str(self._path), self._declared, written_at)
        # A metric that the file no longer names has no sample, so its old samples must be removed.
        return {metric.key: found.get(metric.key, {}) for metric in self._declared}


def open_metrics_source(
    file: str | None,
    servers: Mapping[str, settings.PrometheusSource],
    declared: Sequence[checked.CheckedMetric],
    dependencies: query_source.SourceDependencies,
) -> MetricsSource | None:
    """Return the source of samples: the file if given, else the Prometheus servers, else None.

    Raises:
        InputError: the file cannot be read or is invalid.
        ConfigurationError: a metric names a server that is not configured.
    """
    if file is not None:
        return MetricsFileSource(file, declared)
    if not servers:
        return None
    from policysched.promapi import live_metrics_source  # noqa: PLC0415 - imports an HTTP client

    return live_metrics_source.LiveMetricsSource(servers, declared, dependencies)
