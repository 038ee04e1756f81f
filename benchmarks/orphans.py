"""Nothing outlives a benchmark, however it ends: its servers, and the folder of their files.

A second process waits for the end of the first one, which closes a pipe even where it is killed by
SIGKILL, and ends what that has started. It knows these processes by a mark in their environment, so
it can end no other one.

python -m benchmarks.orphans MARK FOLDER     what the second process runs
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
    """Give a folder that goes in the end, with all processes that were started meanwhile.

    SIGTERM and SIGHUP end the benchmark like Ctrl-C, unless they are ignored, as by nohup.
    """
    for number in _ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    mark = secrets.token_hex(16)
    with (
        tempfile.TemporaryDirectory(prefix="policysched-bench-") as folder,
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.orphans", mark, folder],
            stdin=subprocess.PIPE,
            cwd=pathlib.Path(__file__).resolve().parent.parent,
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
    """Kill the processes that have a mark, and return when they have ended."""
    while marked := _with_mark(mark):
        for pid in marked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)


def _with_mark(mark: str) -> list[int]:
    """Return the processes that have a mark; the environment of one that has ended is empty."""
    wanted = f"{_MARK}={mark}".encode()
    marked = []
    for process in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if process.name.isdigit() and wanted in (process / "environ").read_bytes().split(b"\0"):
                marked.append(int(process.name))
    return marked


def _main(mark: str, folder: str) -> None:
    sys.stdin.read()
    end(mark)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
