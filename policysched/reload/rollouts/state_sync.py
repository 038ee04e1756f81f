"""Read the state of the rollout at the beginning of a term, and write the states of the leader.

Requests run in the background, so that no guard and no operator waits for a slow API server.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import NoReturn

from policysched import clock as clocks
from policysched.kube import errors
from policysched.reload import retries
from policysched.reload.rollouts import rollout_store
from policysched.rollout import progress

_log = logging.getLogger("policysched")

_INTERVAL_SECONDS = 10.0
"""Interval at which the counts of a running stage are written, for `rollout status`."""
_FENCED_PAUSE_SECONDS = 1.0
"""Pause after a write that was not sent, because the Lease may be lost."""
_FAULT_PAUSE_SECONDS = 10.0
_PROMOTED = progress.RolloutStatus.PROMOTED


class RolloutStateSync:
    """Keeps the state in the cluster equal to that of the leader.

    Attributes:
        is_read: whether the state was read in this term.
        stored: the state in the cluster, as last read or written; None if there is none.
        former_texts: hashes of the texts of stored versions; see `rollout_store.StoredRollout`.
        on_change: called after each successful request.
        failed_requests: number of reads and writes that failed in this process.
    """

    def __init__(
        self,
        store: rollout_store.RolloutStore,
        clock: clocks.Clock,
        rng: random.Random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Use the ConfigMap of `store`; `rng` randomises the delays of retries."""
        self.is_read = False
        self.stored: progress.RolloutState | None = None
        self.former_texts: frozenset[str] = frozenset()
        self.on_change: Callable[[], None] = lambda: None
        self.failed_requests = 0
        self._store = store
        self._clock = clock
        self._sleep = sleep
        self._read_retries = retries.RequestRetries("the state of the rollout", rng, "read")
        self._write_retries = retries.RequestRetries("the state of the rollout", rng)
        self._wanted: progress.RolloutState | None = None
        self._is_wanted = asyncio.Event()
        self._written_seconds = 0.0

    @property
    def is_due(self) -> bool:
        """Whether the counts of a running stage should be written again."""
        return self._clock.monotonic_seconds() >= self._written_seconds + _INTERVAL_SECONDS

    @property
    def newest(self) -> progress.RolloutState | None:
        """The state in the cluster, or the one that will be there after the next write."""
        return self.stored if self._wanted is None else self._wanted

    @property
    def has_unwritten_end(self) -> bool:
        """Whether the end of a rollout is not stored yet."""
        return self._wanted is not None and not self._wanted.is_running

    def write(self, state: progress.RolloutState) -> None:
        """Write a state in the background; it replaces those that were not written yet."""
        self._wanted = state
        self._written_seconds = self._clock.monotonic_seconds()
        self._is_wanted.set()

    async def run_term(self) -> NoReturn:
        """Read the state, then write states until cancelled."""
        self.end_term()
        await self._repeat_request(self._read, self._read_retries)
        while True:
            await self._is_wanted.wait()
            self._is_wanted.clear()
            await self._repeat_request(self._write, self._write_retries)

    def end_term(self) -> None:
        """Forget the stored state, which another process may change, but no unwritten end.

        A promotion is forgotten, too: it must be stored before it acts.
        """
        self.is_read, self.stored = False, None
        wanted = self._wanted
        if wanted is not None and (wanted.is_running or wanted.status is _PROMOTED):
            self._wanted = None

    async def _repeat_request(
        self, request: Callable[[], Awaitable[None]], failures: retries.RequestRetries
    ) -> None:
        """Repeat a request until it succeeds."""
        while True:
            try:
                await request()
                failures.record_success()
                self.on_change()
            except errors.FencedWriteError:
                pause_seconds = _FENCED_PAUSE_SECONDS
            except errors.KubeError as error:
                self.failed_requests += 1
                pause_seconds = failures.record_failure(error)
            except Exception:  # noqa: BLE001 - logged, see below
                # A fault in a rollout must not end the requests of the term.
                _log.exception("a step of the rollout failed")
                pause_seconds = _FAULT_PAUSE_SECONDS
            else:
                return
            await self._sleep(pause_seconds)

    async def _read(self) -> None:
        found = await self._store.read()
        self.is_read, self.stored, self.former_texts = True, found.state, found.former_texts
        unwritten, self._wanted = self._wanted, None
        self._is_wanted.clear()
        if unwritten is not None and found.state is not None and unwritten.is_end_of(found.state):
            # An earlier term ended before it could store the end of the rollout.
            self.write(unwritten)

    async def _write(self) -> None:
        """Write the wanted state, which may change meanwhile."""
        state = self._wanted
        if state is not None:
            await self._store.write(state)
            self.stored = state
            if self._wanted is state:
                self._wanted = None
