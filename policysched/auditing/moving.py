"""Carry out planned moves: record each in the loop guard, then evict the pod."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
from collections.abc import Callable, Iterable
from typing import Protocol

from policysched import clock as clocks
from policysched import errors
from policysched.auditing import loop_guard, move_pace, move_planning
from policysched.cluster.pods import pod_shape, workloads

_GUARD_ATTEMPTS = 5


class MoveOutcome(enum.StrEnum):
    """The outcome for a violator."""

    PLANNED = "planned"
    """A dry run would evict it."""
    EVICTED = "evicted"
    REFUSED = "refused"
    """A disruption budget allowed no eviction, or the pod no longer existed."""
    FAILED = "failed"
    """The eviction failed, or its outcome is unknown."""
    SKIPPED = "skipped"
    """It is not moved."""
    INTERRUPTED = "interrupted"
    """The run was interrupted before its eviction."""


@dataclasses.dataclass(frozen=True, slots=True)
class MoveResult:
    """A violator and its outcome.

    Attributes:
        violator: the pod with the rules for which it was or would be moved.
        outcome: what happened to it.
        reason: why it was not evicted; "" if it was or would be.
        target: the node on which it violates nothing; "" if it has none.
    """

    violator: move_planning.Violator
    outcome: MoveOutcome
    reason: str = ""
    target: str = ""


class EvictionNotMadeError(errors.RemoteError):
    """The pod was certainly not evicted, for example because a right is missing."""


class EvictionRefusedError(EvictionNotMadeError):
    """A disruption budget allows no eviction now, or the pod no longer exists."""


class GuardConflictError(errors.RemoteError):
    """The moves of the loop guard have changed since they were read."""


class GuardStore(Protocol):
    """Stores the moves of the loop guard in the cluster."""

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
    """Evicts violators; the move of each is recorded in the loop guard before."""

    def __init__(
        self,
        planner: move_planning.MovePlanner,
        store: GuardStore,
        evictor: PodEvictor,
        pace: move_pace.MovePace,
        clock: clocks.Clock,
    ) -> None:
        """Carry out the moves of `planner`; `store` stores those of its loop guard."""
        self._planner = planner
        self._guard = planner.guard
        self._store = store
        self._evictor = evictor
        self._pace = pace
        self._clock = clock

    async def move(
        self, violators: Iterable[move_planning.Violator], *, is_dry_run: bool
    ) -> list[MoveResult]:
        """Return the outcome for each violator.

        If the run ends early, the further violators are reported, but not looked at.
        """
        results: list[MoveResult] = []
        end: move_pace.RunEnd | None = None
        for violator in violators:
            end = end or await self._pace.find_end()
            if end is not None:
                results.append(_make_end_result(violator, end))
                continue
            move = self._planner.plan_move(violator)
            if isinstance(move, str):
                results.append(MoveResult(violator, MoveOutcome.SKIPPED, move))
            elif is_dry_run:
                results.append(_make_result(move, MoveOutcome.PLANNED))
            else:
                try:
                    results.append(await self._evict(move))
                except (errors.RemoteError, errors.InputError) as error:
                    # The report must name the pods that were evicted before.
                    results.append(_make_result(move, MoveOutcome.FAILED, str(error)))
                    end = move_pace.RunEnd.GUARD_NOT_WRITTEN
        return results

    async def _evict(self, move: move_planning.PlannedMove) -> MoveResult:
        """Evict a pod as soon as the rate permits it.

        Raises:
            InputError: the stored moves are invalid; the pod is not evicted.
            RemoteError: the move cannot be stored; the pod is not evicted.
        """
        end = await self._pace.wait_for_turn()
        if end is not None:
            return _make_end_result(move.violator, end)
        recorded = move.list_workload_moves(self._clock.now())
        obstacle = await self._record_move(move, recorded)
        if obstacle:
            self._planner.take_back(move)
            return MoveResult(move.violator, MoveOutcome.SKIPPED, obstacle)
        self._pace.note_eviction()
        try:
            await self._evictor.evict(move.violator.pod)
        except EvictionNotMadeError as error:
            self._planner.take_back(move)
            await self._remove_moves(recorded)
            is_refused = isinstance(error, EvictionRefusedError)
            outcome = MoveOutcome.REFUSED if is_refused else MoveOutcome.FAILED
            return _make_result(move, outcome, str(error))
        except errors.RemoteError as error:
            # The pod may have been evicted, so the guard keeps the move.
            return _make_result(move, MoveOutcome.FAILED, str(error))
        return _make_result(move, MoveOutcome.EVICTED)

    async def _record_move(
        self, move: move_planning.PlannedMove, recorded: list[loop_guard.WorkloadMove]
    ) -> str:
        """Record a move in the loop guard; return an obstacle that another process has recorded."""
        self._guard.add(recorded)
        workload = workloads.format_workload(move.violator.pod.pod.metadata)

        def find_obstacle() -> str:
            now = self._clock.now()
            return self._guard.find_obstacle(workload, move.violator.rules, move.target, now)

        obstacle = await self._write_guard(find_obstacle)
        if obstacle:
            self._guard.remove(recorded)
        return obstacle

    async def _remove_moves(self, recorded: list[loop_guard.WorkloadMove]) -> None:
        """Remove the record of a move that did not take place.

        If it cannot be removed, it counts until the next write of this run, or until it expires.
        """
        self._guard.remove(recorded)
        with contextlib.suppress(errors.RemoteError, errors.InputError):
            await self._write_guard(lambda: "")

    async def _write_guard(self, find_obstacle: Callable[[], str]) -> str:
        """Write the loop guard; add the moves that other processes have written meanwhile.

        Return the obstacle that `find_obstacle` finds among these; nothing is written then.
        """
        for _ in range(_GUARD_ATTEMPTS - 1):
            try:
                await self._store.write(self._guard)
            except GuardConflictError:
                self._guard.replace(await self._store.read())
            else:
                return ""
            obstacle = find_obstacle()
            if obstacle:
                return obstacle
        await self._store.write(self._guard)
        return ""


def _make_result(
    move: move_planning.PlannedMove, outcome: MoveOutcome, reason: str = ""
) -> MoveResult:
    return MoveResult(move.violator, outcome, reason, move.target)


def _make_end_result(violator: move_planning.Violator, end: move_pace.RunEnd) -> MoveResult:
    is_interrupted = end is move_pace.RunEnd.INTERRUPTED
    outcome = MoveOutcome.INTERRUPTED if is_interrupted else MoveOutcome.SKIPPED
    return MoveResult(violator, outcome, end.value)
