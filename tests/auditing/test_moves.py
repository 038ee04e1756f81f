"""Moves of violators in a simulated cluster, and what carries them out."""

from __future__ import annotations

import asyncio
import datetime
import math

import msgspec
import pytest

from policysched import clock as clocks
from policysched import errors
from policysched.auditing import (
    cluster_audit,
    loop_guard,
    move_exclusions,
    move_pace,
    move_planning,
    moving,
)
from policysched.cluster.objects import disruption_budgets, objects, selectors
from policysched.cluster.pods import pod_shape
from policysched.framework import runtime
from tests import builders
from tests.compiler import desk

_FAST = """version 1
policy fast { for pods where app = web  nodeAffinity required pool = fast as pool }
"""
DAY = datetime.timedelta(days=1)
_NOW = builders.EPOCH


class _Cluster:
    """A cluster with a slow node and two fast ones, whose violators are moved."""

    def __init__(self, text: str = _FAST, **limits: object) -> None:
        nodes = [desk.node("slow", pool="slow"), desk.node("f1", pool="fast")]
        nodes.append(desk.node("f2", pool="fast"))
        self.desk = desk.Desk(text, nodes)
        self.exclusions = move_exclusions.MoveExclusions(
            move_exclusions.MoveLimits(**limits),  # type: ignore[arg-type]  # the test's own
            self.desk.cache.budgets,
        )
        self.guard = loop_guard.LoopGuard((), DAY)

    def choose(self, info: pod_shape.PodInfo) -> runtime.Framework:
        """Return the only framework."""
        del info
        return self.desk.frameworks[None]

    def make_planner(self) -> move_planning.MovePlanner:
        """Return a planner for the cluster as it is."""
        cache = self.desk.cache
        return move_planning.MovePlanner(cache, self.choose, self.exclusions, self.guard, _NOW)

    def audit(self) -> dict[str, list[str]]:
        """Return the violated rules by pod."""
        found = cluster_audit.audit_cluster(self.choose, self.desk.cache.snapshot)
        by_pod: dict[str, list[str]] = {}
        for each in found.violations:
            for info in each.pods:
                by_pod.setdefault(info.pod.metadata.name, []).append(each.rule.head.name)
        return by_pod

    def plan(self) -> dict[str, str]:
        """Return the target of each violator, or why it is not moved."""
        found = cluster_audit.audit_cluster(self.choose, self.desk.cache.snapshot).violations
        planner = self.make_planner()
        planned: dict[str, str] = {}
        for violator in move_planning.list_violators(found):
            move = planner.plan_move(violator)
            planned[violator.pod.pod.metadata.name] = move if isinstance(move, str) else move.target
        return planned


def _pod(name: str, node: str = "slow", workload: str = "", **labels: str) -> builders.PodBuilder:
    """Return a placed pod of a workload of its own."""
    labels = {"app": "web", **labels}
    owned = desk.pod(name, **labels).node(node).uid(name)
    return owned.owner("ReplicaSet", workload or name, uid=workload or name)


def test_a_violator_is_moved_to_a_node_where_it_violates_nothing() -> None:
    """The pod of the lowest priority comes first, and takes its place from the next ones."""
    text = _FAST.replace("as pool", "as pool\n  reject when requested(cpu) > 0 as one")
    cluster = _Cluster(text)
    cluster.desk.place(
        _pod("urgent").priority(9).requests(cpu="1"), _pod("first").requests(cpu="1")
    )
    cluster.desk.place(_pod("last").priority(99).requests(cpu="1"))
    found = cluster.plan()
    assert list(found) == ["first", "urgent", "last"]
    assert {found["first"], found["urgent"]} == {"f1", "f2"}
    assert "0/3 nodes are available" in found["last"]
    assert set(cluster.audit()) == {"last"}


