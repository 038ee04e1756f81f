"""Who leads, when, and until when: tables, and candidates in a world where all goes wrong."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import hypothesis
import pytest
from hypothesis import strategies as st

from policysched import clock as clocks
from policysched.kube import errors
from policysched.kube.election import leader_election, lease
from policysched.kube.http import fence
from policysched.sim import virtual_time
from tests import builders, examples
from tests.kube.asynchronous import asynchronous
from tests.kube.election import leases

TIMES = leader_election.LeaseTimings()
OTHERS = lease.LeaderElectionRecord("other", 15, "then", "then", 4)


def stored(record: lease.LeaderElectionRecord, version: int = 1) -> lease.StoredLease:
    """Return a lease as it is read."""
    return lease.StoredLease(record, {"version": version})


def new_candidate() -> tuple[leader_election.LeaderCandidate, clocks.ManualClock]:
    """Return a candidate that knows nothing, and its clock."""
    clock = clocks.ManualClock(builders.EPOCH)
    return leader_election.LeaderCandidate("me", TIMES, clock), clock


# --- what one candidate concludes -----------------------------------------------------------------


@pytest.mark.parametrize(
    "seen, waited_seconds, transitions",
    [
        pytest.param(None, 0.0, 0, id="there is no lease"),
        pytest.param(lease.LeaderElectionRecord(transitions=4), 0.0, 5, id="it is released"),
        pytest.param(OTHERS, 0.0, None, id="another one leads"),
        pytest.param(OTHERS, 14.9, None, id="another one has not renewed for a while"),
        pytest.param(OTHERS, 15.0, 5, id="another one has not renewed for too long"),
        pytest.param(
            dataclasses.replace(OTHERS, duration_seconds=60), 15.0, None, id="its own duration"
        ),
        pytest.param(
            dataclasses.replace(OTHERS, duration_seconds=3), 3.0, 5, id="its own, shorter duration"
        ),
        pytest.param(
            dataclasses.replace(OTHERS, duration_seconds=0), 14.9, None, id="no duration at all"
        ),
        pytest.param(
            dataclasses.replace(OTHERS, holder="me"), 0.0, 4, id="ours, by a write without answer"
        ),
    ],
)
def test_who_may_take_the_lease(
    seen: lease.LeaderElectionRecord | None, waited_seconds: float, transitions: int | None
) -> None:
    """A lease is free when nobody holds it, or when it has not changed for its whole duration."""
    candidate, clock = new_candidate()
    candidate.observe_lease(stored(seen) if seen else None)
    clock.advance(waited_seconds)
    wanted = candidate.build_acquisition_record()
    assert (wanted.transitions if wanted else None) == transitions
    if wanted is not None:
        assert (wanted.holder, wanted.duration_seconds) == ("me", 15)


def test_the_duration_counts_from_the_last_change_that_was_seen() -> None:
    """A renewal starts the wait anew, reading the same state again does not; clocks are our own."""
    candidate, clock = new_candidate()
    candidate.observe_lease(stored(OTHERS))
    clock.advance(10.0)
    candidate.observe_lease(stored(OTHERS))
    clock.advance(4.9)
    assert candidate.build_acquisition_record() is None
    candidate.observe_lease(stored(dataclasses.replace(OTHERS, renewed_at="2099"), 2))
    clock.advance(14.9)
    assert candidate.build_acquisition_record() is None
    clock.advance(0.1)
    assert candidate.build_acquisition_record() is not None


def test_a_leader_leads_from_before_its_renewal_was_sent() -> None:
    """The right to write counts from the sending; how late the answer came does not matter."""
    candidate, clock = new_candidate()
    assert candidate.compute_leading_seconds_left() == 0.0
    wanted = candidate.build_acquisition_record()
    assert wanted is not None
    clock.advance(3.0)
    candidate.note_written_lease(stored(wanted), sent_at_seconds=0.0)
    assert candidate.compute_leading_seconds_left() == 7.0
    clock.advance(7.0)
    assert candidate.compute_leading_seconds_left() == 0.0


@pytest.mark.parametrize(
    "seen",
    [stored(OTHERS, 2), stored(lease.LeaderElectionRecord(), 2), None],
    ids=["taken", "released", "gone"],
)
def test_a_leader_that_sees_the_lease_elsewhere_leads_no_more(
    seen: lease.StoredLease | None,
) -> None:
    """Somebody has taken, emptied or deleted it by hand: it does not wait for its deadline."""
    candidate, _ = new_candidate()
    wanted = candidate.build_acquisition_record()
    assert wanted is not None
    candidate.note_written_lease(stored(wanted), sent_at_seconds=0.0)
    candidate.observe_lease(seen)
    assert candidate.compute_leading_seconds_left() == 0.0


def test_an_odd_duration_is_written_as_a_longer_one() -> None:
    """Leases have whole seconds: others must not wait for less than we count on."""
    clock = clocks.ManualClock(builders.EPOCH)
    times = leader_election.LeaseTimings(2.5, 1.5, 0.5)
    wanted = leader_election.LeaderCandidate("me", times, clock).build_acquisition_record()
    assert wanted is not None
    assert wanted.duration_seconds == 3


# --- one elector and the API server ---------------------------------------------------------------


class Process:
    """One candidate with a clock and a line of its own."""

    def __init__(
        self,
        server: leases.Server,
        name: str,
        *,
        offset_seconds: float = 0.0,
        times: leader_election.LeaseTimings = TIMES,
    ) -> None:
        self.clock = clocks.ManualClock(builders.EPOCH)
        self.clock.advance(offset_seconds)
        self.time = virtual_time.VirtualTime(self.clock)
        self.line = leases.Line(server, self.time.sleep)
        self.candidate = leader_election.LeaderCandidate(name, times, self.clock)
        self.writes = fence.WriteFence(self.clock, times.last_writes_seconds)
        self.elector = leader_election.LeaseElector(
            self.line, self.candidate, self.writes, rng=random.Random(name), sleep=self.time.sleep
        )
        self.terms = 0

    async def run(self) -> None:
        """Lead whenever that is possible."""
        while True:
            await self.elector.acquire()
            self.terms += 1
            await self.elector.renew()

    def may_write(self) -> bool:
        """Return whether a write would be let through."""
        try:
            self.writes.compute_allowed_write_seconds()
        except errors.FencedWriteError:
            return False
        return True


@asynccontextmanager
async def running(*processes: Process) -> AsyncIterator[None]:
    """Let processes run beside the test."""
    tasks = [asyncio.create_task(process.run()) for process in processes]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def advance(seconds: float, *processes: Process) -> None:
    """Let time pass for all, in steps so small that they see each other's writes."""
    for _ in range(round(seconds / 0.25)):
        for process in processes:
            await process.time.advance(0.25)


