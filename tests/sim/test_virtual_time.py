from __future__ import annotations

import asyncio

from policysched import clock as clocks
from policysched.sim import virtual_time
from tests import builders


def test_sleepers_wake_in_order_and_at_their_time() -> None:
    """Each sleeper sees the clock at exactly the time it asked for."""

    async def scenario() -> list[tuple[str, float]]:
        time = virtual_time.VirtualTime(clocks.ManualClock(builders.EPOCH))
        woken: list[tuple[str, float]] = []

        async def sleep(name: str, seconds: float) -> None:
            await time.sleep(seconds)
            woken.append((name, time.clock.monotonic_seconds()))

        tasks = [asyncio.create_task(sleep(n, s)) for n, s in (("b", 2.0), ("a", 1.0), ("c", 9.0))]
        await time.advance(5.0)
        assert time.clock.monotonic_seconds() == 5.0
        assert time.next_wake_seconds == 9.0
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return woken

    assert asyncio.run(scenario()) == [("a", 1.0), ("b", 2.0)]


def test_who_sleeps_again_wakes_within_the_same_advance() -> None:
    """Moving the clock far runs a chain of sleeps one after the other."""

    async def scenario() -> list[float]:
        time = virtual_time.VirtualTime(clocks.ManualClock(builders.EPOCH))
        seen = []

        async def tick() -> None:
            for _ in range(3):
                await time.sleep(1.5)
                seen.append(time.clock.monotonic_seconds())

        task = asyncio.create_task(tick())
        await time.advance(10.0)
        await task
        return seen

    assert asyncio.run(scenario()) == [1.5, 3.0, 4.5]


def test_no_time_is_no_wait() -> None:
    """A sleep of zero seconds needs nobody to move the clock."""
    time = virtual_time.VirtualTime(clocks.ManualClock(builders.EPOCH))
    asyncio.run(time.sleep(0.0))
    assert time.next_wake_seconds is None


def test_a_cancelled_sleeper_does_not_stop_the_others() -> None:
    """Time goes on when the one to be woken has given up."""

    async def scenario() -> bool:
        time = virtual_time.VirtualTime(clocks.ManualClock(builders.EPOCH))
        given_up = asyncio.create_task(time.sleep(1.0))
        waiting = asyncio.create_task(time.sleep(2.0))
        await virtual_time.run_ready_tasks()
        given_up.cancel()
        await time.advance(3.0)
        return waiting.done() and given_up.cancelled()

    assert asyncio.run(scenario())