@pytest.mark.parametrize(
    "pod, words",
    [
        pytest.param(desk.pod("p", app="web").node("slow").uid("p"), "no controller", id="bare"),
        pytest.param(
            desk.pod("p", app="web").node("slow").uid("p").owner("DaemonSet", "d"),
            "DaemonSet",
            id="daemon",
        ),
        pytest.param(
            desk.pod("p", app="web").node("slow").uid("p").owner("Job", "j"), "a Job", id="job"
        ),
        pytest.param(
            _pod("p", **{"policysched.io/audit-evict": "never"}), "audit-evict: never", id="label"
        ),
        pytest.param(_pod("p", keep="yes"), "--exclude", id="selector"),
        pytest.param(
            _pod("p").spec(priority_class_name="system-node-critical"),
            "priority class system-node-critical",
            id="system",
        ),
        pytest.param(_pod("p").scheduler_name("volcano"), "schedulerName volcano", id="other"),
        pytest.param(
            _pod("p").spec(resource_claims=(objects.PodResourceClaim(name="gpu"),)),
            "resource claims",
            id="claims",
        ),
    ],
)
def test_pods_that_are_never_moved(pod: builders.PodBuilder, words: str) -> None:
    """Each has its reason, and stays where it is."""
    excluded = selectors.from_match_labels({"keep": "yes"})
    cluster = _Cluster(excluded=excluded)
    cluster.desk.place(pod)
    assert words in cluster.plan()["p"]
    assert cluster.audit() == {"p": ["fast/pool"]}


def test_a_run_moves_few_pods_of_a_workload() -> None:
    """One by default; a workload is that of the Deployment, not of its ReplicaSet."""
    cluster = _Cluster()
    cluster.desk.place(_pod("one", workload="web"), _pod("two", workload="web"))
    found = cluster.plan()
    assert found["one"] in ("f1", "f2")
    assert found["two"] == "--max-per-workload 1 is reached"


def _set_budget(cluster: _Cluster, name: str, allowed: int, **labels: str) -> None:
    """Set a budget; without labels, it selects all pods of its namespace."""
    spec = disruption_budgets.BudgetSpec(objects.LabelSelector(match_labels=labels))
    metadata = objects.ObjectMeta(name=name, namespace="default")
    status = disruption_budgets.BudgetStatus(disruptions_allowed=allowed)
    budget = disruption_budgets.PodDisruptionBudget(metadata, spec, status)
    cluster.desk.cache.budgets.set(budget)


def test_disruption_budgets_count_the_moves_of_a_run() -> None:
    """The API server would refuse the next eviction, so it is not tried."""
    cluster = _Cluster()
    _set_budget(cluster, "web", 1, app="web")
    cluster.desk.place(_pod("one"), _pod("two"))
    found = cluster.plan()
    assert found["one"] in ("f1", "f2")
    assert found["two"] == "the disruption budget web allows no eviction"


def test_a_budget_without_labels_selects_all_pods() -> None:
    """As for the Eviction API; preemption does not count it."""
    cluster = _Cluster()
    _set_budget(cluster, "all", 0)
    cluster.desk.place(_pod("one"))
    assert cluster.plan()["one"] == "the disruption budget all allows no eviction"


def test_a_pod_with_two_budgets_cannot_be_evicted() -> None:
    """The API server refuses that always."""
    cluster = _Cluster()
    _set_budget(cluster, "one", 5, app="web")
    _set_budget(cluster, "two", 5)
    cluster.desk.place(_pod("p"))
    assert "several disruption budgets" in cluster.plan()["p"]


def test_no_pod_that_was_in_order_becomes_a_violator() -> None:
    """A database wants no web pod beside it, and no rule keeps web pods away from it."""
    quiet = "policy quiet { for pods where app = db  reject when count(pods where app = web) > 0 }"
    cluster = _Cluster(_FAST + quiet)
    cluster.desk.place(_pod("p"), _pod("db1", "f1", app="db"), _pod("db2", "f2", app="db"))
    assert cluster.plan()["p"].startswith("other pods would violate quiet/reject@")
    assert cluster.audit() == {"p": ["fast/pool"]}
    cluster.desk.remove(_pod("db2", "f2", app="db"))
    cluster.desk.cache.remove_node("f1")
    assert cluster.plan()["p"] == "f2"