@asynchronous
async def test_a_lone_candidate_leads_at_once_and_goes_on() -> None:
    """It creates the lease and renews it every retry period, for as long as it likes."""
    server = leases.Server()
    alone = Process(server, "me")
    async with running(alone):
        await advance(1.0, alone)
        assert alone.may_write()
        await advance(3600.0, alone)
        assert alone.may_write()
    assert alone.terms == 1
    assert alone.line.writes == 1 + 1800
    assert server.stored is not None
    assert (server.stored.record.holder, server.stored.record.transitions) == ("me", 0)


@asynchronous
async def test_the_second_waits_until_the_first_is_silent_for_the_whole_duration() -> None:
    """A leader that dies is followed after the lease duration and the longest two pauses."""
    server = leases.Server()
    first, second = Process(server, "a"), Process(server, "b")
    dying = asyncio.create_task(first.run())
    await advance(1.0, first)
    async with running(second):
        await advance(60.0, first, second)
        assert (first.may_write(), second.may_write()) == (True, False)
        dying.cancel()
        await advance(15.0 - 2.0, second)  # the last renewal was up to a retry period before
        assert not second.may_write()
        await advance(2.0 + 2 * 2.0 * 2.2, second)
        assert second.may_write()
    assert server.stored is not None
    assert server.stored.record.transitions == 1


