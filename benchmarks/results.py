"""Files of results: a line of JSON for each run of a scheduler, written when the run has ended."""

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

from benchmarks import measurements

Judge: TypeAlias = Callable[[measurements.Measurement], str]
"""Says why a run is left out; "" where it counts."""
_BEGIN = b'{"case":'
"""Of every line."""


class ResultsError(Exception):
    """A file of results holds something else, or cannot be used; the text says which and why."""


class Results:
    """A file of measurements; reading it changes nothing.

    Attributes:
        measurements: all that count, those added since included.
        left_out: how many others the file has, by the reason.
        added: how many were added.
    """

    def __init__(self, file: pathlib.Path | None, judge: Judge = lambda _: "") -> None:
        """Read what the file holds; without a file nothing is kept.

        Args:
            file: may be missing.
            judge: says which runs are left out.

        Raises:
            ResultsError: a line is no measurement, or the file cannot be read.
        """
        self._file = file
        self._out: BinaryIO | None = None
        self.added = 0
        self.measurements: list[measurements.Measurement] = []
        self.left_out: collections.Counter[str] = collections.Counter()
        for one in _read(file) if file is not None else ():
            self._sort(one, judge)

    def _sort(self, one: measurements.Measurement, judge: Judge) -> None:
        reason = judge(one) or ("of runs that are there already" if one.key in self.keys() else "")
        if reason:
            self.left_out[reason] += 1
        else:
            self.measurements.append(one)

    def keys(self) -> set[tuple[measurements.Case, str, int]]:
        """Return what has been measured."""
        return {one.key for one in self.measurements}

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Let measurements be added, by nobody else meanwhile.

        What a killed benchmark has written of its last line is taken away with the first one.

        Raises:
            ResultsError: the file cannot be written, or another benchmark writes it.
        """
        if self._file is None:
            yield
            return
        with _locked(self._file) as self._out:
            yield
        self._out = None

    def add(self, one: measurements.Measurement) -> None:
        """Keep a measurement, in the file where it is opened.

        Raises:
            ResultsError: it cannot be written; it is among the measurements all the same.
        """
        self.measurements.append(one)
        self.added += 1
        if self._file is None:
            return
        if self._out is None:
            raise ResultsError(f"{self._file} is not opened")
        try:
            _write(self._file, self._out, msgspec.json.encode(one) + b"\n")
        except OSError as error:
            raise _cannot_write(self._file, error) from error


def read(file: pathlib.Path) -> Sequence[measurements.Measurement]:
    """Return the measurements of a file that has to be there, whatever they were made with.

    Raises:
        ResultsError: it is missing, or a line is no measurement.
    """
    require(file)
    return Results(file).measurements


def require(file: pathlib.Path) -> None:
    """Return where there is a file.

    Raises:
        ResultsError: there is none.
    """
    if not file.is_file():
        raise ResultsError(f"there is no file {file}; --results names another one")


def put_aside(file: pathlib.Path) -> None:
    """Give a file of results, where there is one, an ending that none has: `.old`, `.old.2`, ….

    Raises:
        ResultsError: it cannot be renamed, or another benchmark writes it.
    """
    if not file.exists():
        return
    with _locked(file):
        number, aside = 1, file.with_name(f"{file.name}.old")
        while aside.exists():
            number += 1
            aside = file.with_name(f"{file.name}.old.{number}")
        try:
            file.rename(aside)
        except OSError as error:
            raise _cannot_write(file, error) from error


@contextlib.contextmanager
def _locked(file: pathlib.Path) -> Iterator[BinaryIO]:
    with contextlib.ExitStack() as stack:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            out = stack.enter_context(file.open("ab", buffering=0))
            fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            text = f"another benchmark writes {file}; wait for its end, or name another file"
            raise ResultsError(f"{text} by --results") from error
        except OSError as error:
            raise _cannot_write(file, error) from error
        yield out


def _cannot_write(file: pathlib.Path, error: OSError) -> ResultsError:
    return ResultsError(f"{file} cannot be written: {error.strerror}; --results names another one")


def _write(file: pathlib.Path, out: BinaryIO, line: bytes) -> None:
    _mend_end(file, out)
    if out.write(line) != len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _mend_end(file: pathlib.Path, out: BinaryIO) -> None:
    """End the last line, or take it away where it is cut off."""
    whole, rest = _lines(file)
    if _is_cut(rest):
        os.ftruncate(out.fileno(), sum(len(line) + 1 for line in whole))
    elif rest:
        out.write(b"\n")


def _lines(file: pathlib.Path) -> tuple[list[bytes], bytes]:
    """Return all lines that have an end, and what follows the last end."""
    *whole, rest = file.read_bytes().split(b"\n")
    return whole, rest


def _is_cut(rest: bytes) -> bool:
    """Return whether this is the beginning of a measurement; anything else is not ours to cut."""
    if not rest or not _BEGIN.startswith(rest[: len(_BEGIN)]):
        return False
    try:
        json.JSONDecoder().raw_decode(rest.decode("utf-8", errors="ignore"))
    except json.JSONDecodeError:
        return True
    return False


def _read(file: pathlib.Path) -> list[measurements.Measurement]:
    if file.exists() and not file.is_file():
        raise ResultsError(f"{file} is no file; --results names another one")
    try:
        whole, rest = _lines(file) if file.exists() else ([], b"")
    except OSError as error:
        raise ResultsError(f"{file} cannot be read: {error.strerror}") from error
    lines = whole if not rest or _is_cut(rest) else [*whole, rest]
    return [_decoded(file, number, line) for number, line in enumerate(lines, 1)]


def _decoded(file: pathlib.Path, number: int, line: bytes) -> measurements.Measurement:
    try:
        return msgspec.json.decode(line, type=measurements.Measurement)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ResultsError(f"{file}:{number}: this is no measurement: {error}") from error
