"""`Scheduler.run`, `stop` and changes of profiles."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from policysched.framework import status
from policysched.scheduler import scheduler
from tests import builders
from tests.queue import fakes as queue_fakes
from tests.scheduler import fakes

WAIT = status.Status(status.Code.WAIT)


class Alarm:
    """Sleeps that end when the test says so."""

    def __init__(self) -> None:
        """Note nothing yet."""
        self.asked_seconds: list[float] = []
        self.ring = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Sleep until the test rings."""
        self.asked_seconds.append(seconds)
        await self.ring.wait()


async def until(holds: Callable[[], bool]) -> None:
    """Let others run until something holds; a test that waits in vain fails by its assertion."""
    for _ in range(200):
        if holds():
            return
        await asyncio.sleep(0)
    raise AssertionError


class TestRun:
    """The loop."""

    def test_wakes_for_pods_and_stops(self) -> None:
        """An idle loop sleeps without a timer, takes up a pod that comes, and ends on stop."""

        async def scenario() -> None:
            alarm = Alarm()
            world = fakes.World(sleep=alarm.sleep)
            running = asyncio.create_task(world.scheduler.run())
            world.add_node("n1")
            await until(lambda: not world.scheduler._awake.is_set())
            world.add_pod("a")
            await until(lambda: world.bind.bound == [("a", "n1")])
            await world.scheduler.stop()
            await running
            assert alarm.asked_seconds == []

        fakes.play(scenario())

    def test_sleeps_until_the_next_timer(self) -> None:
        """A backoff ends by the clock, and the loop wakes for it."""

        async def scenario() -> None:
            alarm = Alarm()
            world = fakes.World(sleep=alarm.sleep)
            world.bind.refusals.append("busy")
            world.add_node("n1")
            world.add_pod("a")
            running = asyncio.create_task(world.scheduler.run())
            await until(lambda: alarm.asked_seconds == [2.0])
            world.clock.advance(2.0)
            alarm.ring.set()
            await until(lambda: world.bind.bound == [("a", "n1")])
            await world.scheduler.stop()
            await running

        fakes.play(scenario())

    def test_no_more_bindings_in_flight_than_allowed(self) -> None:
        """The loop pauses when the API server is slow, and goes on when bindings return."""

        async def scenario() -> None:
            settings = scheduler.SchedulerSettings(max_bindings_in_flight=3)
            world = fakes.World(settings=settings)
            world.bind.hold = asyncio.Event()
            world.add_node("n1", pods=10)
            for number in range(10):
                world.add_pod(f"p{number}")
            running = asyncio.create_task(world.scheduler.run())
            for _ in range(50):
                await asyncio.sleep(0)
                assert world.scheduler.bindings_in_flight <= 3
            assert world.cache.assumed_count == 3
            world.bind.hold.set()
            await until(lambda: len(world.bind.bound) == 10)
            await world.scheduler.stop()
            await running

        fakes.play(scenario())

    def test_pods_that_wait_for_permit_do_not_count(self) -> None:
        """A group larger than the limit can gather at Permit."""

        async def scenario() -> None:
            settings = scheduler.SchedulerSettings(max_bindings_in_flight=2)
            world = fakes.World(fakes.Scripted(permit_answer=WAIT), settings=settings)
            world.add_node("n1", pods=10)
            for number in range(5):
                world.add_pod(f"p{number}")
            running = asyncio.create_task(world.scheduler.run())
            await until(lambda: len(world.waiting) == 5)
            for waiting in world.waiting:
                world.waiting.allow(waiting.info.uid, "Scripted")
            await until(lambda: len(world.bind.bound) == 5)
            await world.scheduler.stop()
            await running

        fakes.play(scenario())

    def test_io_gets_its_turn(self) -> None:
        """A long backlog does not keep bindings from being made meanwhile."""

        async def scenario() -> None:
            world = fakes.World(settings=scheduler.SchedulerSettings(max_burst_seconds=0.0))
            world.add_node("n1", pods=50)
            for number in range(50):
                world.add_pod(f"p{number}")
            running = asyncio.create_task(world.scheduler.run())
            await until(lambda: len(world.bind.bound) > 0)
            assert world.queue.count_pending_pods()["active"] > 0
            await until(lambda: len(world.bind.bound) == 50)
            await world.scheduler.stop()
            await running

        fakes.play(scenario())


class TestStop:
    """Graceful and not."""

    def test_finishes_what_is_being_bound(self) -> None:
        """A binding under way is waited for; pods not yet begun stay in the queue."""

        async def scenario() -> None:
            settings = scheduler.SchedulerSettings(max_bindings_in_flight=1)
            world = fakes.World(settings=settings)
            world.bind.hold = asyncio.Event()
            world.add_node("n1", pods=5)
            world.add_pod("a")
            world.add_pod("b")
            running = asyncio.create_task(world.scheduler.run())
            await until(lambda: world.scheduler.bindings_in_flight == 1)
            stopping = asyncio.create_task(world.scheduler.stop())
            await asyncio.sleep(0)
            world.bind.hold.set()
            await stopping
            await running
            assert world.bind.bound == [("a", "n1")]
            assert (world.where("a"), world.where("b")) == ("assumed", "active")

        fakes.play(scenario())

    @pytest.mark.parametrize(
        "plugin",
        [
            pytest.param(fakes.Scripted(permit_answer=WAIT), id="at permit"),
            pytest.param(fakes.Scripted(), id="at bind"),
        ],
    )
    def test_undoes_what_cannot_be_finished(self, plugin: fakes.Scripted) -> None:
        """When time is up, what was assumed is given back; owners need not hear of it."""

        async def scenario() -> None:
            plugin.calls.clear()
            world = fakes.World(plugin)
            world.bind.hold = asyncio.Event()
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            await world.scheduler.stop(grace_seconds=0.0)
            assert world.cache.pod_count == 0
            assert plugin.calls[-1] == "unreserve"
            assert world.bind.bound == []
            assert len(world.waiting) == 0
            assert (world.recorder.events, world.recorder.conditions) == ([], [])

        fakes.play(scenario())


