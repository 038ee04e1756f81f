from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading

import pytest

from policysched.app import process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_asks_to_stop(number: signal.Signals) -> None:
    """It sets the event, and lets the next one, of either kind, end the process at once."""

    async def ask() -> None:
        stopping = process.stop_on_signals()
        assert not stopping.is_set()
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stopping.wait(), timeout=10)

    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}
    asyncio.run(ask())
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) == signal.SIG_DFL
    for each, handler in before.items():
        signal.signal(each, handler)


def test_long_lived_objects_are_left_out_of_collections() -> None:
    """What exists when the scheduler begins to work is not looked at again and again."""
    before = gc.get_threshold()
    try:
        process.settle_memory()
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold()[0] > before[0]
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def test_collections_pause_while_much_is_built() -> None:
    """They come back as they were, also after an error."""
    before = gc.isenabled()

    def fail_inside() -> None:
        with process.without_collections():
            assert not gc.isenabled()
            assert gc.get_freeze_count() > 0
            raise KeyError

    with pytest.raises(KeyError):
        fail_inside()
    assert gc.isenabled() == before
    assert gc.get_freeze_count() == 0


async def _answer(after: asyncio.Event) -> str:
    await after.wait()
    return "done"


def test_work_before_the_start_ends_when_the_process_does() -> None:
    """What comes of it counts where it is first; what it raises is raised."""

    async def scenario() -> None:
        stopping, never, at_once = asyncio.Event(), asyncio.Event(), asyncio.Event()
        at_once.set()
        assert await process.unless(stopping, _answer(at_once)) == "done"
        stopping.set()
        assert await process.unless(stopping, _answer(never)) is None

    asyncio.run(scenario())


def test_work_in_a_thread_is_answered() -> None:
    """By what it returns, or by what it raises."""
    assert asyncio.run(process.in_thread(lambda: 1 + 1)) == 2
    with pytest.raises(ZeroDivisionError):
        asyncio.run(process.in_thread(lambda: 1 // 0))


def test_nobody_waits_for_work_in_a_thread_at_the_end() -> None:
    """What is still at work when the loop ends is left alone, and so is what comes of it then."""
    go_on, done = threading.Event(), threading.Event()

    def work() -> None:
        go_on.wait(60.0)
        done.set()

    async def give_up() -> None:
        working = asyncio.create_task(process.in_thread(work))
        await asyncio.sleep(0)
        working.cancel()

    asyncio.run(give_up())
    assert not done.is_set()
    go_on.set()
    assert done.wait(60.0)