@pytest.mark.parametrize("fault", ["loses_requests", "loses_answers", "refused", "slow"])
@asynchronous
async def test_a_leader_that_cannot_renew_stops_in_time_and_comes_back(fault: str) -> None:
    """It may write until ten seconds after it sent its last renewal, and again when it gets one."""
    alone = Process(leases.Server(), "me")
    async with running(alone):
        await advance(5.0, alone)
        match fault:
            case "refused":
                alone.line.error = errors.ServerError(500, "InternalError", "no etcd")
            case "slow":
                alone.line.seconds = 100.0
            case _:
                setattr(alone.line, fault, True)
        await advance(7.5, alone)
        assert alone.may_write()
        await advance(2.5, alone)
        assert not alone.may_write()
        assert not alone.elector.is_leading
        alone.line.error = None
        alone.line.seconds = 0.0
        alone.line.loses_requests = alone.line.loses_answers = False
        await advance(120.0, alone)
        assert alone.may_write()
    assert alone.terms == 2


@asynchronous
async def test_a_lease_that_is_released_is_taken_with_the_next_attempt() -> None:
    """The next one needs not wait for the lease to run out, nor does the former write again."""
    server = leases.Server()
    first, second = Process(server, "a"), Process(server, "b")
    async with running(first):
        await advance(1.0, first)
    async with running(second):
        await advance(10.0, first, second)
        assert not second.may_write()
        await first.elector.release()
        assert not first.may_write()
        assert server.stored is not None
        assert (server.stored.record.holder, server.stored.record.duration_seconds) == ("", 1)
        await advance(2.0 * 2.2, second)
        assert second.may_write()
    assert server.stored.record.transitions == 1


@asynchronous
async def test_a_lease_is_released_also_where_a_renewal_was_not_answered() -> None:
    """The version has changed then; it is read and released again."""
    server = leases.Server()
    alone = Process(server, "me")
    async with running(alone):
        await advance(1.0, alone)
        alone.line.loses_answers = True
        await advance(2.0, alone)
    alone.line.loses_answers = False
    await alone.elector.release()
    assert server.stored is not None
    assert server.stored.record.holder == ""


@asynchronous
async def test_a_lease_of_another_one_is_not_released() -> None:
    """Who stands by, or has lost the lease, leaves it alone when it ends."""
    server = leases.Server()
    first, second = Process(server, "a"), Process(server, "b")
    async with running(first):
        await advance(1.0, first)
        async with running(second):
            await advance(5.0, first, second)
        await second.elector.release()
        assert second.line.writes == 0
        await advance(5.0, first)
        assert first.may_write()


@asynchronous
async def test_failures_are_told_once_of_a_kind(caplog: pytest.LogCaptureFixture) -> None:
    """Ten minutes without the right to read leases are one line of the log, with the reason."""
    alone = Process(leases.Server(), "me")
    alone.line.error = errors.ForbiddenError(403, "Forbidden", "cannot get leases")
    async with running(alone):
        await advance(600.0, alone)
    (record,) = caplog.records
    assert "the lease test/lease could not be acquired" in record.getMessage()
    assert "cannot get leases" in record.getMessage()


def test_who_does_not_notice_that_the_lease_is_lost_is_overdue() -> None:
    """By the time since others may lead; who stands by, or has noticed, is not."""
    clock = clocks.ManualClock(builders.EPOCH)
    candidate = leader_election.LeaderCandidate("me", leader_election.LeaseTimings(), clock)
    assert candidate.compute_seconds_since_expiry() == 0.0
    wanted = candidate.build_acquisition_record()
    assert wanted is not None
    candidate.note_written_lease(lease.StoredLease(wanted, {}), clock.monotonic_seconds())
    clock.advance(15.0)
    assert candidate.compute_seconds_since_expiry() == 0.0
    clock.advance(30.0)
    assert candidate.compute_seconds_since_expiry() == 30.0
    candidate.step_down()
    assert candidate.compute_seconds_since_expiry() == 0.0


# --- several in a bad world -----------------------------------------------------------------------

SHORT = leader_election.LeaseTimings(3.0, 2.0, 0.5)

HARMS = st.sampled_from(
    ["loses_requests", "loses_answers", "refused", "slow", "stopped", "killed", "well"]
)


@dataclasses.dataclass
class Happening:
    """After a while something happens to one process."""

    after_seconds: float
    process: int
    harm: str


