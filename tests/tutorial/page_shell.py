"""A bash that runs commands one by one, as a reader types them."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import types

TIME_LIMIT_SECONDS = 180.0
_MARK = "\x1e"
_VARIABLES_OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")


class ShellError(Exception):
    """The shell ended, or was killed at the time limit, before a command did."""


class Shell:
    """A context manager; its end also ends the background jobs of the shell."""

    def __init__(self, folder: pathlib.Path) -> None:
        """Prepare a shell that starts in `folder` and has no cluster and no settings of make."""
        self._folder = folder
        self._environment = {k: v for k, v in os.environ.items() if k not in _VARIABLES_OF_MAKE}
        self._environment["KUBECACHEDIR"] = str(folder / ".cache")

    def __enter__(self) -> Self:
        """Start it, in a process group of its own."""
        self._process = subprocess.Popen(
            ["bash"],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        """Kill the process group."""
        self._kill()
        self._process.communicate()

    def run(self, command: str) -> tuple[list[str], int]:
        """Return the lines that a command prints to either output, and its exit code.

        Raises:
            ShellError: the shell ended, or the command did not end in time.
        """
        assert self._process.stdin is not None
        script = f"{{ {command}\n}} < /dev/null\nprintf '\\n{_MARK}%d\\n' $?\n"
        self._process.stdin.write(script)
        self._process.stdin.flush()
        limit = threading.Timer(TIME_LIMIT_SECONDS, self._kill)
        limit.start()
        try:
            lines = self._read_lines()
        finally:
            limit.cancel()
        code = int(lines.pop().removeprefix(_MARK))
        if lines and not lines[-1]:
            lines.pop()  # the end of line before the mark
        return lines, code

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _read_lines(self) -> list[str]:
        """Return the next lines up to the one with the mark."""
        assert self._process.stdout is not None
        lines: list[str] = []
        for line in self._process.stdout:
            lines.append(line.rstrip())
            if line.startswith(_MARK):
                return lines
        raise ShellError("\n".join(lines))
