"""Targets of violators in a simulated cluster, obstacles to their moves, and the loop guard."""

from __future__ import annotations

import datetime

import msgspec
import pytest

from policysched import errors
from policysched.auditing import loop_guard
from policysched.cluster.objects import disruption_budgets, objects, selectors
from tests import builders
from tests.auditing import violators
from tests.compiler import desk


def test_a_violator_is_moved_to_a_node_where_it_violates_nothing() -> None:
    """The pod of the lowest priority comes first, and takes its place from the next ones."""
    text = violators.FAST.replace("as pool", "as pool\n  reject when requested(cpu) > 0 as one")
    cluster = violators.Cluster(text)
    cluster.desk.place(
        violators.make_pod("urgent").priority(9).requests(cpu="1"),
        violators.make_pod("first").requests(cpu="1"),
    )
    cluster.desk.place(violators.make_pod("last").priority(99).requests(cpu="1"))
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
            violators.make_pod("p", **{"policysched.io/audit-evict": "never"}),
            "audit-evict: never",
            id="label",
        ),
        pytest.param(violators.make_pod("p", keep="yes"), "--exclude", id="selector"),
        pytest.param(
            violators.make_pod("p").spec(priority_class_name="system-node-critical"),
            "priority class system-node-critical",
            id="system",
        ),
        pytest.param(
            violators.make_pod("p").scheduler_name("volcano"), "schedulerName volcano", id="other"
        ),
        pytest.param(
            violators.make_pod("p").spec(resource_claims=(objects.PodResourceClaim(name="gpu"),)),
            "resource claims",
            id="claims",
        ),
    ],
)
def test_pods_that_are_never_moved(pod: builders.PodBuilder, words: str) -> None:
    """Each has its reason, and stays where it is."""
    excluded = selectors.from_match_labels({"keep": "yes"})
    cluster = violators.Cluster(excluded=excluded)
    cluster.desk.place(pod)
    assert words in cluster.plan()["p"]
    assert cluster.audit() == {"p": ["fast/pool"]}


def test_a_run_moves_few_pods_of_a_workload() -> None:
    """One by default; a workload is that of the Deployment, not of its ReplicaSet."""
    cluster = violators.Cluster()
    cluster.desk.place(
        violators.make_pod("one", workload="web"), violators.make_pod("two", workload="web")
    )
    found = cluster.plan()
    assert found["one"] in ("f1", "f2")
    assert found["two"] == "--max-per-workload 1 is reached"


def _set_budget(cluster: violators.Cluster, name: str, allowed: int, **labels: str) -> None:
    """Set a budget; without labels, it selects all pods of its namespace."""
    spec = disruption_budgets.BudgetSpec(objects.LabelSelector(match_labels=labels))
    metadata = objects.ObjectMeta(name=name, namespace="default")
    status = disruption_budgets.BudgetStatus(disruptions_allowed=allowed)
    budget = disruption_budgets.PodDisruptionBudget(metadata, spec, status)
    cluster.desk.cache.budgets.set(budget)


def test_disruption_budgets_count_the_moves_of_a_run() -> None:
    """The API server would refuse the next eviction, so it is not tried."""
    cluster = violators.Cluster()
    _set_budget(cluster, "web", 1, app="web")
    cluster.desk.place(violators.make_pod("one"), violators.make_pod("two"))
    found = cluster.plan()
    assert found["one"] in ("f1", "f2")
    assert found["two"] == "the disruption budget web allows no eviction"


def test_a_budget_without_labels_selects_all_pods() -> None:
    """As for the Eviction API; preemption does not count it."""
    cluster = violators.Cluster()
    _set_budget(cluster, "all", 0)
    cluster.desk.place(violators.make_pod("one"))
    assert cluster.plan()["one"] == "the disruption budget all allows no eviction"


def test_a_pod_with_two_budgets_cannot_be_evicted() -> None:
    """The API server refuses that always."""
    cluster = violators.Cluster()
    _set_budget(cluster, "one", 5, app="web")
    _set_budget(cluster, "two", 5)
    cluster.desk.place(violators.make_pod("p"))
    assert "several disruption budgets" in cluster.plan()["p"]


def test_no_pod_that_was_in_order_becomes_a_violator() -> None:
    """A database wants no web pod beside it, and no rule keeps web pods away from it."""
    quiet = "policy quiet { for pods where app = db  reject when count(pods where app = web) > 0 }"
    cluster = violators.Cluster(violators.FAST + quiet)
    cluster.desk.place(
        violators.make_pod("p"),
        violators.make_pod("db1", "f1", app="db"),
        violators.make_pod("db2", "f2", app="db"),
    )
    assert cluster.plan()["p"].startswith("other pods would violate quiet/reject@")
    assert cluster.audit() == {"p": ["fast/pool"]}
    cluster.desk.remove(violators.make_pod("db2", "f2", app="db"))
    cluster.desk.cache.remove_node("f1")
    assert cluster.plan()["p"] == "f2"