def test_a_move_can_put_other_pods_in_order() -> None:
    """Of two pods that keep each other away, one is moved."""
    apart = (
        "policy p { for pods  podAntiAffinity required self topologyKey kubernetes.io/hostname }"
    )
    cluster = _Cluster(f"version 1\n{apart}")
    for name in ("slow", "f1", "f2"):
        cluster.desk.cache.set_node(desk.node(name, **{"kubernetes.io/hostname": name}).build())
    cluster.desk.place(_pod("one"), _pod("two"))
    found = cluster.plan()
    assert found["one"] in ("f1", "f2")
    assert found["two"] == "an earlier move has resolved its violations"


# --- the loop guard ------------------------------------------------------------------------------


def _move(workload: str, rule: str, node: str, hours_ago: float) -> loop_guard.WorkloadMove:
    at = (_NOW - datetime.timedelta(hours=hours_ago)).isoformat()
    return loop_guard.WorkloadMove(workload, rule, node, at)


@pytest.mark.parametrize(
    "move, words",
    [
        pytest.param(("default/ReplicaSet/p", "fast/pool", "x", 23), "for fast/pool", id="rule"),
        pytest.param(("default/ReplicaSet/p", "fast/pool", "x", 25), "", id="long ago"),
        pytest.param(("default/ReplicaSet/p", "other", "x", 1), "", id="other rule"),
        pytest.param(("default/ReplicaSet/p", "other", "f1", 1), "away from f1", id="way back"),
        pytest.param(("default/ReplicaSet/q", "fast/pool", "f1", 1), "", id="other workload"),
    ],
)
def test_the_guard_stops_circles(move: tuple[str, str, str, float], words: str) -> None:
    """A workload is not moved again for the same rule, nor back to where it came from."""
    cluster = _Cluster()
    cluster.desk.cache.remove_node("f2")
    cluster.guard = loop_guard.LoopGuard([_move(*move)], DAY)
    cluster.desk.place(_pod("p"))
    found = cluster.plan()["p"]
    assert words in found if words else found == "f1"


def test_the_memory_of_the_guard_is_bounded() -> None:
    """The oldest ones of earlier runs go first, then those of this run."""
    many = [_move("w", f"rule-{number}", "n", 20) for number in range(loop_guard.MAX_MOVES)]
    guard = loop_guard.LoopGuard([_move("w", "old", "n", 30), *many], DAY)
    guard.add([_move("w", "new", "n", 0)])
    assert len(guard.moves) <= loop_guard.MAX_MOVES
    assert guard.moves[-1].rule == "new"
    assert guard.moves[0].rule != "rule-0"
    assert not guard.find_obstacle("w", ["new"], "m", _NOW)
    large = [_move("w" * 1000, f"rule-{number}", "n", 20) for number in range(1000)]
    guard = loop_guard.LoopGuard(large, DAY)
    guard.add([_move("w", "new", "n", 0)])
    assert len(loop_guard.encode_moves(guard.moves)) <= loop_guard.MAX_BYTES
    guard = loop_guard.LoopGuard((), DAY)
    guard.add(_move("w", f"rule-{number}", "n", 0) for number in range(5000))
    assert len(guard.moves) <= loop_guard.MAX_MOVES
    assert guard.moves[-1].rule == "rule-4999"


def test_a_short_time_forgets_no_moves_of_others() -> None:
    """A run with --not-again-within 1h must not let a run with 24h move a pod in a circle."""
    guard = loop_guard.LoopGuard([_move("w", "r", "n", 2)], datetime.timedelta(hours=1))
    guard.add([_move("v", "r", "n", 0)])
    kept = loop_guard.LoopGuard(guard.moves, DAY)
    assert kept.find_obstacle("w", ["r"], "m", _NOW)


def test_moves_of_one_second_are_told_apart() -> None:
    """Of two pods of a workload, the eviction of one is refused; the other's move is kept."""
    world = _World()
    cluster = _Cluster(max_per_workload=2)
    cluster.desk.place(_pod("one", workload="web"), _pod("two", workload="web"))
    world.failures = [moving.EvictionRefusedError("no")]
    found = world.move(cluster, pause=0.0)
    assert [outcome for outcome, _ in found.values()] == ["refused", "evicted"]
    assert [each.pod_uid for each in world.stored] == ["two"]


