"""What each kind of score rule gives, from its text."""

from __future__ import annotations

import pytest

from tests import builders
from tests.compiler import desk

THREE = [desk.node(name, zone=zone) for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b"))]


@pytest.mark.parametrize(
    "clauses, expected",
    [
        pytest.param("prefer low", {"a1": 90, "a2": 50, "b1": 10}, id="a-ratio-is-linear"),
        pytest.param("prefer high", {"a1": 10, "a2": 50, "b1": 90}, id="high"),
        pytest.param(
            "prefer low normalize linear(0%, 60%)",
            {"a1": 83.33, "a2": 16.67, "b1": 0},
            id="linear-clamped",
        ),
        pytest.param("prefer low normalize minmax", {"a1": 100, "a2": 50, "b1": 0}, id="minmax"),
        pytest.param(
            "prefer low normalize minmax(100%)", {"a1": 80, "a2": 40, "b1": 0}, id="minmax-floor"
        ),
        pytest.param("prefer high normalize rank", {"a1": 0, "a2": 50, "b1": 100}, id="rank"),
        pytest.param("prefer high normalize max", {"a1": 11.11, "a2": 55.56, "b1": 100}, id="max"),
        pytest.param(
            "normalize shape(0%: 100, 50%: 80, 90%: 0)", {"a1": 96, "a2": 80, "b1": 0}, id="shape"
        ),
    ],
)
def test_normalizations_of_a_metric(clauses: str, expected: dict[str, float]) -> None:
    """The same three loads in every normalisation."""
    text = f"{desk.METRICS} policy p {{ for pods score load {clauses} missing score 0 as s }}"
    there = desk.Desk(text, THREE)
    there.sample("load", a1=0.1, a2=0.5, b1=0.9)
    assert there.points(desk.pod(), "p/s") == expected


@pytest.mark.parametrize(
    "clauses", ["prefer low", "prefer low normalize minmax", "normalize shape(0%: 100, 90%: 0)"]
)
def test_missing_points_are_final(clauses: str) -> None:
    """A node without data gets the declared points, and takes no part in the normalisation."""
    text = f"{desk.METRICS} policy p {{ for pods score load {clauses} missing score 37 as s }}"
    there = desk.Desk(text, THREE)
    there.sample("load", a1=0.0, a2=0.9)
    points = there.points(desk.pod(), "p/s")
    assert points["b1"] == 37
    assert points["a1"] == 100


def test_normalization_runs_over_the_feasible_nodes() -> None:
    """A rejected node is neither the smallest nor the largest."""
    text = f"""{desk.METRICS}
    policy p {{
      for pods
      reject when load > 80% missing allow
      score load prefer low normalize minmax missing score 0 as s
    }}"""
    there = desk.Desk(text, THREE)
    there.sample("load", a1=0.1, a2=0.5, b1=0.9)
    assert there.points(desk.pod(), "p/s") == {"a1": 100, "a2": 0}


def test_an_outage_takes_the_score_out() -> None:
    """All nodes get 0, not the points of a node without data."""
    text = f"""{desk.METRICS}
    policy p {{
      for pods
      score load prefer low missing score 50 as linear
      score load prefer low normalize minmax missing score 50 as minmax
      score load > 50% missing score 50 as busy
    }}"""
    there = desk.Desk(text, THREE)
    for rule in ("linear", "minmax", "busy"):
        assert there.points(desk.pod(), f"p/{rule}") == {"a1": 0, "a2": 0, "b1": 0}
    there.sample("load", b1=0.9)
    assert there.points(desk.pod(), "p/linear") == {"a1": 50, "a2": 50, "b1": 10}
    assert there.points(desk.pod(), "p/busy") == {"a1": 50, "a2": 50, "b1": 100}


def test_conditions_give_all_or_nothing() -> None:
    """100 points where it holds, 0 where not, the declared ones where it is unknown."""
    text = """policy p {
      for pods
      score node(zone = a) and not pod(app = web) as where
      score label(rank) > 5 missing score 20 as labelled
    }"""
    nodes = [desk.node("a", zone="a", rank="9"), desk.node("b", rank="1"), desk.node("c")]
    there = desk.Desk(text, nodes)
    assert there.points(desk.pod(), "p/where") == {"a": 100, "b": 0, "c": 0}
    assert there.points(desk.pod(app="web"), "p/where") == {"a": 0, "b": 0, "c": 0}
    assert there.points(desk.pod(), "p/labelled") == {"a": 100, "b": 0, "c": 20}


def test_expressions_of_resources() -> None:
    """Requests, allocatable and free in one scale, with what is already placed."""
    text = """policy p {
      for pods
      score 0.5 * (free(cpu) - requests(cpu)) / allocatable(cpu)
            + 0.5 * free(memory) / allocatable(memory) prefer high missing score 0 as room
      score free("example.com/gpu") - requests("example.com/gpu") prefer low as exact
    }"""
    nodes = [
        builders.make_node("n1").capacity({"cpu": "4", "memory": "8Gi", "example.com/gpu": 4}),
        builders.make_node("n2").capacity({"cpu": "8", "memory": "8Gi", "example.com/gpu": 1}),
        builders.make_node("n3").capacity({"memory": "8Gi"}),
    ]
    there = desk.Desk(text, nodes)
    there.place(builders.make_pod("old").requests(cpu="1", memory="2Gi").node("n1"))
    pod = desk.pod().requests({"cpu": "1", "example.com/gpu": 1})
    assert there.points(pod, "p/room") == {"n1": 62.5, "n2": 93.75, "n3": 0}
    assert there.points(pod, "p/exact") == {"n1": 0, "n2": 75, "n3": 100}


def test_resource_strategies_give_the_points_of_the_plugin() -> None:
    """Whole points, with defaults for containers that request nothing."""
    text = """policy p {
      for pods
      score LeastAllocated(cpu: 1) as least
      score MostAllocated(cpu: 1, memory: 1) as most
      score RequestedToCapacityRatio(cpu: 1, shape(0%: 0, 50%: 100, 100%: 20)) as ratio
    }"""
    there = desk.Desk(text, [builders.make_node("n").capacity(cpu="3", memory="1000Mi")])
    there.place(builders.make_pod("old").requests(cpu="1").node("n"))
    there.cache.set_node(builders.make_node("big").capacity(cpu="30", memory="1000Gi").build())
    pod = desk.pod().requests(cpu="1", memory="500Mi")
    assert there.points(pod, "p/least") == {"n": 33, "big": 96}
    assert there.points(pod, "p/most") == {"n": 68, "big": 1}
    assert there.points(pod, "p/ratio") == {"n": 75, "big": 6}


# --- preferred terms -----------------------------------------------------------------------------


def test_preferred_node_affinity_gives_100_or_0() -> None:
    """Each term is one entry of the pool, weighed by its own weight."""
    text = "policy p { for pods nodeAffinity preferred zone = a weight 50 as near }"
    there = desk.Desk(text, THREE)
    assert there.points(desk.pod(), "p/near") == {"a1": 100, "a2": 100, "b1": 0}
    said = there.explain(desk.pod())
    assert said.scores is not None
    assert said.scores.totals.tolist() == [50 * 100 * 100, 50 * 100 * 100, 0]


@pytest.mark.parametrize(
    "kind, expected",
    [
        ("podAffinity", {"a1": 100, "a2": 100, "b1": 50, "x": 0}),
        ("podAntiAffinity", {"a1": 0, "a2": 0, "b1": 50, "x": 100}),
    ],
)
def test_preferred_pod_terms_count_pods_in_the_domain(
    kind: str, expected: dict[str, float]
) -> None:
    """Min-max over the feasible nodes; a node in no domain counts 0."""
    text = f"policy p {{ for pods {kind} preferred pods where app = db topologyKey zone as t }}"
    there = desk.Desk(text, [*THREE, desk.node("x")])
    assert set(there.points(desk.pod(), "p/t").values()) == {0}
    there.place(
        desk.pod("one", app="db").node("a1"),
        desk.pod("two", app="db").node("a2"),
        desk.pod("three", app="db").node("b1"),
        desk.pod("lost", app="db").node("x"),
    )
    assert there.points(desk.pod(), "p/t") == expected


def test_preferred_terms_are_not_symmetric() -> None:
    """Placed pods of the policy do not attract or repel later ones by preference."""
    text = """policy p {
      for pods where app = db
      podAntiAffinity preferred pods where app = web topologyKey zone as t
    }"""
    there = desk.Desk(text, THREE)
    there.place(desk.pod("db", app="db").node("a1"))
    said = there.explain(desk.pod(app="web"))
    assert said.scores is not None
    assert said.scores.by_plugin == {}


def test_soft_spread_prefers_domains_with_fewer_pods() -> None:
    """Fewest 100, most 0; a node without the label 0."""
    text = """policy p {
      for pods
      topologySpread topologyKey zone whenUnsatisfiable ScheduleAnyway weight 3 as even
    }"""
    there = desk.Desk(text, [*THREE, desk.node("c1", zone="c"), desk.node("x")])
    there.place(*(desk.pod(f"a{i}").node("a1") for i in range(4)), desk.pod("b").node("b1"))
    assert there.points(desk.pod(), "p/even") == {"a1": 0, "a2": 0, "b1": 75, "c1": 100, "x": 0}


def test_soft_spread_rules_leave_out_nodes_that_lack_any_of_their_keys() -> None:
    """As the constraints of a pod: such a node gets 0 of each rule, and its pods do not count."""
    text = """policy p {
      for pods
      topologySpread topologyKey zone whenUnsatisfiable ScheduleAnyway weight 3 as zones
      topologySpread topologyKey host whenUnsatisfiable ScheduleAnyway weight 1 as hosts
    }"""
    nodes = [
        desk.node("a1", zone="a", host="a1"),
        desk.node("a2", zone="a"),
        desk.node("b1", zone="b", host="b1"),
        desk.node("x", host="x"),
    ]
    there = desk.Desk(text, nodes)
    there.place(*(desk.pod(f"a{i}").node("a2") for i in range(4)), desk.pod("b").node("b1"))
    assert there.points(desk.pod(), "p/zones") == {"a1": 100, "a2": 0, "b1": 0, "x": 0}
    assert there.points(desk.pod(), "p/hosts") == {"a1": 100, "a2": 0, "b1": 0, "x": 0}


# --- kept scores ---------------------------------------------------------------------------------


def test_kept_scores_follow_the_cluster() -> None:
    """After a node, a pod or a sample changed, equal pods see the new points at once."""
    text = f"""{desk.METRICS}
    policy p {{
      for pods
      score load prefer low missing score 0 as load
      score free(cpu) / allocatable(cpu) prefer high missing score 0 as room
    }}"""
    many = [desk.node(f"n{i}").capacity(cpu="4") for i in range(20)]
    there = desk.Desk(text, many)
    there.sample("load", **{f"n{i}": 0.5 for i in range(20)})
    assert set(there.points(desk.pod(), "p/load").values()) == {50}
    there.sample("load", **{f"n{i}": 0.25 for i in range(20)})
    assert set(there.points(desk.pod(), "p/load").values()) == {75}
    there.place(desk.pod("old").requests(cpu="3").node("n7"))
    assert there.points(desk.pod(), "p/room") == {f"n{i}": 25 if i == 7 else 100 for i in range(20)}
    there.cache.set_node(desk.node("n8").capacity(cpu="0").build())
    assert there.points(desk.pod(), "p/room")["n8"] == 0
