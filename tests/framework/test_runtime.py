"""One profile at work, with toy plugins whose answers are plain to see."""

from __future__ import annotations

import dataclasses
import datetime
import random
from typing import ClassVar

import numpy as np
import pytest

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface, messages, profile, runtime, status
from policysched.framework.answers import shape_answers
from policysched.framework.scoring import score_table
from policysched.plugins import node_name
from tests import builders

NAMES = ("n1", "n2", "n3")


@dataclasses.dataclass
class RejectNamed:
    """Rejects nodes by name and counts the rows it was asked about."""

    nodes: frozenset[str]
    reason: str = "named"
    name: str = "RejectNamed"
    reads: ClassVar[interface.Reads] = interface.Reads.NODE
    rows_asked: int = 0

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Answer from the names alone."""
        self.rows_asked += len(nodes)
        fails = np.array([name in self.nodes for name in nodes.names()], np.bool_)
        return status.NodeStatuses.where(fails, status.unschedulable("", self.reason))


@dataclasses.dataclass
class RejectAnything(RejectNamed):
    """The same, but never kept."""

    name: str = "RejectAnything"
    reads: ClassVar[interface.Reads] = interface.Reads.ANYTHING


@dataclasses.dataclass
class ScoreByName:
    """Gives each node the points that a table says."""

    points: dict[str, int]
    name: str = "ScoreByName"
    reads: ClassVar[interface.Reads] = interface.Reads.NODE
    units_per_point: int = 1

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Look the names up; dead rows have none."""
        return np.array([self.points.get(name, 0) for name in nodes.names()], np.int64)


@dataclasses.dataclass
class PreFilterSays:
    """Gives one fixed PreFilter answer."""

    result: interface.PreFilterResult
    name: str = "PreFilterSays"
    calls: int = 0

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Give it."""
        self.calls += 1
        return self.result


def framework_of(
    *plugins: interface.Plugin, weights: dict[str, int] | None = None, seed: int | None = None
) -> runtime.Framework:
    """Return a framework that runs `plugins` in this order."""
    weights = weights or {p.name: 1 for p in plugins}
    rng = None if seed is None else random.Random(seed)
    return runtime.Framework(profile.Profile("test", plugins, weights), rng)


def three_nodes() -> builders.Cluster:
    """Return a cluster of n1, n2 and n3."""
    return builders.make_cache([builders.make_node(name) for name in NAMES])


def test_highest_total_wins() -> None:
    """The pod goes to the node with the highest sum of weight times points."""
    cluster = three_nodes()
    first = ScoreByName({"n1": 10, "n2": 40, "n3": 20}, name="First")
    second = ScoreByName({"n1": 50, "n2": 10, "n3": 60}, name="Second")
    framework = framework_of(first, second, weights={"First": 1, "Second": 2})
    result = framework.schedule_pod(cluster.info(builders.make_pod("p")), cluster.cache.snapshot())
    assert result.node_name == "n3"
    assert result.scores is not None
    assert result.scores.totals.tolist() == [11_000, 6_000, 14_000]


def test_a_single_feasible_node_is_not_scored() -> None:
    """With one node left there is nothing to choose, as in kube-scheduler."""
    cluster = three_nodes()
    framework = framework_of(RejectNamed(frozenset({"n1", "n3"})), ScoreByName({"n2": 5}))
    result = framework.schedule_pod(cluster.info(builders.make_pod("p")), cluster.cache.snapshot())
    assert (result.node_name, result.feasible_count, result.scores) == ("n2", 1, None)


def test_hundredths_count_in_full() -> None:
    """A plugin that scores in hundredths adds them exactly."""
    cluster = three_nodes()
    fine = ScoreByName({"n1": 1, "n2": 3, "n3": 2}, name="Fine", units_per_point=100)
    framework = framework_of(fine, weights={"Fine": 3})
    result = framework.schedule_pod(cluster.info(builders.make_pod("p")), cluster.cache.snapshot())
    assert result.scores is not None
    assert result.scores.totals.tolist() == [3, 9, 6]


@pytest.mark.parametrize(
    "hundredths, expected", [(700, 7), (0, 0), (750, 7.5), (-50, -0.5)], ids=str
)
def test_points_are_whole_where_they_can_be(hundredths: int, expected: float) -> None:
    """Totals print as kube-scheduler's integers unless a policy made them finer."""
    assert score_table.points(hundredths) == expected
    assert isinstance(score_table.points(hundredths), type(expected))