def test_a_move_can_put_other_pods_in_order() -> None:
    """Of two pods that keep each other away, one is moved."""
    apart = (
        "policy p { for pods  podAntiAffinity required self topologyKey kubernetes.io/hostname }"
    )
    cluster = violators.Cluster(f"version 1\n{apart}")
    for name in ("slow", "f1", "f2"):
        cluster.desk.cache.set_node(desk.node(name, **{"kubernetes.io/hostname": name}).build())
    cluster.desk.place(violators.make_pod("one"), violators.make_pod("two"))
    found = cluster.plan()
    assert found["one"] in ("f1", "f2")
    assert found["two"] == "an earlier move has resolved its violations"


# --- metrics ----------------------------------------------------------------------------------


def test_one_pod_leaves_a_hot_node_in_a_run() -> None:
    """The samples after its move are unknown, so the others wait for the next run."""
    cluster = violators.Cluster(violators.COOL)
    cluster.desk.place(violators.make_pod("one"), violators.make_pod("two"))
    cluster.desk.sample("heat", slow=0.9, f1=0.2, f2=0.2)
    found = cluster.plan()
    assert found["one"] in ("f1", "f2")
    assert "changes the metrics of slow" in found["two"]


def test_moves_by_labels_change_metrics_too() -> None:
    """After a pod has left its node for the labels of the node, the load there is unknown."""
    cluster = violators.Cluster(
        violators.COOL + violators.FAST.removeprefix("version 1").replace("app = web", "app = db")
    )
    cluster.desk.cache.remove_node("f2")
    cluster.desk.place(violators.make_pod("db", app="db"), violators.make_pod("web"))
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
    cluster = violators.Cluster(text)
    cluster.desk.cache.remove_node("f2")
    cluster.desk.place(*map(violators.make_pod, ("one", "two", "six")))
    cluster.desk.sample("heat", slow=0.2, f1=0.5)
    found = cluster.plan()
    assert (found["one"], found["six"]) == ("f1", "f1")
    assert "0/2 nodes are available" in found["two"]
    assert set(cluster.audit()) == {"two"}


# --- the loop guard ------------------------------------------------------------------------------


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
    cluster = violators.Cluster()
    cluster.desk.cache.remove_node("f2")
    cluster.guard = loop_guard.LoopGuard([violators.make_workload_move(*move)], violators.DAY)
    cluster.desk.place(violators.make_pod("p"))
    found = cluster.plan()["p"]
    assert words in found if words else found == "f1"


def test_the_number_of_moves_is_bounded() -> None:
    """The oldest ones of earlier runs go first, then those of this run."""
    many = [
        violators.make_workload_move("w", f"rule-{number}", "n", 20)
        for number in range(loop_guard.MAX_MOVES)
    ]
    guard = loop_guard.LoopGuard(
        [violators.make_workload_move("w", "old", "n", 30), *many], violators.DAY
    )
    guard.add([violators.make_workload_move("w", "new", "n", 0)])
    assert len(guard.moves) <= loop_guard.MAX_MOVES
    assert guard.moves[-1].rule == "new"
    assert guard.moves[0].rule != "rule-0"
    assert not guard.find_obstacle("w", ["new"], "m", violators.NOW)
    large = [
        violators.make_workload_move("w" * 1000, f"rule-{number}", "n", 20)
        for number in range(1000)
    ]
    guard = loop_guard.LoopGuard(large, violators.DAY)
    guard.add([violators.make_workload_move("w", "new", "n", 0)])
    assert len(loop_guard.encode_moves(guard.moves)) <= loop_guard.MAX_BYTES
    guard = loop_guard.LoopGuard((), violators.DAY)
    guard.add(violators.make_workload_move("w", f"rule-{number}", "n", 0) for number in range(5000))
    assert len(guard.moves) <= loop_guard.MAX_MOVES
    assert guard.moves[-1].rule == "rule-4999"


def test_a_short_time_drops_no_moves_of_others() -> None:
    """A run with --not-again-within 1h must not let a run with 24h move a pod in a circle."""
    guard = loop_guard.LoopGuard(
        [violators.make_workload_move("w", "r", "n", 2)], datetime.timedelta(hours=1)
    )
    guard.add([violators.make_workload_move("v", "r", "n", 0)])
    kept = loop_guard.LoopGuard(guard.moves, violators.DAY)
    assert kept.find_obstacle("w", ["r"], "m", violators.NOW)


def test_moves_survive_in_text() -> None:
    """What cannot be read is an error: without it, nothing would stop a circle."""
    moves = [
        violators.make_workload_move("w", "rule", "n", 1),
        violators.make_workload_move("v", "rule", "n", 2),
    ]
    text = loop_guard.encode_moves(moves)
    assert loop_guard.decode_moves(text, "here") == moves
    with pytest.raises(errors.InputError, match="here"):
        loop_guard.decode_moves("{}", "here")
    with pytest.raises(errors.InputError, match="here"):
        loop_guard.decode_moves(text.replace(moves[0].at, "yesterday"), "here")


def test_moves_are_json_lines() -> None:
    """The ConfigMap can be read by people."""
    (line,) = loop_guard.encode_moves([violators.make_workload_move("w", "r", "n", 0)]).splitlines()
    assert msgspec.json.decode(line)["workload"] == "w"
