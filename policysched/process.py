"""The process around the scheduler: signals, threads, garbage collection."""

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
"""A closing terminal sends SIGHUP; `nohup` makes the process ignore it."""
_GC_THRESHOLD = (50_000, 25, 100)
"""Reference counting frees almost all objects, so cycle collections can be rare."""


def stop_on_signals() -> asyncio.Event:
    """Return an event that the first stop signal sets; a second signal ends the process.

    The handlers are set with `signal.signal`, not in the event loop. The second signal therefore
    takes effect even if the loop is busy or waits for a thread during shutdown.
    """
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    is_without_hangup = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    heard = [each for each in _STOP_SIGNALS if each != signal.SIGHUP or not is_without_hangup]

    def ask(_number: int, _frame: types.FrameType | None) -> None:
        # The next signal then has its default effect and ends the process.
        for each in heard:
            signal.signal(each, signal.SIG_DFL)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(stopping.set)

    for each in heard:
        signal.signal(each, ask)
    return stopping


async def run_until_stopped(stopping: asyncio.Event, work: Coroutine[None, None, T]) -> T | None:
    """Return the result of `work`, or None if `stopping` is set first."""
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
    """Run `work` in a daemon thread and return its result; process exit does not wait for it.

    With `asyncio.to_thread`, the process would wait at exit until the thread ends.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        """Call `work` and settle the future in the event loop."""
        settle: Callable[[], None]
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - re-raised in the waiting task
            settle = functools.partial(_set_future_error, answer, error)
        else:
            settle = functools.partial(_set_future_result, answer, result)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle)

    threading.Thread(target=run, name="in_thread", daemon=True).start()
    return await answer


def _set_future_result(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():  # otherwise the waiting task was cancelled
        answer.set_result(result)


def _set_future_error(answer: asyncio.Future[T], error: BaseException) -> None:
    if not answer.done():
        answer.set_exception(error)


def make_garbage_collection_rare() -> None:
    """Make cycle collections rare, and skip the modules imported so far, which stay in use.

    The modules of `run` are 200,000 objects with hardly any garbage among them; a collection that
    includes them takes 0.1 s.
    """
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLD)


def exempt_objects_from_gc() -> None:
    """Exclude all existing objects from later collections: they are long-lived."""
    gc.collect()
    make_garbage_collection_rare()


def collect_garbage_cycles() -> None:
    """Free objects that are referenced only by each other, such as replaced policies.

    Otherwise they would stay until the next full collection, which is rare. Objects that
    `exempt_objects_from_gc` has frozen are skipped; the other objects cost 1.2 ms per thousand
    pods.
    """
    gc.collect()


@contextlib.contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Suspend automatic cycle collection while the caller builds many long-lived objects.

    A caller that builds several large structures in turn must run a collection between them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    # Explicit collections within the context skip the objects that exist now.
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()
