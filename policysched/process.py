"""What belongs to the process and not to the scheduler: signals, threads, garbage collection."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import signal
import threading
import types
from collections.abc import Callable, Coroutine, Iterator
from typing import TypeVar

T = TypeVar("T")

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""The last one comes when a terminal closes, unless it is ignored (`nohup`)."""
_GC_THRESHOLD = (50_000, 25, 100)
"""Almost everything is freed by reference counts, so looking for cycles may be rare."""


def stop_on_signals() -> asyncio.Event:
    """Return an event that the first of `_STOP_SIGNALS` sets; a second ends the process at once.

    The handler is Python's and not the loop's, so that the second signal is heard even where the
    loop is busy, or waits for a thread, while it ends.
    """
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    is_without_hangup = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    heard = [each for each in _STOP_SIGNALS if each != signal.SIGHUP or not is_without_hangup]

    def ask(_number: int, _frame: types.FrameType | None) -> None:
        for each in heard:
            signal.signal(each, signal.SIG_DFL)
        loop.call_soon_threadsafe(stopping.set)

    for each in heard:
        signal.signal(each, ask)
    return stopping


async def run_until_stopped(stopping: asyncio.Event, work: Coroutine[None, None, T]) -> T | None:
    """Return what comes of `work`, None where the process is asked to end before."""
    working = asyncio.create_task(work)
    asked = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait((working, asked), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        asked.cancel()
        await asyncio.gather(working, asked, return_exceptions=True)


async def run_in_thread(work: Callable[[], T]) -> T:
    """Return what `work` returns, which may take long and is given up when the process ends.

    Threads of `asyncio.to_thread` are waited for then, however long they take.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        settle: Callable[[], None]
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            settle = functools.partial(_set_future_error, answer, error)
        else:
            settle = functools.partial(_set_future_result, answer, result)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle)

    threading.Thread(target=run, name="in_thread", daemon=True).start()
    return await answer


def _set_future_result(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():  # else nobody waits any more
        answer.set_result(result)


def _set_future_error(answer: asyncio.Future[T], error: BaseException) -> None:
    if not answer.done():
        answer.set_exception(error)


def make_garbage_collection_rare() -> None:
    """Look for cycles seldom, also while all that there is in a cluster is listed."""
    gc.set_threshold(*_GC_THRESHOLD)


def freeze_existing_objects() -> None:
    """Keep collections out of the hot path: what exists now is long-lived, look at new things."""
    gc.collect()
    gc.freeze()
    make_garbage_collection_rare()


def collect_garbage_cycles() -> None:
    """Free what holds itself and nothing else does, such as the policies of a former version.

    Left alone it would wait for a collection of everything, which `freeze_existing_objects` makes
    rare. It skips objects of before that freeze; newer ones cost 1.2 ms for each thousand pods.
    """
    gc.collect()


@contextlib.contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Build much that lives long without looking for cycles in it again and again.

    What makes several such things one after the other collects in between.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()
