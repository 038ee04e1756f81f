"""The life cycle of a scheduler process, shared by `run` and `karmada run`.

A process connects, assembles its components, works until a signal stops it, ends its term as
leader, and releases the lease.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from policysched import clock as clocks
from policysched import malloc_tuning, process
from policysched.config import election_config
from policysched.kernels import installation
from policysched.kube.auth import kubeconfig
from policysched.kube.http import rate_limit
from policysched.leadership import election, runner

_log = logging.getLogger("policysched")

Serve = Callable[[kubeconfig.ApiClientConfig, asyncio.Event], Awaitable[None]]


async def connect_and_serve(
    connecting: Coroutine[Any, Any, kubeconfig.ApiClientConfig], serve: Serve
) -> None:
    """Connect, and `serve` until a signal asks the process to stop and sets the event.

    Raises:
        InputError: the kubeconfig cannot be used.
        RemoteError: no credential was available.
        PolicySchedError: a compiled kernel does not match its source.
    """
    installation.warn_of_interpreted_kernels()
    malloc_tuning.map_connection_buffers_separately()
    process.make_garbage_collection_rare()
    stopping = process.stop_on_signals()
    connection = await process.run_until_stopped(stopping, connecting)
    if connection is None:
        return
    await serve(connection, stopping)
    _log.info("stopped")


def make_request_limit(
    qps: float | None, burst: int, clock: clocks.Clock
) -> rate_limit.TokenBucket | None:
    """Return a token bucket for `qps` requests per second, or None for no limit."""
    return None if qps is None else rate_limit.TokenBucket(qps, burst, clock)


def make_leadership_runner(
    config: election_config.LeaderElectionConfig,
    elector: runner.LeaderElector,
    loop: runner.LeaderTask,
    refresh: runner.Refresh,
) -> runner.LeadershipRunner:
    """Return the runner of terms; without leader election there is one endless term.

    `refresh` lists objects again before a term, because the watches may not show the last writes of
    the previous leader yet.
    """
    if not config.leader_elect:
        return runner.LeadershipRunner(elector, loop)
    last_writes_seconds = election.parse_lease_timings(config).last_writes_seconds
    return runner.LeadershipRunner(
        elector, loop, refresh=refresh, last_writes_seconds=last_writes_seconds
    )


async def run_until_stopped(
    background: Iterable[Coroutine[Any, Any, None]],
    leading: runner.LeadershipRunner,
    flush: Callable[[], Awaitable[None]],
    stopping: asyncio.Event,
) -> None:
    """Run `background` until the process is asked to stop.

    Then end the term, `flush` pending writes, and release the lease.
    """
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in background]
        await stopping.wait()
        _log.info("stopping")
        await leading.stop_scheduling_and_flush(flush)
        for task in tasks:
            task.cancel()
    await leading.release_lease()


def close_coroutines(background: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Close coroutines that will not run, because Python warns about unawaited coroutines."""
    for each in background:
        each.close()
