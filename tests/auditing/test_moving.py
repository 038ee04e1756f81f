"""Planned moves are carried out: writes of the loop guard, pace and evictions."""

from __future__ import annotations

import asyncio
import math

import pytest

from policysched import clock as clocks
from policysched import errors
from policysched.auditing import (
    cluster_audit,
    loop_guard,
    move_pace,
    move_planning,
    moving,
)
from policysched.cluster.pods import pod_shape
from tests.auditing import violators


class _World:
    """A store of the guard and an API server that keep what happens in order."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.stored: list[loop_guard.WorkloadMove] = []
        self.conflicts: list[list[loop_guard.WorkloadMove]] = []
        self.failures: list[Exception] = []
        self.clock = clocks.ManualClock(violators.NOW)
        self.interrupted_at_seconds = math.inf
        self.is_damaged = False

    async def read(self) -> list[loop_guard.WorkloadMove]:
        """Return what is stored."""
        if self.is_damaged:
            raise errors.InputError("guard", "damaged")
        return list(self.stored)

    async def write(self, guard: loop_guard.LoopGuard) -> None:
        """Store the moves, unless another process writes first."""
        if self.conflicts:
            self.stored = self.conflicts.pop(0)
            raise moving.GuardConflictError("changed")
        self.stored = list(guard.moves)
        self.log.append(f"guard {len(self.stored)}")

    async def evict(self, pod: pod_shape.PodInfo) -> None:
        """Evict, or fail."""
        if self.failures:
            raise self.failures.pop(0)
        self.log.append(f"evict {pod.pod.metadata.name} at {self.clock.monotonic_seconds():g}")

    async def wait(self, seconds: float) -> bool:
        """Let time pass, or return at the interruption."""
        left_seconds = self.interrupted_at_seconds - self.clock.monotonic_seconds()
        self.clock.advance(max(0.0, min(seconds, left_seconds)))
        return left_seconds <= seconds

    def move(
        self,
        cluster: violators.Cluster,
        *,
        is_dry_run: bool = False,
        pause: float = 10.0,
        listed_seconds_ago: float = 0.0,
    ) -> dict[str, tuple[str, str]]:
        """Return outcome and reason of each violator."""
        found = cluster_audit.audit_cluster(cluster.choose, cluster.desk.cache.snapshot).violations
        cluster.guard = loop_guard.LoopGuard(self.stored, violators.DAY)
        planner = cluster.make_planner()
        listed_at_seconds = self.clock.monotonic_seconds() - listed_seconds_ago
        pace = move_pace.MovePace(self.clock, listed_at_seconds, pause, self.wait)
        mover = moving.PodMover(planner, self, self, pace, self.clock)
        moved = mover.move(move_planning.list_violators(found), is_dry_run=is_dry_run)
        records = asyncio.run(moved)
        return {r.violator.pod.pod.metadata.name: (r.outcome.value, r.reason) for r in records}


def _make_cluster(*names: str) -> violators.Cluster:
    cluster = violators.Cluster()
    cluster.desk.place(*(violators.make_pod(name) for name in names))
    return cluster


def test_the_guard_is_written_before_each_eviction() -> None:
    """And two evictions are as far apart as the rate says."""
    world = _World()
    assert set(world.move(_make_cluster("one", "two")).values()) == {("evicted", "")}
    assert world.log == ["guard 1", "evict one at 0", "guard 2", "evict two at 10"]


def test_a_dry_run_writes_nothing() -> None:
    """It reports the same moves."""
    world = _World()
    assert set(world.move(_make_cluster("one", "two"), is_dry_run=True).values()) == {
        ("planned", "")
    }
    assert world.log == []


def test_a_second_run_moves_nothing_again() -> None:
    """The moves are in the cluster, not in the process."""
    world = _World()
    world.move(_make_cluster("one"))
    world.clock.advance(3600.0)
    ((outcome, reason),) = world.move(_make_cluster("one")).values()
    assert outcome == "skipped"
    assert "the loop guard has a move for fast/pool" in reason
    assert len(world.stored) == 1


def test_the_move_of_a_refused_eviction_is_removed_and_the_run_continues() -> None:
    """The pod stays, and may be tried again by the next run."""
    world = _World()
    world.failures = [moving.EvictionRefusedError("Cannot evict pod")]
    found = world.move(_make_cluster("one", "two"))
    assert found == {"one": ("refused", "Cannot evict pod"), "two": ("evicted", "")}
    assert [each.workload for each in world.stored] == ["default/ReplicaSet/two"]


def test_the_move_of_a_failed_eviction_stays() -> None:
    """Its outcome is unknown."""
    world = _World()
    world.failures = [errors.RemoteError("no answer")]
    assert world.move(_make_cluster("one")) == {"one": ("failed", "no answer")}
    assert len(world.stored) == 1


def test_another_process_can_write_the_guard() -> None:
    """Its moves count, and stay."""
    world = _World()
    world.conflicts = [[violators.make_workload_move("default/ReplicaSet/x", "fast/pool", "n", 0)]]
    assert world.move(_make_cluster("one")) == {"one": ("evicted", "")}
    assert len(world.stored) == 2
    other = _World()
    other.conflicts = [
        [violators.make_workload_move("default/ReplicaSet/one", "fast/pool", "n", 0)]
    ]
    ((outcome, reason),) = other.move(_make_cluster("one")).values()
    assert outcome == "skipped"
    assert "loop guard" in reason


def test_no_pod_is_evicted_if_the_guard_cannot_be_written() -> None:
    """Without the move of the pod, nothing would stop a circle."""
    world = _World()
    cluster = _make_cluster("one", "two", "three")
    world.conflicts = [[]] * 9
    ended = ("skipped", "the loop guard could not be written, so the run has ended")
    assert world.move(cluster) == {"one": ("failed", "changed"), "three": ended, "two": ended}
    assert world.log == []


def test_moves_that_are_damaged_during_a_run_do_not_lose_the_report() -> None:
    """The pods that were evicted before must be known, as after any other failure."""

    class DamagedWorld(_World):
        async def evict(self, pod: pod_shape.PodInfo) -> None:
            await super().evict(pod)
            self.conflicts, self.is_damaged = [[]], True

    found = DamagedWorld().move(_make_cluster("one", "two", "three"))
    assert found["one"] == ("evicted", "")
    assert found["three"] == ("failed", "guard: damaged")
    assert found["two"][0] == "skipped"


def test_the_move_of_a_refused_eviction_is_removed_although_another_process_writes() -> None:
    """Otherwise it would be an obstacle for this workload, in this run and in later ones."""
    other = violators.make_workload_move("default/ReplicaSet/x", "fast/pool", "n", 0)

    class BusyWorld(_World):
        async def evict(self, pod: pod_shape.PodInfo) -> None:
            self.conflicts = [[*self.stored, other]]
            raise moving.EvictionRefusedError("no")

    world = BusyWorld()
    assert world.move(_make_cluster("one")) == {"one": ("refused", "no")}
    assert world.stored == [other]


@pytest.mark.parametrize("at_seconds", [0.0, 5.0])
def test_an_interrupted_run_reports_what_it_did(at_seconds: float) -> None:
    """The pods that were evicted before must be known; nothing is evicted afterwards."""
    world = _World()
    world.interrupted_at_seconds = at_seconds
    found = world.move(_make_cluster("one", "two", "three"))
    evicted = {"one": ("evicted", "")} if at_seconds else {}
    interrupted = ("interrupted", "the command was interrupted")
    assert found == dict.fromkeys(("one", "two", "three"), interrupted) | evicted
    assert len(world.stored) == len(evicted)


def test_the_listing_gets_too_old() -> None:
    """The simulation may be wrong by then."""
    world = _World()
    found = world.move(_make_cluster("one", "two"), pause=move_pace.MAX_LISTING_SECONDS + 1)
    assert found["one"] == ("evicted", "")
    assert found["two"][0] == "skipped"
    assert "too old" in found["two"][1]


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_no_move_is_planned_with_an_old_listing(
    monkeypatch: pytest.MonkeyPatch, *, is_dry_run: bool
) -> None:
    """The age counts from the listing; to plan takes audits of the whole cluster."""
    monkeypatch.delattr(move_planning.MovePlanner, "plan_move")
    found = _World().move(
        _make_cluster("one", "two"),
        is_dry_run=is_dry_run,
        listed_seconds_ago=move_pace.MAX_LISTING_SECONDS + 1,
    )
    reason = "the listing of the cluster is too old; run the command again"
    assert found == dict.fromkeys(("one", "two"), ("skipped", reason))


def test_moves_of_one_second_are_distinguished() -> None:
    """Of two pods of a workload, the eviction of one is refused; the other's move is kept."""
    world = _World()
    cluster = violators.Cluster(max_per_workload=2)
    cluster.desk.place(
        violators.make_pod("one", workload="web"), violators.make_pod("two", workload="web")
    )
    world.failures = [moving.EvictionRefusedError("no")]
    found = world.move(cluster, pause=0.0)
    assert [outcome for outcome, _ in found.values()] == ["refused", "evicted"]
    assert [each.pod_uid for each in world.stored] == ["two"]