def test_the_memory_survives_in_text() -> None:
    """What cannot be read is an error: without it, nothing would stop a circle."""
    moves = [_move("w", "rule", "n", 1), _move("v", "rule", "n", 2)]
    text = loop_guard.encode_moves(moves)
    assert loop_guard.decode_moves(text, "here") == moves
    with pytest.raises(errors.InputError, match="here"):
        loop_guard.decode_moves("{}", "here")
    with pytest.raises(errors.InputError, match="here"):
        loop_guard.decode_moves(text.replace(moves[0].at, "yesterday"), "here")


# --- carrying out --------------------------------------------------------------------------------


class _World:
    """A store of the guard and an API server that keep what happens in order."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.stored: list[loop_guard.WorkloadMove] = []
        self.conflicts: list[list[loop_guard.WorkloadMove]] = []
        self.failures: list[Exception] = []
        self.clock = clocks.ManualClock(_NOW)
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
        cluster: _Cluster,
        *,
        is_dry_run: bool = False,
        pause: float = 10.0,
        listed_seconds_ago: float = 0.0,
    ) -> dict[str, tuple[str, str]]:
        """Return outcome and reason of each violator."""
        found = cluster_audit.audit_cluster(cluster.choose, cluster.desk.cache.snapshot).violations
        cluster.guard = loop_guard.LoopGuard(self.stored, DAY)
        planner = cluster.make_planner()
        listed_at_seconds = self.clock.monotonic_seconds() - listed_seconds_ago
        pace = move_pace.MovePace(self.clock, listed_at_seconds, pause, self.wait)
        mover = moving.PodMover(planner, self, self, pace, self.clock)
        violators = move_planning.list_violators(found)
        records = asyncio.run(mover.move(violators, is_dry_run=is_dry_run))
        return {r.violator.pod.pod.metadata.name: (r.outcome.value, r.reason) for r in records}


def _make_cluster(*names: str) -> _Cluster:
    cluster = _Cluster()
    cluster.desk.place(*(_pod(name) for name in names))
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
    """The memory is in the cluster, not in the process."""
    world = _World()
    world.move(_make_cluster("one"))
    world.clock.advance(3600.0)
    ((outcome, reason),) = world.move(_make_cluster("one")).values()
    assert outcome == "skipped"
    assert "the loop guard has a move for fast/pool" in reason
    assert len(world.stored) == 1


def test_a_refused_eviction_is_forgotten_and_the_next_goes_on() -> None:
    """The pod stays, and may be tried again by the next run."""
    world = _World()
    world.failures = [moving.EvictionRefusedError("Cannot evict pod")]
    found = world.move(_make_cluster("one", "two"))
    assert found == {"one": ("refused", "Cannot evict pod"), "two": ("evicted", "")}
    assert [each.workload for each in world.stored] == ["default/ReplicaSet/two"]


def test_a_failed_eviction_is_remembered() -> None:
    """Its outcome is unknown."""
    world = _World()
    world.failures = [errors.RemoteError("no answer")]
    assert world.move(_make_cluster("one")) == {"one": ("failed", "no answer")}
    assert len(world.stored) == 1


def test_another_process_can_write_the_guard() -> None:
    """Its moves count, and stay in the memory."""
    world = _World()
    world.conflicts = [[_move("default/ReplicaSet/x", "fast/pool", "n", 0)]]
    assert world.move(_make_cluster("one")) == {"one": ("evicted", "")}
    assert len(world.stored) == 2
    other = _World()
    other.conflicts = [[_move("default/ReplicaSet/one", "fast/pool", "n", 0)]]
    ((outcome, reason),) = other.move(_make_cluster("one")).values()
    assert outcome == "skipped"
    assert "loop guard" in reason


def test_no_pod_is_evicted_if_the_guard_cannot_be_written() -> None:
    """Without memory, nothing would stop a circle."""
    world = _World()
    cluster = _make_cluster("one", "two", "three")
    world.conflicts = [[]] * 9
    ended = ("skipped", "the loop guard could not be written, so the run has ended")
    assert world.move(cluster) == {"one": ("failed", "changed"), "three": ended, "two": ended}
    assert world.log == []


def test_a_memory_that_is_damaged_during_a_run_does_not_lose_the_report() -> None:
    """The pods that were evicted before must be known, as after any other failure."""

    class DamagedWorld(_World):
        async def evict(self, pod: pod_shape.PodInfo) -> None:
            await super().evict(pod)
            self.conflicts, self.is_damaged = [[]], True

    found = DamagedWorld().move(_make_cluster("one", "two", "three"))
    assert found["one"] == ("evicted", "")
    assert found["three"] == ("failed", "guard: damaged")
    assert found["two"][0] == "skipped"


def test_a_refused_eviction_is_forgotten_although_another_process_writes() -> None:
    """Otherwise it would be an obstacle for this workload, in this run and in later ones."""
    other = _move("default/ReplicaSet/x", "fast/pool", "n", 0)

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


_COOL = (
    desk.METRICS
    + """
