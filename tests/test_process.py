from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from policysched import process

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.fixture
def signals() -> Iterator[None]:
    """Signals are handled afterwards as they were before."""
    before = {each: signal.getsignal(each) for each in _SIGNALS}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may have ignored it
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("number", _SIGNALS)
def test_the_first_signal_asks_to_stop(number: signal.Signals) -> None:
    """It sets the event, and lets the next one, of any kind, end the process at once."""

    async def ask() -> None:
        stopping = process.stop_on_signals()
        assert not stopping.is_set()
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stopping.wait(), timeout=60)

    asyncio.run(ask())
    assert [signal.getsignal(each) for each in _SIGNALS] == [signal.SIG_DFL] * 3


@pytest.mark.usefixtures("signals")
def test_a_hangup_that_is_ignored_stays_so() -> None:
    """`nohup policysched run` goes on when the terminal closes, and when it is asked to stop."""

    async def ask() -> None:
        stopping = process.stop_on_signals()
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stopping.wait(), timeout=60)

    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    asyncio.run(ask())
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_long_lived_objects_are_left_out_of_collections() -> None:
    """What exists when the scheduler begins to work is not looked at again and again."""
    before = gc.get_threshold()
    gc.set_threshold(700)
    try:
        process.exempt_objects_from_gc()
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold()[0] > 700
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def test_lists_of_a_cluster_are_read_without_collections() -> None:
    """Some ten thousand objects that stay, as a page of pods brings, cause none."""
    before = gc.get_threshold()
    gc.collect()
    try:
        process.make_garbage_collection_rare()
        counted = gc.get_stats()[0]["collections"]
        kept = [[number] for number in range(20_000)]
        assert gc.get_stats()[0]["collections"] == counted
        assert len(kept) == 20_000
    finally:
        gc.set_threshold(*before)


def test_collections_pause_while_much_is_built() -> None:
    """They come back as they were, also after an error."""
    before = gc.isenabled()

    def fail_inside() -> None:
        with process.pause_garbage_collection():
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
        assert await process.run_until_stopped(stopping, _answer(at_once)) == "done"
        stopping.set()
        assert await process.run_until_stopped(stopping, _answer(never)) is None

    asyncio.run(scenario())


def test_work_in_a_thread_is_answered() -> None:
    """By what it returns, or by what it raises."""
    assert asyncio.run(process.run_in_thread(lambda: 1 + 1)) == 2
    with pytest.raises(ZeroDivisionError):
        asyncio.run(process.run_in_thread(lambda: 1 // 0))


def test_nobody_waits_for_work_in_a_thread_at_the_end() -> None:
    """What is still at work when the loop ends is left alone, and so is what comes of it then."""
    go_on, done = threading.Event(), threading.Event()

    def work() -> None:
        go_on.wait(60.0)
        done.set()

    async def give_up() -> None:
        working = asyncio.create_task(process.run_in_thread(work))
        await asyncio.sleep(0)
        working.cancel()

    asyncio.run(give_up())
    assert not done.is_set()
    go_on.set()
    assert done.wait(60.0)
