"""Removes the servers of a benchmark and the folder of their files, however the benchmark ends.

A second process waits until the benchmark ends, which closes a pipe even after SIGKILL, and then
kills the processes that the benchmark has started. It recognises them by a mark in their
environment, so it kills no other process.

python -m benchmarks.process.orphans MARK FOLDER     the command of the second process
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

_MARK = "POLICYSCHED_BENCHMARK"
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_POLL_SECONDS = 0.05


@contextlib.contextmanager
def folder_without_orphans() -> Iterator[pathlib.Path]:
    """Yield a folder; on exit, remove it and kill all processes that were started meanwhile.

    SIGTERM and SIGHUP end the benchmark like Ctrl-C, unless they are ignored, for example by nohup.
    """
    for number in _ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    mark = secrets.token_hex(16)
    with (
        tempfile.TemporaryDirectory(prefix="policysched-bench-") as folder,
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.process.orphans", mark, folder],
            stdin=subprocess.PIPE,
            cwd=pathlib.Path(__file__).resolve().parents[2],
            start_new_session=True,
        ) as waiting,
    ):
        os.environ[_MARK] = mark
        try:
            yield pathlib.Path(folder)
        finally:
            del os.environ[_MARK]
            waiting.communicate()


def end(mark: str) -> None:
    """Kill all processes with a mark, and wait until they have ended."""
    while marked := _find_marked(mark):
        for pid in marked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)


def _find_marked(mark: str) -> list[int]:
    """Return the processes with a mark; the environment of an ended process is empty."""
    wanted = f"{_MARK}={mark}".encode()
    marked = []
    for process in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # the process has ended, or has another owner
            if process.name.isdigit() and wanted in (process / "environ").read_bytes().split(b"\0"):
                marked.append(int(process.name))
    return marked


def _main(mark: str, folder: str) -> None:
    sys.stdin.read()
    end(mark)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