policy cool { for pods where app = web  reject when heat > 80% missing allow as hot }
"""
)


def test_one_pod_leaves_a_hot_node_in_a_run() -> None:
    """The samples after its move are unknown, so the others wait for the next run."""
    cluster = _Cluster(_COOL)
    cluster.desk.place(_pod("one"), _pod("two"))
    cluster.desk.sample("heat", slow=0.9, f1=0.2, f2=0.2)
    found = cluster.plan()
    assert found["one"] in ("f1", "f2")
    assert "changes the metrics of slow" in found["two"]


def test_one_pod_reaches_a_cool_node_in_a_run() -> None:
    """It may heat the node, so the others wait for new samples; a refused move heats nothing."""
    for failures in ([], [moving.EvictionRefusedError("no")]):
        cluster, world = _Cluster(_COOL), _World()
        cluster.desk.place(_pod("one"), _pod("two", "f1"))
        cluster.desk.sample("heat", slow=0.9, f1=0.9, f2=0.79)
        world.failures = [*failures]
        found = world.move(cluster)
        if failures:
            assert found == {"one": ("refused", "no"), "two": ("evicted", "")}
        else:
            assert found["one"] == ("evicted", "")
            assert "changes the metrics of f2" in found["two"][1]


def test_moves_by_labels_change_metrics_too() -> None:
    """After a pod has left its node for the labels of the node, the load there is unknown."""
    cluster = _Cluster(_COOL + _FAST.removeprefix("version 1").replace("app = web", "app = db"))
    cluster.desk.cache.remove_node("f2")
    cluster.desk.place(_pod("db", app="db"), _pod("web"))
    cluster.desk.sample("heat", slow=0.9, f1=0.79)
    found = cluster.plan()
    assert found["db"] == "f1"
    assert "changes the metrics of slow" in found["web"]


def test_the_expected_load_of_moved_pods_counts_for_the_next_ones() -> None:
    """As in the scheduler, which would otherwise leave the next pods pending."""
    text = (
        desk.METRICS.replace("maxAge 2m", "maxAge 2m\n  placed adds 20% for 2m")
        + """
policy fast {
  for pods where app = web
  nodeAffinity required pool = fast as pool
  reject when heat > 80% missing allow as hot
}
"""
    )
    cluster = _Cluster(text)
    cluster.desk.cache.remove_node("f2")
    cluster.desk.place(*map(_pod, ("one", "two", "six")))
    cluster.desk.sample("heat", slow=0.2, f1=0.5)
    found = cluster.plan()
    assert (found["one"], found["six"]) == ("f1", "f1")
    assert "0/2 nodes are available" in found["two"]
    assert set(cluster.audit()) == {"two"}


def test_an_eviction_that_was_certainly_not_made_is_forgotten() -> None:
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
    cluster = _Cluster(max_moves=1)
    cluster.desk.place(*map(_pod, ("one", "two", "ten")))
    found = world.move(cluster)
    assert found == {
        "one": ("refused", "no"),
        "ten": ("evicted", ""),
        "two": ("skipped", "--max-moves 1 is reached"),
    }


def test_moves_are_json_lines() -> None:
    """The ConfigMap can be read by people."""
    (line,) = loop_guard.encode_moves([_move("w", "r", "n", 0)]).splitlines()
    assert msgspec.json.decode(line)["workload"] == "w"
