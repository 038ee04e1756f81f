"""Record which workloads were moved for which rules, so that pods are not moved in circles.

A workload is not moved again for the same rule within a time, nor back to a node that one of its
pods had to leave within this time. Their number is bounded: the oldest moves are dropped. A move
is not dropped when its time is over, because another run can use a longer time.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence

import msgspec

from policysched import clock as clocks
from policysched import errors

MAX_MOVES = 2000
MAX_BYTES = 512 * 1024
"""Limits of the recorded moves; a ConfigMap can hold one MiB."""


class WorkloadMove(msgspec.Struct, frozen=True):
    """A move of a pod.

    Attributes:
        workload: `NAMESPACE/KIND/NAME` of the owner of the pod.
        rule: the rule that the pod violated, as `POLICY/RULE`; a pod can violate several rules, of
            which each is a move of its own.
        node: the node that the pod had to leave.
        at: the time of the move, in RFC 3339.
        pod_uid: the pod, which distinguishes the moves of one second.
    """

    workload: str
    rule: str
    node: str
    at: str
    pod_uid: str = ""


class LoopGuard:
    """The moves of earlier runs, which are obstacles, and those of this run."""

    def __init__(self, moves: Iterable[WorkloadMove], within: datetime.timedelta) -> None:
        """Begin with the `moves` of earlier runs; each counts for the time `within`."""
        self._earlier = list(moves)
        self._own: list[WorkloadMove] = []
        self._removed: set[WorkloadMove] = set()
        self._within = within

    @property
    def moves(self) -> Sequence[WorkloadMove]:
        """All moves, the oldest first."""
        return (*self._earlier, *self._own)

    def find_obstacle(
        self, workload: str, rules: Iterable[str], target: str, now: datetime.datetime
    ) -> str:
        """Return why a pod of a workload must not be moved to a node; "" if it may be.

        Only moves of earlier runs count: one run can move several pods of a workload.
        """
        wanted = frozenset(rules)
        for move in reversed(self._earlier):
            if move.workload != workload or not self._counts(move, now):
                continue
            if move.rule in wanted:
                return f"the loop guard has a move for {move.rule} at {move.at}"
            if move.node == target:
                return f"the loop guard has a move away from {target} at {move.at}"
        return ""

    def add(self, moves: Iterable[WorkloadMove]) -> None:
        """Add moves of this run; drop the oldest beyond the limits."""
        self._own += moves
        while self._earlier and self._is_too_large():
            self._earlier = self._earlier[1 + len(self._earlier) // 10 :]
        while self._is_too_large():
            self._own = self._own[1 + len(self._own) // 10 :]

    def remove(self, moves: Iterable[WorkloadMove]) -> None:
        """Remove moves of this run that did not take place, also if they were written."""
        self._removed.update(moves)
        self._own = [each for each in self._own if each not in self._removed]

    def replace(self, moves: Iterable[WorkloadMove]) -> None:
        """Take over the moves that other processes have written, without those of this run."""
        own = self._removed.union(self._own)
        self._earlier = [each for each in moves if each not in own]

    def _is_too_large(self) -> bool:
        return len(self.moves) > MAX_MOVES or len(encode_moves(self.moves)) > MAX_BYTES

    def _counts(self, move: WorkloadMove, now: datetime.datetime) -> bool:
        at = clocks.parse_time(move.at)
        return at is not None and now - at < self._within


def encode_moves(moves: Sequence[WorkloadMove]) -> str:
    """Return moves as JSON lines, for a ConfigMap."""
    return "".join(f"{msgspec.json.encode(each).decode()}\n" for each in moves)


def decode_moves(text: str, where: str) -> list[WorkloadMove]:
    """Return the moves in JSON lines.

    Raises:
        InputError: a line is not a move; without these moves, the guard cannot prevent a circle.
    """
    decoder = msgspec.json.Decoder(WorkloadMove)
    advice = "delete its data to delete all moves"
    try:
        moves = [decoder.decode(line) for line in text.splitlines() if line]
    except msgspec.DecodeError as error:
        raise errors.InputError(where, f"is not a list of moves: {error}", help=advice) from error
    for each in moves:
        if clocks.parse_time(each.at) is None:
            raise errors.InputError(
                where, f"has a move at `{each.at}`, which is no time", help=advice
            )
    return moves
