"""A scheduler whose clocks can be set from outside, while it runs.

    clock = jumping_clock.JumpingClock(tmp_path / "clock")
    with scheduler_process.PolicyScheduler(plane, tmp_path, program=clock.program):
        clock.jump(-3600.0)

The process takes its time from one object (`policysched.clock`), so that one is replaced before
anything else begins. Nothing else of the process is different.
"""

from __future__ import annotations

import datetime
import functools
import pathlib
import sys

from policysched import clock as clocks
from policysched.cli import main as command_line


class JumpingClock:
    """The clocks of a process, as a file with two numbers says.

    Attributes:
        program: starts `policysched` with these clocks; its arguments follow.
    """

    def __init__(self, file: pathlib.Path) -> None:
        self._file = file
        self._wall_seconds = self._monotonic_seconds = 0.0
        self.jump(0.0)
        self.program = (sys.executable, "-m", "tests.e2e.scenes.jumping_clock", str(file))

    def jump(self, wall_seconds: float, monotonic_seconds: float = 0.0) -> None:
        """Set the clocks further ahead; the wall clock may also go back."""
        self._wall_seconds += wall_seconds
        self._monotonic_seconds += monotonic_seconds
        newer = self._file.with_suffix(".new")
        newer.write_text(f"{self._wall_seconds} {self._monotonic_seconds}", encoding="utf-8")
        newer.replace(self._file)


class _FileClock(clocks.SystemClock):
    """The machine's clocks and what a file adds to them; it is read each time."""

    def __init__(self, file: pathlib.Path) -> None:
        self._file = file

    def monotonic_seconds(self) -> float:
        """Return the machine's time and the file's second number."""
        return super().monotonic_seconds() + self._ahead_seconds()[1]

    def now(self) -> datetime.datetime:
        """Return the machine's time and the file's first number."""
        return super().now() + datetime.timedelta(seconds=self._ahead_seconds()[0])

    def _ahead_seconds(self) -> list[float]:
        return [float(word) for word in self._file.read_text(encoding="utf-8").split()]


def main() -> int:
    """Run policysched by the clocks of the file that is named first."""
    file, *argv = sys.argv[1:]
    made = functools.partial(_FileClock, pathlib.Path(file))
    clocks.SystemClock = made  # type: ignore[assignment, misc]  # who calls it gets a subclass
    return command_line.main(argv)


if __name__ == "__main__":
    sys.exit(main())
