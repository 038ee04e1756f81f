"""Runs a command of policysched and samples its stack.

python -m benchmarks.process.profiled_run FILE WORDS…

The kernel sends SIGPROF every millisecond of CPU time, and the handler records the stack. Waiting
therefore does not count, frequent calls do not slow a function down, and system calls and C
extensions count for their callers. FILE receives lines `SAMPLES STACK`, with the outermost function
first.
"""

from __future__ import annotations

import collections
import pathlib
import signal
import sys
import types

from policysched.cli import main

SAMPLE_SECONDS = 0.001


class Sampler:
    """Counts the stacks of the main thread."""

    def __init__(self) -> None:
        self.stacks: collections.Counter[str] = collections.Counter()

    def start(self) -> None:
        """Start sampling."""
        signal.signal(signal.SIGPROF, self._record)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)

    def stop(self) -> None:
        """Stop sampling."""
        signal.setitimer(signal.ITIMER_PROF, 0)

    def write(self, file: pathlib.Path) -> None:
        """Write the counts to a file."""
        lines = [f"{count} {stack}\n" for stack, count in self.stacks.most_common()]
        file.write_text("".join(lines), encoding="utf-8")

    def _record(self, number: int, frame: types.FrameType | None) -> None:
        del number
        functions = []
        while frame is not None:
            code = frame.f_code
            functions.append(f"{code.co_filename}:{code.co_qualname}")
            frame = frame.f_back
        self.stacks[";".join(reversed(functions))] += 1


def _run(file: pathlib.Path, words: list[str]) -> int:
    sampler = Sampler()
    sampler.start()
    try:
        return main.main(words)
    finally:
        sampler.stop()
        sampler.write(file)


if __name__ == "__main__":
    sys.exit(_run(pathlib.Path(sys.argv[1]), sys.argv[2:]))
