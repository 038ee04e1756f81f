"""Numbers of placed pods in conditions and scores: on a node, or in a topology domain."""

from __future__ import annotations

import pytest

from policysched.compiler.rules import counting
from policysched.framework import cycle_state, events
from tests import builders
from tests.compiler import desk, test_requeue

PLACES = [
    desk.node("a1", zone="a", rack="1"),
    desk.node("a2", zone="a", rack="2"),
    desk.node("b1", zone="b", rack="1"),
    desk.node("x"),
]
WEB_IN_ZONE = "pods where app = web topologyKey zone"
AT_MOST = "policy p {{ for pods reject when count({}) >= {} {} as limit }}"


def _placed(name: str, node: str, **labels: str) -> builders.PodBuilder:
    return desk.pod(name, **labels).node(node)


PLACED = (
    _placed("w1", "a1", app="web", team="red"),
    _placed("w2", "a1", app="web", team="blue"),
    _placed("w3", "a2", app="web", team="red"),
    _placed("w4", "b1", app="web", team="red"),
    _placed("d1", "b1", app="db", team="blue"),
    _placed("w5", "b1", app="web", team="red").terminating(),
    _placed("w6", "b1", app="web", team="red").meta(namespace="other"),
)


@pytest.mark.parametrize(
    "counted, limit, missing, feasible",
    [
        pytest.param("pods where app = web", 2, "", ["a2", "b1", "x"], id="on-the-node"),
        pytest.param(
            "pods where app = web topologyKey zone", 3, "missing allow", ["b1", "x"], id="in-a-zone"
        ),
        pytest.param(
            "pods where app = web topologyKey zone", 3, "missing reject", ["b1"], id="no-zone"
        ),
        pytest.param("pods topologyKey rack", 3, "missing reject", ["a2"], id="all-pods"),
        pytest.param("pods where app = web namespaces all", 2, "", ["a2", "x"], id="namespaces"),
        pytest.param("pods where team = pod(team)", 1, "missing allow", ["x"], id="of-the-team"),
        pytest.param(
            "self matchLabelKeys (team) topologyKey zone",
            2,
            "missing allow",
            ["b1", "x"],
            id="keys",
        ),
    ],
)
def test_at_most_so_many(counted: str, limit: int, missing: str, feasible: list[str]) -> None:
    """Neither the pod itself nor terminating pods count; a node without the label is missing."""
    there = desk.Desk(AT_MOST.format(counted, limit, missing), PLACES)
    there.place(*PLACED)
    assert there.feasible(desk.pod(app="web", team="red")) == feasible


def test_a_pod_without_the_value_has_nothing_to_count() -> None:
    """The rule says what such a pod gets."""
    for missing, feasible in (("allow", ["a1", "a2", "b1", "x"]), ("reject", [])):
        text = AT_MOST.format("pods where team = pod(team)", 0, f"missing {missing}")
        there = desk.Desk(text, PLACES)
        assert there.feasible(desk.pod()) == feasible


def test_self_means_the_pods_of_the_policy() -> None:
    """Also in a let that several policies share."""
    text = """
    let ours = count(self namespaces all)
    policy web { for pods where app = web reject when ours >= 2 }
    policy db { for pods where app = db reject when ours >= 1 }
    """
    there = desk.Desk(text, PLACES)
    there.place(*PLACED)
    assert there.feasible(desk.pod(app="web")) == ["a2", "x"]
    assert there.feasible(desk.pod(app="db")) == ["a1", "a2", "x"]


def test_what_the_rule_saw() -> None:
    """A reason has no numbers; the evidence has them."""
    text = AT_MOST.format(WEB_IN_ZONE, 3, "missing allow")
    there = desk.Desk(text, PLACES)
    there.place(*PLACED)
    said = there.explain(desk.pod(app="web"))
    assert desk.reasons(said)["a1"] == ("Unschedulable", "node(s) rejected by policy p/limit")
    (rule,) = (
        each for each in there.frameworks[None].profile.plugins if hasattr(each, "domain_tables")
    )
    assert rule.name == "Policy"


def test_pods_that_come_and_go_between_equal_pods() -> None:
    """Answers are patched: only the domain of the pod that came or went is asked again."""
    text = AT_MOST.format(WEB_IN_ZONE, 2, "missing allow")
    there = desk.Desk(text, PLACES)
    pod = desk.pod(app="web")

    def feasible() -> int:
        info = there.shapes.make_pod_info(pod.build())
        decided = there.frameworks[None].schedule_pod(info, there.cache.snapshot())
        assert decided.feasible_count == len(there.feasible(pod))
        return decided.feasible_count

    assert feasible() == 4
    there.place(_placed("w1", "a1", app="web"))
    assert feasible() == 4
    there.place(_placed("w2", "a2", app="web"))
    assert feasible() == 2
    there.cache.set_node(desk.node("a2", zone="c").build())
    assert feasible() == 4
    there.place(_placed("w3", "a1", app="web"))
    assert feasible() == 3
    there.remove(_placed("w1", "a1", app="web"))
    assert feasible() == 4