def test_ties_are_broken_by_name_or_by_lot() -> None:
    """Without a random source the smallest name wins; with one every tied node is drawn."""
    cluster = three_nodes()
    pod = cluster.info(builders.make_pod("p"))
    scores = ScoreByName({"n1": 1, "n2": 9, "n3": 9})
    snap = cluster.cache.snapshot()
    assert framework_of(scores).schedule_pod(pod, snap).node_name == "n2"
    drawing = framework_of(scores, seed=1)
    drawn = {drawing.schedule_pod(pod, snap).node_name for _ in range(50)}
    assert drawn == {"n2", "n3"}


def test_message_counts_first_failures_only() -> None:
    """Each node counts for the first plugin that rejects it, kept answers or not."""
    cluster = three_nodes()
    framework = framework_of(
        RejectNamed(frozenset({"n1", "n2"}), "early"),
        RejectAnything(frozenset(NAMES), "late"),
    )
    result = framework.schedule_pod(cluster.info(builders.make_pod("p")), cluster.cache.snapshot())
    assert result.node_name is None
    assert result.message == "0/3 nodes are available: 1 late, 2 early."
    assert result.diagnosis is not None
    assert result.diagnosis.unschedulable_plugins == {"RejectNamed", "RejectAnything"}


def test_no_nodes_at_all() -> None:
    """An empty cluster has a message of its own."""
    cluster = builders.make_cache([])
    result = framework_of().schedule_pod(
        cluster.info(builders.make_pod("p")), cluster.cache.snapshot()
    )
    assert (result.node_name, result.message) == (None, messages.NO_NODES)


def test_equal_pods_ask_only_about_changed_rows() -> None:
    """After the first pod of a shape, a kept filter is asked about changed nodes alone."""
    cluster = builders.make_cache([builders.make_node(f"n{i}") for i in range(40)])
    rejecting = RejectNamed(frozenset({"n3"}))
    framework = framework_of(rejecting)
    framework.schedule_pod(cluster.info(builders.make_pod("a")), cluster.cache.snapshot())
    assert rejecting.rows_asked == 40
    cluster.cache.set_node(builders.make_node("n7").labels(fresh="yes").build())
    framework.schedule_pod(cluster.info(builders.make_pod("b")), cluster.cache.snapshot())
    assert rejecting.rows_asked == 41


def test_where_no_shapes_are_kept_every_pod_asks_about_all_rows() -> None:
    """The decision is the same; only the work is more."""
    cluster = builders.make_cache([builders.make_node(f"n{i}") for i in range(40)])
    rejecting = RejectNamed(frozenset({"n3"}))
    made = profile.Profile("test", (rejecting,), {rejecting.name: 1})
    framework = runtime.Framework(made, None, shapes_kept=0)
    for number in (1, 2, 3):
        pod = cluster.info(builders.make_pod(f"p{number}"))
        result = framework.schedule_pod(pod, cluster.cache.snapshot())
        assert (result.feasible_count, rejecting.rows_asked) == (39, 40 * number)


