"""Results files: a line of JSON for each run of a scheduler, written when the run has ended."""

from __future__ import annotations

import collections
import contextlib
import errno
import fcntl
import json
import os
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, TypeAlias

import msgspec

from benchmarks.records import measurements

Judge: TypeAlias = Callable[[measurements.Measurement], str]
"""Returns the reason for which a run is excluded; "" if it counts."""
_DUPLICATE = "with the case, scheduler and repeat of an earlier run"
_BEGIN = b'{"case":'
"""The beginning of every line."""


class ResultsError(Exception):
    """A results file cannot be used, or has other content; the text names file and reason."""


class Results:
    """The measurements of a file; reading does not change the file.

    Attributes:
        measurements: all that count, including those added since.
        excluded: number of excluded runs by reason.
        added: number of added measurements.
    """

    def __init__(self, file: pathlib.Path | None, judge: Judge = lambda _: "") -> None:
        """Read the file; without a file, nothing is stored.

        Args:
            file: need not exist.
            judge: decides which runs are excluded.

        Raises:
            ResultsError: a line is not a measurement, or the file cannot be read.
        """
        self._file = file
        self._out: BinaryIO | None = None
        self.added = 0
        self.measurements: list[measurements.Measurement] = []
        self.excluded: collections.Counter[str] = collections.Counter()
        for run in _read(file) if file is not None else ():
            self._sort_in(run, judge)

    def _sort_in(self, run: measurements.Measurement, judge: Judge) -> None:
        reason = judge(run) or (_DUPLICATE if run.key in self.keys() else "")
        if reason:
            self.excluded[reason] += 1
        else:
            self.measurements.append(run)

    def keys(self) -> set[tuple[measurements.Case, str, int]]:
        """Return the case, scheduler and repeat of all measurements that count."""
        return {run.key for run in self.measurements}

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Open the file for `add`, and lock it against other benchmarks.

        The first `add` removes an incomplete last line, which a killed benchmark has left.

        Raises:
            ResultsError: the file cannot be written, or another benchmark writes it.
        """
        if self._file is None:
            yield
            return
        with _lock(self._file) as self._out:
            yield
        self._out = None

    def add(self, run: measurements.Measurement) -> None:
        """Add a measurement, and write it to the file if there is one.

        Raises:
            ResultsError: the file is not open or cannot be written; the measurement still counts.
        """
        self.measurements.append(run)
        self.added += 1
        if self._file is None:
            return
        if self._out is None:
            raise ResultsError(f"{self._file} is not open")
        try:
            _write(self._file, self._out, msgspec.json.encode(run) + b"\n")
        except OSError as error:
            raise _make_write_error(self._file, error) from error


def read(file: pathlib.Path) -> Sequence[measurements.Measurement]:
    """Return the measurements of a file, which must exist, including those of other versions.

    Raises:
        ResultsError: the file is missing, or a line is not a measurement.
    """
    require(file)
    return Results(file).measurements


def require(file: pathlib.Path) -> None:
    """Check that a file exists.

    Raises:
        ResultsError: it does not exist.
    """
    if not file.is_file():
        raise ResultsError(f"no such file: {file}; choose another file with --results")


def put_aside(file: pathlib.Path) -> None:
    """Rename a results file, if it exists, to an unused name: `.old`, `.old.2`, ….

    Raises:
        ResultsError: it cannot be renamed, or another benchmark writes it.
    """
    if not file.exists():
        return
    with _lock(file):
        number, aside = 1, file.with_name(f"{file.name}.old")
        while aside.exists():
            number += 1
            aside = file.with_name(f"{file.name}.old.{number}")
        try:
            file.rename(aside)
        except OSError as error:
            raise _make_write_error(file, error) from error


@contextlib.contextmanager
def _lock(file: pathlib.Path) -> Iterator[BinaryIO]:
    with contextlib.ExitStack() as stack:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            out = stack.enter_context(file.open("ab", buffering=0))
            fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            text = f"another benchmark writes {file}; wait until it ends, or choose another file"
            raise ResultsError(f"{text} with --results") from error
        except OSError as error:
            raise _make_write_error(file, error) from error
        yield out


def _make_write_error(file: pathlib.Path, error: OSError) -> ResultsError:
    text = f"{file} cannot be written: {error.strerror}"
    return ResultsError(f"{text}; choose another file with --results")


def _write(file: pathlib.Path, out: BinaryIO, line: bytes) -> None:
    _repair_end(file, out)
    if out.write(line) != len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _repair_end(file: pathlib.Path, out: BinaryIO) -> None:
    """End the last line, or remove it if it is incomplete."""
    whole, rest = _read_lines(file)
    if _is_incomplete(rest):
        os.ftruncate(out.fileno(), sum(len(line) + 1 for line in whole))
    elif rest:
        out.write(b"\n")


def _read_lines(file: pathlib.Path) -> tuple[list[bytes], bytes]:
    """Return all complete lines, and the rest after the last line end."""
    *whole, rest = file.read_bytes().split(b"\n")
    return whole, rest


def _is_incomplete(rest: bytes) -> bool:
    """Return whether the rest is the beginning of a measurement; other content must stay."""
    if not rest or not _BEGIN.startswith(rest[: len(_BEGIN)]):
        return False
    try:
        json.JSONDecoder().raw_decode(rest.decode("utf-8", errors="ignore"))
    except json.JSONDecodeError:
        return True
    return False


def _read(file: pathlib.Path) -> list[measurements.Measurement]:
    if file.exists() and not file.is_file():
        raise ResultsError(f"{file} is not a file; choose another file with --results")
    try:
        whole, rest = _read_lines(file) if file.exists() else ([], b"")
    except OSError as error:
        raise ResultsError(f"{file} cannot be read: {error.strerror}") from error
    lines = whole if not rest or _is_incomplete(rest) else [*whole, rest]
    return [_decode(file, number, line) for number, line in enumerate(lines, 1)]


def _decode(file: pathlib.Path, number: int, line: bytes) -> measurements.Measurement:
    try:
        return msgspec.json.decode(line, type=measurements.Measurement)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ResultsError(f"{file}:{number}: not a measurement: {error}") from error
