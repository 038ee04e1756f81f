"""Carry out planned moves: remember each in the loop guard, then evict the pod."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from policysched import clock as clocks
from policysched import errors
from policysched.auditing import loop_guard, move_planning
from policysched.cluster.pods import pod_shape, workloads

MAX_LISTING_SECONDS = 600.0
"""The age of the listing after which no pod is evicted: the simulation may be wrong by then."""
_GUARD_ATTEMPTS = 5


class MoveOutcome(enum.StrEnum):
    """The outcome for a violator."""

    PLANNED = "planned"
    """A dry run would evict it."""
    EVICTED = "evicted"
    REFUSED = "refused"
    """The API server refused the eviction, for example because of a disruption budget."""
    FAILED = "failed"
    """The eviction failed, or its outcome is unknown."""
    SKIPPED = "skipped"
    """It is not moved."""
    INTERRUPTED = "interrupted"
    """The run was interrupted before its eviction; further violators were not looked at."""


@dataclasses.dataclass(frozen=True, slots=True)
class MoveRecord:
    """A violator and its outcome; `reason` is "" if it was or would be evicted."""

    move: move_planning.PlannedMove
    outcome: MoveOutcome
    reason: str = ""


class EvictionNotMadeError(errors.RemoteError):
    """The pod was certainly not evicted, for example because a right is missing."""


class EvictionRefusedError(EvictionNotMadeError):
    """A disruption budget allows no eviction now, or the pod no longer exists."""


class GuardConflictError(errors.RemoteError):
    """The memory of the loop guard has changed since it was read."""


class GuardStore(Protocol):
    """Keeps the memory of the loop guard in the cluster."""

    async def read(self) -> list[loop_guard.WorkloadMove]:
        """Return the moves.

        Raises:
            InputError: the content is invalid.
            RemoteError: it cannot be read.
        """
        ...

    async def write(self, guard: loop_guard.LoopGuard) -> None:
        """Write the moves, unless they have changed since they were read.

        Raises:
            GuardConflictError: they have changed.
            RemoteError: they were not written, or the outcome is unknown.
        """
        ...


class PodEvictor(Protocol):
    """Evicts pods through the Eviction API."""

    async def evict(self, pod: pod_shape.PodInfo) -> None:
        """Evict a pod.

        Raises:
            EvictionNotMadeError: the pod was certainly not evicted; EvictionRefusedError if a
                disruption budget allows no eviction or the pod no longer exists.
            RemoteError: the eviction failed, or its outcome is unknown.
        """
        ...


class PodMover:
    """Evicts violators, each only after the loop guard has remembered it."""

    def __init__(
        self,
        planner: move_planning.MovePlanner,
        store: GuardStore,
        evictor: PodEvictor,
        pause_seconds: float,
        clock: clocks.Clock,
        wait: Callable[[float], Awaitable[bool]],
    ) -> None:
        """Carry out the moves of `planner`, whose cluster was listed just now.

        Two evictions are at least `pause_seconds` apart. `wait` waits for some seconds, or until
        the run is interrupted, and returns whether it is.
        """
        self._planner = planner
        self._store = store
        self._evictor = evictor
        self._pause_seconds = pause_seconds
        self._clock = clock
        self._wait = wait
        self._listed_at_seconds = clock.monotonic_seconds()
        self._next_seconds = self._listed_at_seconds

    async def move(
        self, moves: Iterable[move_planning.PlannedMove], *, is_dry_run: bool
    ) -> list[MoveRecord]:
        """Return the outcome for each violator.

        If the loop guard cannot be written, the pod is not evicted, and no further one is.

        Raises:
            InputError: the memory of the loop guard is invalid.
        """
        records: list[MoveRecord] = []
        for move in moves:
            if await self._wait(0.0):
                record = _make_interrupted_record(move)
            elif move.obstacle:
                record = MoveRecord(move, MoveOutcome.SKIPPED, move.obstacle)
            elif is_dry_run:
                self._planner.guard.add(move.list_guarded_moves(self._now))
                record = MoveRecord(move, MoveOutcome.PLANNED)
            else:
                try:
                    record = await self._evict(move)
                except errors.RemoteError as error:
                    # The report must name the pods that were evicted before.
                    records.append(MoveRecord(move, MoveOutcome.FAILED, str(error)))
                    return records
            records.append(record)
            if record.outcome is MoveOutcome.INTERRUPTED:
                return records
        return records

    @property
    def _now(self) -> datetime.datetime:
        return self._clock.now()

    def _skip(self, move: move_planning.PlannedMove, reason: str) -> MoveRecord:
        """Put the pod back in the simulation, and report why it was not moved."""
        self._planner.take_back(move)
        return MoveRecord(dataclasses.replace(move, target=""), MoveOutcome.SKIPPED, reason)

    async def _evict(self, move: move_planning.PlannedMove) -> MoveRecord:
        """Evict a pod as soon as the rate permits it."""
        now_seconds = max(self._next_seconds, self._clock.monotonic_seconds())
        if now_seconds - self._listed_at_seconds > MAX_LISTING_SECONDS:
            return self._skip(move, "the listing of the cluster is too old; run the command again")
        if await self._wait(max(0.0, now_seconds - self._clock.monotonic_seconds())):
            return _make_interrupted_record(move)
        guarded = move.list_guarded_moves(self._now)
        obstacle = await self._remember(move, guarded)
        if obstacle:
            return self._skip(move, obstacle)
        self._next_seconds = now_seconds + self._pause_seconds
        try:
            await self._evictor.evict(move.pod)
        except EvictionNotMadeError as error:
            self._planner.take_back(move)
            await self._forget(guarded)
            is_refused = isinstance(error, EvictionRefusedError)
            outcome = MoveOutcome.REFUSED if is_refused else MoveOutcome.FAILED
            return MoveRecord(move, outcome, str(error))
        except errors.RemoteError as error:
            # The pod may have been evicted, so the guard keeps the move.
            return MoveRecord(move, MoveOutcome.FAILED, str(error))
        return MoveRecord(move, MoveOutcome.EVICTED)

    async def _remember(
        self, move: move_planning.PlannedMove, guarded: list[loop_guard.WorkloadMove]
    ) -> str:
        """Write a move into the loop guard; return an obstacle that another process wrote."""
        guard = self._planner.guard
        workload = workloads.format_workload(move.pod.pod.metadata)
        guard.add(guarded)
        for attempt in range(1, _GUARD_ATTEMPTS + 1):
            try:
                await self._store.write(guard)
            except GuardConflictError:
                if attempt == _GUARD_ATTEMPTS:
                    raise
                guard.replace(await self._store.read())
                obstacle = guard.find_obstacle(workload, move.rules, move.target, self._now)
                if obstacle:
                    guard.remove(guarded)
                    return obstacle
            else:
                return ""
        raise AssertionError  # the last attempt returns or raises

    async def _forget(self, guarded: list[loop_guard.WorkloadMove]) -> None:
        """Remove a move that did not take place; if that fails, it counts until it expires."""
        self._planner.guard.remove(guarded)
        try:
            await self._store.write(self._planner.guard)
        except errors.RemoteError:
            self._planner.guard.replace(await self._store.read())


def _make_interrupted_record(move: move_planning.PlannedMove) -> MoveRecord:
    reason = "the command was interrupted; it looked at no further violator"
    return MoveRecord(dataclasses.replace(move, target=""), MoveOutcome.INTERRUPTED, reason)