def test_answers_are_kept_for_fewer_shapes_of_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of kept answers has a bound; the latest shapes stay."""
    monkeypatch.setattr(shape_answers, "_MAX_ROWS", 40 * 3)
    monkeypatch.setattr(shape_answers, "_LEAST_SHAPES", 2)
    cluster = builders.make_cache([builders.make_node(f"n{i}") for i in range(40)])
    rejecting = RejectNamed(frozenset({"n3"}))
    framework = framework_of(rejecting)
    asked: list[int] = []
    for number in (1, 2, 3, 1, 4, 2):
        pod = builders.make_pod(f"p{len(asked)}").requests(cpu=str(number))
        framework.schedule_pod(cluster.info(pod), cluster.cache.snapshot())
        asked.append(rejecting.rows_asked)
    assert asked == [40, 80, 120, 120, 160, 200]


def test_a_pod_that_names_its_node_is_not_answered_for_one_that_does_not() -> None:
    """Placed and waiting pods share a shape, but not what is kept about their nodes."""
    cluster = three_nodes()
    framework = framework_of(node_name.NodeName())
    snap = cluster.cache.snapshot()
    pods = [builders.make_pod("a"), builders.make_pod("b").node("n3"), builders.make_pod("c")]
    infos = [cluster.info(pod) for pod in pods]
    assert infos[0].shape is infos[1].shape
    found = [framework.schedule_pod(info, snap).feasible_count for info in infos]
    assert found == [3, 1, 3]


def test_a_new_node_is_seen_by_kept_answers() -> None:
    """A node that joins later is filtered for pods of a shape already met."""
    cluster = three_nodes()
    framework = framework_of(RejectNamed(frozenset({"n1", "n2", "n3"})))
    pod = cluster.info(builders.make_pod("p"))
    assert framework.schedule_pod(pod, cluster.cache.snapshot()).node_name is None
    cluster.cache.set_node(builders.make_node("n4").build())
    assert framework.schedule_pod(pod, cluster.cache.snapshot()).node_name == "n4"


def test_a_deleted_node_is_never_chosen() -> None:
    """A row whose node is gone takes no pod, even if every plugin passes it."""
    cluster = three_nodes()
    framework = framework_of(ScoreByName({"n3": 100}))
    pod = cluster.info(builders.make_pod("p"))
    assert framework.schedule_pod(pod, cluster.cache.snapshot()).node_name == "n3"
    cluster.cache.remove_node("n3")
    result = framework.schedule_pod(pod, cluster.cache.snapshot())
    assert (result.node_name, result.node_count) == ("n1", 2)


def test_answers_with_a_time_limit_are_asked_for_again() -> None:
    """A kept answer is dropped when the moment comes that its plugin named."""
    cluster = three_nodes()
    noon = builders.EPOCH

    @dataclasses.dataclass
    class UntilOne(RejectNamed):
        """Rejects n1 before one o'clock."""

        def pre_filter(
            self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
        ) -> interface.PreFilterResult:
            """Say for how long the answer holds."""
            one = noon + datetime.timedelta(hours=1)
            if snap.now >= one:
                return interface.PreFilterResult(status.SKIP)
            state.expire_at(one)
            return interface.PreFilterResult()

    framework = framework_of(UntilOne(frozenset({"n1"})))
    pod = cluster.info(builders.make_pod("p"))
    before = framework.schedule_pod(pod, cluster.cache.snapshot(noon))
    after = framework.schedule_pod(pod, cluster.cache.snapshot(noon + datetime.timedelta(hours=1)))
    assert (before.node_name, after.node_name) == ("n2", "n1")


REFUSAL = status.Status(status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("never",))
MAYBE = status.Status(status.Code.UNSCHEDULABLE, ("not now",))


def test_an_unresolvable_pre_filter_ends_the_cycle() -> None:
    """Plugins after it are not asked, and the message is its reason alone."""
    cluster = three_nodes()
    later = PreFilterSays(interface.PreFilterResult(), name="Later")
    framework = framework_of(PreFilterSays(interface.PreFilterResult(REFUSAL)), later)
    result = framework.schedule_pod(cluster.info(builders.make_pod("p")), cluster.cache.snapshot())
    assert result.message == "0/3 nodes are available: never."
    assert later.calls == 0


def test_a_resolvable_pre_filter_lets_the_others_compute() -> None:
    """Preemption needs what the other plugins compute, so they run before the rejection counts."""
    cluster = three_nodes()
    later = PreFilterSays(interface.PreFilterResult(), name="Later")
    framework = framework_of(PreFilterSays(interface.PreFilterResult(MAYBE)), later)
    result = framework.schedule_pod(cluster.info(builders.make_pod("p")), cluster.cache.snapshot())
    assert (result.node_name, later.calls) == (None, 1)
    assert result.diagnosis is not None
    assert result.diagnosis.unschedulable_plugins == {"PreFilterSays"}


def _only(*names: str) -> interface.PreFilterResult:
    return interface.PreFilterResult(node_names=frozenset(names))


def test_narrowed_nodes_carry_a_reason_without_a_plugin() -> None:
    """Nodes outside a PreFilter's choice are not filtered; the message names the plugin."""
    cluster = three_nodes()
    framework = framework_of(PreFilterSays(_only("n2")), RejectNamed(frozenset({"n2"}), "full"))
    result = framework.schedule_pod(cluster.info(builders.make_pod("p")), cluster.cache.snapshot())
    assert result.message == (
        "0/3 nodes are available: 1 full, 2 node(s) didn't satisfy plugin(s) [PreFilterSays]."
    )


