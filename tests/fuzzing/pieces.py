"""Runs many inputs in processes that do not live long: what commands leave in memory adds up."""

from __future__ import annotations

import dataclasses
import multiprocessing
import random
from collections.abc import Iterator

from tests.fuzzing import cases, commands, running

_PIECE = 100
"""Inputs that share a generator: piece 3 of a seed is the same whatever ran before it."""
_PIECES_EACH = 20
"""Pieces of one process, for what commands leave in memory adds up."""


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """An input and its ending, in this process or as one of its own."""

    case: cases.Case
    ending: running.Ending
    is_process: bool

    def fails_alike(self, case: cases.Case) -> bool:
        """Return whether another input shows the same defect."""
        run = running.run_as_process if self.is_process else running.run
        return run(case).problem == self.ending.problem


@dataclasses.dataclass(frozen=True, slots=True)
class Piece:
    """Some of the inputs of a run.

    Attributes:
        inputs: how many.
        processes: how many of them as processes, too.
    """

    seed: int
    number: int
    inputs: int
    processes: int

    def run(self) -> list[Run]:
        """Return how the inputs ended."""
        rng = random.Random(f"{self.seed}/{self.number}")
        found = []
        for number in range(self.inputs):
            case = commands.draw(rng)
            ending = running.run(case)
            if ending.problem == running.HANG:  # or the machine stood still
                ending = running.run(case)
            found.append(Run(case, ending, is_process=False))
            if number < self.processes:
                found.append(Run(case, running.run_as_process(case), is_process=True))
        return found


def split(seed: int, inputs: int, processes: int) -> list[Piece]:
    """Return the pieces of a run."""
    found = []
    for number, start in enumerate(range(0, inputs, _PIECE)):
        size = min(_PIECE, inputs - start)
        found.append(Piece(seed, number, size, max(0, min(size, processes - start))))
    return found


def run_all(pieces: list[Piece], jobs: int) -> Iterator[list[Run]]:
    """Yield the runs of each piece, in order; a single piece runs in this process."""
    if len(pieces) == 1:
        yield pieces[0].run()
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(jobs, maxtasksperchild=_PIECES_EACH) as pool:
        found = pool.imap(Piece.run, pieces)
        for _ in pieces:
            yield found.next(timeout=_PIECE * running.LIMIT_SECONDS)