class BadWorld:
    """Processes, and a witness of when each of them wrote.

    Attributes:
        now_seconds: the time of the world; each process counts from a start of its own.
        begun, ended: times of the world at which writes of a process were sent, and arrived.
    """

    def __init__(self, offsets: list[float]) -> None:
        self.server = leases.Server()
        self.processes = [
            Process(self.server, f"p{n}", offset_seconds=offset, times=SHORT)
            for n, offset in enumerate(offsets)
        ]
        self.stopped: set[int] = set()
        self.tasks = [asyncio.create_task(process.run()) for process in self.processes]
        self.now_seconds = 0.0
        self.acted: list[tuple[float, float, int]] = []

    async def pass_by(self, seconds: float) -> None:
        """Let time pass; who may write does so, as slowly as it may."""
        for _ in range(round(seconds / 0.1)):
            self.now_seconds += 0.1
            for number, process in enumerate(self.processes):
                if number in self.stopped:
                    process.clock.advance(0.1)  # what it slept for ends when it goes on
                else:
                    await process.time.advance(0.1)
                    self._act(number, process)

    def _act(self, number: int, process: Process) -> None:
        if process.may_write():
            until_seconds = self.now_seconds + process.writes.compute_allowed_write_seconds()
            self.acted.append((self.now_seconds, until_seconds, number))

    def harm(self, number: int, harm: str) -> None:
        """Let something happen to a process; what happened to it before is over."""
        process = self.processes[number]
        line = process.line
        line.loses_requests = harm == "loses_requests"
        line.loses_answers = harm == "loses_answers"
        line.error = errors.ServerError(500, "", "no") if harm == "refused" else None
        line.seconds = {"slow": 1.7}.get(harm, 0.0)
        if harm == "stopped":
            self.stopped.add(number)
        else:
            self.stopped.discard(number)
        if harm == "killed":
            self._start_again(number)

    def _start_again(self, number: int) -> None:
        self.tasks[number].cancel()
        name = f"{self.processes[number].candidate.identity}+"
        self.processes[number] = Process(self.server, name, times=SHORT)
        self.tasks[number] = asyncio.create_task(self.processes[number].run())

    async def end(self) -> None:
        """End all processes."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def overlaps(self) -> list[str]:
        """Return where one process began to write before the writes of another had ended."""
        found = []
        last_end: dict[int, float] = {}
        for begin, end, number in self.acted:
            found += [
                f"{number} began at {begin:.1f}, {other} ended at {other_end:.1f}"
                for other, other_end in last_end.items()
                if other != number and other_end > begin
            ]
            last_end[number] = max(end, last_end.get(number, 0.0))
        return found


@hypothesis.given(
    offsets=st.lists(st.floats(0.0, 1e6), min_size=2, max_size=3),
    happenings=st.lists(
        st.builds(Happening, st.floats(0.1, 6.0), st.integers(0, 2), HARMS), max_size=8
    ),
)
@hypothesis.settings(max_examples=examples.scale(40))
def test_no_two_lead_whatever_happens(offsets: list[float], happenings: list[Happening]) -> None:
    """All writes of a leader have ended before another one begins its first; and somebody leads."""

    async def scenario() -> None:
        world = BadWorld(offsets)
        try:
            for one in happenings:
                await world.pass_by(one.after_seconds)
                world.harm(one.process % len(offsets), one.harm)
            await world.pass_by(6.0)
            assert world.overlaps() == []
            for number in range(len(offsets)):
                world.harm(number, "well")
            await world.pass_by(12.0)
            assert world.overlaps() == []
            assert [process.may_write() for process in world.processes].count(True) == 1
        finally:
            await world.end()

    asyncio.run(scenario())


@asynchronous
async def test_the_witness_sees_two_leaders() -> None:
    """The test above can fail: a leader whose deadline is the duration itself is followed early."""
    world = BadWorld([0.0, 0.0])
    try:
        for process in world.processes:
            process.writes.last_writes_seconds = 3.0
        await world.pass_by(2.0)
        leader = next(n for n, process in enumerate(world.processes) if process.may_write())
        world.harm(leader, "loses_requests")
        await world.pass_by(8.0)
        assert world.overlaps() != []
    finally:
        await world.end()