@pytest.mark.parametrize(
    "choices, message",
    [
        ([()], "node(s) didn't satisfy plugin A"),
        ([("n1",), ("n2",)], "node(s) didn't satisfy plugin(s) [A B] simultaneously"),
    ],
    ids=["none", "disjoint"],
)
def test_empty_choices_end_the_cycle(choices: list[tuple[str, ...]], message: str) -> None:
    """PreFilter plugins that leave no node between them are named together."""
    cluster = three_nodes()
    plugins = [PreFilterSays(_only(*c), name=n) for n, c in zip("AB", choices, strict=False)]
    result = framework_of(*plugins).schedule_pod(
        cluster.info(builders.make_pod("p")), cluster.cache.snapshot()
    )
    assert result.message == f"0/3 nodes are available: {message}."


def test_the_nominated_node_is_tried_alone_first() -> None:
    """A pod for which room was made goes there, however the other nodes score."""
    cluster = three_nodes()
    scores = ScoreByName({"n1": 1, "n2": 2, "n3": 100})
    pod = cluster.info(builders.make_pod("p").status(nominated_node_name="n1"))
    result = framework_of(scores).schedule_pod(pod, cluster.cache.snapshot())
    assert (result.node_name, result.feasible_count) == ("n1", 1)


def test_an_unfit_nominated_node_is_one_of_many() -> None:
    """When the nominated node does not fit, all nodes are considered."""
    cluster = three_nodes()
    pod = cluster.info(builders.make_pod("p").status(nominated_node_name="n1"))
    framework = framework_of(RejectNamed(frozenset({"n1"})), ScoreByName({"n2": 2, "n3": 1}))
    assert framework.schedule_pod(pod, cluster.cache.snapshot()).node_name == "n2"


def test_explain_has_every_failure_and_the_first() -> None:
    """A node rejected twice is explained twice; the first failure is the verdict."""
    cluster = three_nodes()
    framework = framework_of(
        RejectAnything(frozenset({"n1"}), "late but first in order"),
        RejectNamed(frozenset({"n1", "n2"}), "second"),
        ScoreByName({"n3": 7}),
    )
    found = framework.explain_pod(cluster.info(builders.make_pod("p")), cluster.cache.snapshot())
    by_name = {v.name: v for v in found.verdicts}
    assert by_name["n1"].first.plugin == "RejectAnything"
    assert [s.reasons[0] for s in by_name["n1"].all_failures] == [
        "late but first in order",
        "second",
    ]
    assert by_name["n3"].first.is_success
    assert (found.best, found.feasible_count, found.message) == (["n3"], 1, "")


@dataclasses.dataclass
class Gate:
    """Keeps every pod out of activeQ."""

    name: str = "Gate"

    def pre_enqueue(self, pod: pod_shape.PodInfo) -> status.Status:
        """Refuse."""
        return status.unresolvable("", "closed")


def test_pre_enqueue_names_the_gate() -> None:
    """The rejection that gates a pod says which plugin it came from."""
    cluster = three_nodes()
    answer = framework_of(Gate()).pre_enqueue(cluster.info(builders.make_pod("p")))
    assert (answer.plugin, answer.reasons) == ("Gate", ("closed",))


@dataclasses.dataclass
class Books:
    """Reserves, and notes what happens."""

    name: str
    answer: status.Status
    notes: list[str]

    def reserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Note and answer."""
        self.notes.append(f"reserve {self.name}")
        return self.answer

    def unreserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Note."""
        self.notes.append(f"unreserve {self.name}")


def test_reserve_stops_at_the_first_failure_and_unreserve_goes_back() -> None:
    """All plugins are told to give back, last one first, also those never asked to reserve."""
    cluster = three_nodes()
    notes: list[str] = []
    framework = framework_of(
        Books("A", status.SUCCESS, notes), Books("B", MAYBE, notes), Books("C", MAYBE, notes)
    )
    pod = cluster.info(builders.make_pod("p"))
    state = cycle_state.CycleState()
    assert framework.binding.reserve(state, pod, "n1").plugin == "B"
    framework.binding.unreserve(state, pod, "n1")
    assert notes == ["reserve A", "reserve B", "unreserve C", "unreserve B", "unreserve A"]


def test_disabled_points_do_not_act() -> None:
    """A profile can take a plugin out of one extension point and leave it at others."""
    cluster = three_nodes()
    rejecting = RejectNamed(frozenset(NAMES))
    prof = profile.Profile("t", (rejecting,), {}, {"RejectNamed": frozenset({"filter"})})
    result = runtime.Framework(prof, None).schedule_pod(
        cluster.info(builders.make_pod("p")), cluster.cache.snapshot()
    )
    assert result.feasible_count == 3
