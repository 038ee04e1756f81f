"""Where metric samples come from while the scheduler runs."""

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
from policysched.lang.checked import checked
from policysched.promapi import node_names_thread, status

if TYPE_CHECKING:
    from policysched.promapi import query_source, settings

_log = logging.getLogger(__name__)

Refresh: TypeAlias = Callable[[Mapping[str, Mapping[str, metric_table.Sample]]], None]
"""Takes new samples: key of the metric → node → sample."""

Backfill: TypeAlias = Callable[[Mapping[str, metric_windows.OlderSamples]], None]
"""Takes older samples, for windows: key of the metric → these."""

_POLL_SECONDS = 1.0
_FIRST_METRICS_SECONDS = 10.0
"""How long scheduling waits for first values of metrics; what has none by then is missing."""


class MetricsSource(Protocol):
    """Brings samples, off the scheduling path."""

    async def run(
        self, refresh: Refresh, nodes: node_names_thread.NodeLister, backfill: Backfill
    ) -> NoReturn:
        """Call `refresh` with all samples of a metric whenever there are new ones.

        `backfill` takes what windows are begun with, once, where there are older samples.
        """
        ...

    async def wait_until_metrics_asked(self) -> None:
        """Return when all metrics have been asked once, whatever came of it, windows included."""
        ...

    def set_metrics(
        self, metrics: Iterable[checked.CheckedMetric], window_seconds: Mapping[str, float]
    ) -> None:
        """Follow these metrics from now on; `window_seconds` is how far windows reach, by key.

        Raises:
            ConfigurationError: one of them cannot be had; then nothing has changed.
        """
        ...

    def get_server_health(self) -> tuple[status.SourceHealth, ...]:
        """Return how each server is doing; a file is none."""
        ...

    def get_metric_stats(self) -> tuple[status.MetricStats, ...]:
        """Return how each metric is doing, as far as that is known."""
        ...


class PausableLoop(Protocol):
    """A loop that can be told to decide nothing for a while."""

    def pause(self) -> None:
        """Decide nothing before `resume`."""
        ...

    def resume(self) -> None:
        """Decide again."""
        ...


async def pause_for_first_samples(
    source: MetricsSource, scheduling: PausableLoop, news: asyncio.Event | None = None
) -> None:
    """Pause scheduling until all metrics have been asked once, for some seconds at most.

    `news`, such as of other policies, end it, too.
    """
    scheduling.pause()
    try:
        async with asyncio.timeout(_FIRST_METRICS_SECONDS):
            await process.run_until_stopped(
                news or asyncio.Event(), source.wait_until_metrics_asked()
            )
    except TimeoutError:
        _log.warning("scheduling goes on before all metrics have been asked")
    finally:
        scheduling.resume()


class MetricsFileSource:
    """Samples in a file, which is read again when it changes.

    They count as measured when the file was last written: a file that is no longer written turns
    stale as any source does.
    """

    def __init__(
        self,
        path: str,
        declared: Iterable[checked.CheckedMetric],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Read `path`.

        Raises:
            InputError: the file cannot be read or is wrong; later that is logged only.
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
        """Hand on what the file says, now and whenever it changes; it names nodes by their name.

        A file knows of no older samples.
        """
        if self._first is not None:
            refresh(self._first)
        self._asked.set()
        while True:
            await self._sleep(_POLL_SECONDS)
            await self.poll_file(refresh)

    async def wait_until_metrics_asked(self) -> None:
        """Return when what the file says of these metrics has been handed on."""
        await self._asked.wait()

    def set_metrics(
        self, metrics: Iterable[checked.CheckedMetric], window_seconds: Mapping[str, float]
    ) -> None:
        """Read the file again, if these are other metrics; windows fill as it is written."""
        declared = tuple(metrics)
        if declared != self._declared:
            self._declared = declared
            self._version = None
            self._asked.clear()

    def get_server_health(self) -> tuple[status.SourceHealth, ...]:
        """Return nothing: a file is no server."""
        return ()

    def get_metric_stats(self) -> tuple[status.MetricStats, ...]:
        """Return nothing: nobody is asked."""
        return ()

    async def poll_file(self, refresh: Refresh) -> None:
        """Look once whether the file has changed; what cannot be used leaves the samples alone."""
        declared = self._declared
        await self._poll_for_changes(refresh)
        if declared is self._declared:
            self._asked.set()

    async def _poll_for_changes(self, refresh: Refresh) -> None:
        try:
            version = self._get_file_identity()
            if version == self._version:
                return
            self._version = version
            samples = await process.run_in_thread(self._read_samples)
        except errors.InputError as error:
            _log.warning("keeping the old metric values: %s", error)
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
        # A metric that the file no longer names has no sample: its old ones must go.
        return {metric.key: found.get(metric.key, {}) for metric in self._declared}


def open_metrics_source(
    file: str | None,
    servers: Mapping[str, settings.PrometheusSource],
    declared: Sequence[checked.CheckedMetric],
    around: query_source.SourceDependencies,
) -> MetricsSource | None:
    """Return the source of samples: a file, else Prometheus servers, None without either.

    Raises:
        InputError: the file cannot be read or is wrong.
        ConfigurationError: a metric names a server that is not configured.
    """
    if file is not None:
        return MetricsFileSource(file, declared)
    if not servers:
        return None
    from policysched.promapi import live_metrics_source  # noqa: PLC0415 - brings its own HTTP client

    return live_metrics_source.LiveMetricsSource(servers, declared, around)
