"""Memory that is free goes back to the kernel."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import pathlib
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np

from policysched import malloc_tuning
from tests.kube.asynchronous import asynchronous

if TYPE_CHECKING:
    import pytest

MIB = 2**20


def _anonymous_kib() -> int:
    status = pathlib.Path("/proc/self/status").read_text(encoding="utf-8")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return int(fields["RssAnon"].split()[0])


def test_holes_are_given_back() -> None:
    """Every second array goes; glibc keeps the pages between the others until it is told."""
    arrays: list[np.ndarray | None] = [np.ones(2_000) for _ in range(4_000)]  # 61 MiB
    before = _anonymous_kib()
    arrays[::2] = [None] * 2_000
    assert malloc_tuning.release_free_pages()
    assert before - _anonymous_kib() > 10_000
    assert sum(each is not None for each in arrays) == 2_000


def test_buffers_of_connections_lie_outside() -> None:
    """One that is freed takes its pages along, though something came after it."""
    program = """
import asyncio.sslproto, ctypes
from policysched import malloc_tuning

def mapped():
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Info
    return libc.mallinfo2().hblks

class Info(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

assert asyncio.sslproto.SSLProtocol.max_size == malloc_tuning.BUFFER_BYTES
assert malloc_tuning.map_connection_buffers_separately()
bytearray(20 * malloc_tuning.BUFFER_BYTES)  # glibc would let its limit follow this one
before = mapped()
buffers = [bytearray(malloc_tuning.BUFFER_BYTES) for _ in range(5)]
assert mapped() == before + 5
del buffers
assert mapped() == before
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_library_without_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other C libraries are left alone."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not malloc_tuning.release_free_pages()
    assert not malloc_tuning.map_connection_buffers_separately()


@asynchronous
async def test_again_and_again() -> None:
    """It is done once in each period, and ends when it is cancelled."""
    done: list[float] = []

    async def sleep(seconds: float) -> None:
        if len(done) == 3:
            raise asyncio.CancelledError
        done.append(seconds)

    trimmed: list[int] = []

    def trim() -> bool:
        trimmed.append(len(done))
        return True

    with contextlib.suppress(asyncio.CancelledError):
        await malloc_tuning.trim_periodically(trim, sleep)
    assert done == [malloc_tuning.PERIOD_SECONDS] * 3
    assert trimmed == [1, 2, 3]