def test_one_pod_reaches_a_cool_node_in_a_run() -> None:
    """It may heat the node, so the others wait for new samples; a refused move heats nothing."""
    for failures in ([], [moving.EvictionRefusedError("no")]):
        cluster, world = violators.Cluster(violators.COOL), _World()
        cluster.desk.place(violators.make_pod("one"), violators.make_pod("two", "f1"))
        cluster.desk.sample("heat", slow=0.9, f1=0.9, f2=0.79)
        world.failures = [*failures]
        found = world.move(cluster)
        if failures:
            assert found == {"one": ("refused", "no"), "two": ("evicted", "")}
        else:
            assert found["one"] == ("evicted", "")
            assert "changes the metrics of f2" in found["two"][1]


def test_the_move_of_an_eviction_that_was_certainly_not_made_is_removed() -> None:
    """For example because a right is missing: the next run tries it again."""
    world = _World()
    world.failures = [moving.EvictionNotMadeError("forbidden")]
    assert world.move(_make_cluster("one")) == {"one": ("failed", "forbidden")}
    assert world.stored == []


def test_a_slow_rate_ends_at_once_instead_of_waiting() -> None:
    """The listing would be too old after the pause."""
    world = _World()
    world.move(_make_cluster("one", "two"), pause=3600.0)
    assert world.clock.monotonic_seconds() == 0.0


def test_a_run_has_a_maximum_of_moves() -> None:
    """The others are named; a refused eviction is no move."""
    world = _World()
    world.failures = [moving.EvictionRefusedError("no")]
    cluster = violators.Cluster(max_moves=1)
    cluster.desk.place(*map(violators.make_pod, ("one", "two", "ten")))
    found = world.move(cluster)
    assert found == {
        "one": ("refused", "no"),
        "ten": ("evicted", ""),
        "two": ("skipped", "--max-moves 1 is reached"),
    }