def test_each_node_counts_its_own_changes_although_samples_are_new() -> None:
    """Preemption supposes changes on many nodes; a metric of another rule may be newer by then."""
    text = f"""{desk.METRICS}
    policy p {{
      for pods
      reject when load > 90% missing allow
      reject when node(zone = pod(zone)) and count({WEB_IN_ZONE}) >= 2 missing allow as limit
    }}
    """
    there = desk.Desk(text, PLACES)
    placed = [
        _placed(f"w{number}", node, app="web") for number, node in enumerate(("a1", "a2", "a2"))
    ]
    there.place(*placed)
    info = there.shapes.make_pod_info(desk.pod(app="web", zone="a").build())
    (rule,) = (
        each
        for each in there.frameworks[None].profile.plugins
        if isinstance(each, counting.CountingReject)
    )
    rule.filter(cycle_state.CycleState(), info, there.cache.snapshot().view_all_rows())
    there.sample("load", a1=0.1)
    state = cycle_state.CycleState()
    rule.remember(state, info, there.cache.snapshot())
    for each in placed[:2]:
        there.remove(each)
    told = rule.filter_apart(state, info, there.cache.snapshot().view_all_rows())
    names = there.cache.nodes.names
    assert {names[row] for row in (~told.passes).nonzero()[0]} == {"a1", "a2"}


# --- scores --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "score, points",
    [
        ("count(pods where app = web) prefer low", {"a1": 0, "a2": 50, "b1": 50, "x": 100}),
        (
            f"count({WEB_IN_ZONE}) < 3 missing score 40",
            {"a1": 0, "a2": 0, "b1": 100, "x": 40},
        ),
        (
            f"count({WEB_IN_ZONE}) normalize linear(1, 5) prefer low missing score 0",
            {"a1": 50, "a2": 50, "b1": 100, "x": 0},
        ),
        (
            f"count({WEB_IN_ZONE}) normalize rank prefer high missing score 7",
            {"a1": 100, "a2": 100, "b1": 0, "x": 7},
        ),
        (
            f"count({WEB_IN_ZONE}) * count(pods topologyKey rack) prefer low missing score 0",
            {"a1": 0, "a2": 100, "b1": 88.89, "x": 0},
        ),
    ],
)
def test_points_by_counted_pods(score: str, points: dict[str, float]) -> None:
    """Each normalisation gives the same points at first and after a pod came and went."""
    there = desk.Desk(f"policy p {{ for pods score {score} as s }}", PLACES)
    there.place(*PLACED)
    pod = desk.pod(app="web")
    for _ in range(2):
        assert there.points(pod, "p/s") == points
        info = there.shapes.make_pod_info(pod.build())
        decided = there.frameworks[None].schedule_pod(info, there.cache.snapshot())
        assert decided.scores is not None
        there.place(_placed("w9", "b1", app="web"))
        there.frameworks[None].schedule_pod(info, there.cache.snapshot())
        there.remove(_placed("w9", "b1", app="web"))


# --- waking a pod that waits ---------------------------------------------------------------------


def test_only_a_counted_pod_that_goes_wakes_a_pod() -> None:
    """A hundred other pods that come and go do not."""
    text = AT_MOST.format(WEB_IN_ZONE, 1, "missing reject")
    there = test_requeue.Waiting(text, PLACES)
    there.place(*PLACED)
    there.begin(desk.pod(app="web"))
    for number in range(100):
        other = _placed(f"o{number}", "a1", app="db" if number % 2 else "cache")
        assert not there.add_pod(other)
        assert not there.delete_pod(other)
    assert not there.delete_pod(PLACED[0])  # two are left in this zone
    assert there.delete_pod(PLACED[3])


def test_a_node_that_takes_its_pods_to_another_domain_wakes_a_pod() -> None:
    """The other nodes of its former zone have room then."""
    text = AT_MOST.format(WEB_IN_ZONE, 1, "missing reject")
    there = test_requeue.Waiting(text, [*PLACES, desk.node("a3", zone="a")])
    there.place(PLACED[0], PLACED[3])
    there.begin(desk.pod(app="web"))
    label = events.ActionType.UPDATE_NODE_LABEL
    assert not there.change_node(desk.node("a2", zone="a", rack="9"), label)
    assert there.change_node(desk.node("a1", zone="b"), label)
