"""Runs a case, in this process or as one of its own, and judges how it ends."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import gettext
import importlib.metadata
import io
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from types import FrameType
from unittest import mock

from policysched import errors
from policysched.cli import main
from tests.fuzzing import cases

LIMIT_SECONDS = 20.0
"""Nothing takes a tenth of it on an idle machine."""
HANG = "hang"
_CODES = (errors.EXIT_OK, errors.EXIT_FINDINGS, errors.EXIT_WRONG_INPUT, errors.EXIT_USAGE)
_ERROR = re.compile(r"^policysched: (?!note: |warning: )", re.MULTILINE)
_REPORTING = ("check", "lint", "test", "fmt", "migrate", "ast")
"""Commands that report unreadable input among their findings."""
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_FRAME = re.compile(r'File "[^"]*?policysched/(policysched/|)([\w/]+\.py)", line \d+, in (\S+)')


@dataclasses.dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended.

    Attributes:
        code: the exit code; None if it did not come to one.
        stderr: what was printed there, or the traceback.
        problem: what is wrong with it, the same for all cases of one defect; "" for nothing.
    """

    code: int | None
    stderr: str
    problem: str


_ENTRY_POINTS = functools.cache(importlib.metadata.entry_points)
"""They and translations of argparse are looked for once: it takes a third of a short run."""


class _TooLongError(BaseException):
    """Passes by all `except Exception`."""


def run(case: cases.Case) -> Ending:
    """Run a case through `main` in this process."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fuzz-"))
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    stderr = io.StringIO()
    code, problem = None, ""
    try:
        case.write(folder)
        with (
            _process(folder, case.stdin),
            contextlib.redirect_stdout(stdout),
            contextlib.redirect_stderr(stderr),
            _limited(),
        ):
            code = main.main(case.argv)
    except _TooLongError:
        stderr.write(traceback.format_exc())
        problem = HANG
    except BaseException as error:  # noqa: BLE001 - whatever escapes is what is looked for
        said = traceback.format_exc()
        stderr.write(said)
        problem = f"traceback: {type(error).__name__} at {_place(said)}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Ending(code, stderr.getvalue(), problem or judge(case, code, stderr.getvalue()))


def run_as_process(case: cases.Case) -> Ending:
    """Run a case as a process of its own."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        case.write(pathlib.Path(folder))
        command = [sys.executable, "-m", "policysched", *case.argv]
        environment = _environment() | {"PYTHONPATH": str(pathlib.Path(__file__).parents[2])}
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                input=case.stdin,
                capture_output=True,
                timeout=3 * LIMIT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Ending(None, "", HANG)
    said = done.stderr.decode("utf-8", "replace")
    return Ending(done.returncode, said, judge(case, done.returncode, said))


def judge(case: cases.Case, code: int | None, stderr: str) -> str:
    """Return what is wrong with an exit code and stderr, "" for nothing."""
    if "Traceback (most recent call last)" in stderr:
        return f"traceback: printed at {_place(stderr)}"
    if code not in _CODES:
        return f"exit code {code}"
    told = len(_ERROR.findall(stderr))
    least = 0 if code == errors.EXIT_WRONG_INPUT and case.command in _REPORTING else 1
    if code in (errors.EXIT_WRONG_INPUT, errors.EXIT_USAGE) and not least <= told <= 1:
        return f"exit code {code} with {told} errors"
    if unseen := _UNSEEN.search(stderr):
        return f"the control character {unseen[0]!a}"
    if "Warning:" in stderr:
        return "a warning of Python"
    return ""


def _place(said: str) -> str:
    """Return the innermost frame of policysched in a traceback."""
    frames = [f"{match[2]}:{match[3]}" for match in _FRAME.finditer(said)]
    return frames[-1] if frames else "?"


@contextlib.contextmanager
def _process(folder: pathlib.Path, stdin: bytes) -> Iterator[None]:
    """Give `main` the surroundings of a process."""
    before, thresholds = pathlib.Path.cwd(), gc.get_threshold()
    os.chdir(folder)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    text = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    try:
        with (
            mock.patch.object(sys, "stdin", text),
            mock.patch.object(importlib.metadata, "entry_points", _ENTRY_POINTS),
            mock.patch.object(gettext, "find", return_value=None),
            mock.patch.dict(os.environ, _environment(), clear=True),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("error")
            yield
    finally:
        os.chdir(before)
        for number, handler in handlers.items():  # `run` leaves those of its ended loop
            signal.signal(number, handler)
        gc.unfreeze()  # commands collect little garbage, for their process ends soon
        gc.set_threshold(*thresholds)
        gc.enable()


def _environment() -> dict[str, str]:
    """Return variables without a kubeconfig, colours and the like."""
    kept = ("PATH", "LANG", "PYTHONDONTWRITEBYTECODE", "TMPDIR")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"HOME": "/nowhere"}


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """End what takes too long."""
    before = signal.signal(signal.SIGALRM, _end)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _end(_number: int, _frame: FrameType | None) -> None:
    raise _TooLongError