class TestRunAgain:
    """A leader that lost its lease, and leads again."""

    def test_schedules_what_was_undone_and_what_came(self) -> None:
        """Pods undone by the stop, pods that came and pods that others bound: all are seen to."""

        async def scenario() -> None:
            world = fakes.World()
            world.bind.hold = asyncio.Event()
            world.add_node("n1", pods=3)
            world.add_pod("undone")
            running = asyncio.create_task(world.scheduler.run())
            await until(lambda: world.scheduler.bindings_in_flight == 1)
            assert not await world.scheduler.stop(grace_seconds=0.0)
            await running
            world.add_pod("came")
            world.add_pod("elsewhere")
            world.confirm("elsewhere", "n1")
            await asyncio.sleep(0)
            assert world.bind.bound == []
            world.bind.hold.set()
            running = asyncio.create_task(world.scheduler.run())
            await until(lambda: len(world.bind.bound) == 1)
            world.clock.advance(10.0)  # the end of the backoff of the one that was undone
            await until(lambda: len(world.bind.bound) == 2)
            assert sorted(world.bind.bound) == [("came", "n1"), ("undone", "n1")]
            assert await world.scheduler.stop()
            await running

        fakes.play(scenario())

    def test_tells_the_owners_of_waiting_pods_again(self) -> None:
        """Pods that fit nowhere are tried again; their condition may not have been written."""

        async def scenario() -> None:
            world = fakes.World()
            world.add_node("n1", pods=0)
            world.add_pod("a")
            for terms in (1, 2):
                running = asyncio.create_task(world.scheduler.run())
                world.clock.advance(60.0)
                await until(lambda terms=terms: len(world.recorder.conditions) == terms)  # type: ignore[misc]  # a lambda's default has no type
                await world.scheduler.stop()
                await running

        fakes.play(scenario())


class TestProfiles:
    """Other policies from one pod to the next."""

    def test_a_new_profile_is_tried_on_pods_that_wait(self) -> None:
        """A pod that the old profile rejected is bound under the new one."""

        async def scenario() -> None:
            world = fakes.World()
            world.add_node("n1", pods=0)
            world.add_pod("a")
            await world.settle()
            lenient = world.framework((fakes.Sort(), world.bind), ("lenient",))
            world.scheduler.set_profiles({"default-scheduler": lenient})
            await world.settle()
            assert world.bind.bound == [("a", "n1")]
            assert "(default-scheduler: lenient; 3f2a91c0)" in world.recorder.notes[-1]

        fakes.play(scenario())

    def test_profiles_come_and_go(self) -> None:
        """Pods of a new profile are taken up, those of a removed one are left to others."""

        async def scenario() -> None:
            world = fakes.World()
            world.add_node("n1", pods=0)
            world.add_pod("old")
            world.add_pod(builders.make_pod("new").scheduler_name("other"))
            await world.settle()
            assert (world.where("old"), world.where("new")) == ("unschedulable", "gone")
            other = world.framework((fakes.Sort(), world.bind))
            world.scheduler.set_profiles({"other": other})
            assert (world.where("old"), world.where("new")) == ("gone", "active")
            assert world.scheduler.serves_scheduler_name("other")
            assert not world.scheduler.serves_scheduler_name("default-scheduler")

        fakes.play(scenario())

    def test_annotations_that_policies_read_are_seen_from_then_on(self) -> None:
        """Pods get new shapes when policies begin to read an annotation, usage stays the same."""

        async def scenario() -> None:
            world = fakes.World()
            world.add_node("n1", pods=1)
            placed = builders.make_pod("placed").requests(cpu="1").annotations({"team": "a"})
            world.add_pod(placed.node("n1"))
            world.add_pod(builders.make_pod("waits").annotations({"team": "b"}))
            await world.settle()
            before = world.cache.nodes.requested.copy()
            framework = world.framework(world.plugins)
            world.scheduler.set_profiles({"default-scheduler": framework}, frozenset(("team",)))
            shape = world.cache.get_pod("uid-default-placed")
            waits = world.queue.get(queue_fakes.uid("waits"))
            assert shape is not None
            assert waits is not None
            assert shape.shape.annotations == {"team": "a"}
            assert waits.info.shape.annotations == {"team": "b"}
            assert (world.cache.nodes.requested == before).all()

        fakes.play(scenario())


class TestPause:
    """Pods wait while somebody has a reason."""

    def test_each_pause_has_an_end_of_its_own(self) -> None:
        """Metrics are waited for at the start, and for a reload meanwhile."""

        async def scenario() -> None:
            world = fakes.World()
            world.add_node("n1")
            world.add_pod("a")
            world.scheduler.pause()
            world.scheduler.pause()
            world.scheduler.resume()
            assert not world.scheduler.schedule_one()
            world.scheduler.resume()
            assert world.scheduler.schedule_one()
            await world.settle()

        fakes.play(scenario())
