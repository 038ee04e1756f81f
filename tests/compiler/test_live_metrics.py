"""What policies make of metrics: ranges, fallbacks, windows, added load, hysteresis, outages."""

from __future__ import annotations

import math

import msgspec
import pytest

from policysched.cluster import what_if
from policysched.cluster.objects import objects
from tests import builders
from tests.compiler import desk

THREE = [desk.node(name).capacity(cpu="10", memory="16Gi", pods=110) for name in ("n1", "n2", "n3")]


def _metric(options: str, name: str = "busy", unit: str = "ratio") -> str:
    return f"metric {name}: {unit} = `{name}` node instance refresh 15s maxAge 2m {options}\n"


# --- ranges, fallbacks ---------------------------------------------------------------------------


def test_values_out_of_range_are_missing() -> None:
    """Bounds are in the unit of the metric, whole cores of the query among them."""
    text = _metric("between 500m and 4", unit="cores")
    there = desk.Desk(f"{text} policy p {{ for pods reject when busy > 1 missing reject }}", THREE)
    there.sample("busy", n1=0.5, n2=4.5, n3=0.4)
    assert there.feasible(desk.pod()) == ["n1"]


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param("reject when busy else 95% > 90%", id="else"),
        pytest.param("reject when told > 90%", id="fallback"),
    ],
)
def test_a_fallback_stands_for_what_is_missing(rule: str) -> None:
    """On one node without a sample, where it is stale, and where the whole source is down."""
    text = _metric("") + _metric("fallback 95%", "told") + f"policy p {{ for pods {rule} }}"
    there = desk.Desk(text, THREE)
    assert there.feasible(desk.pod()) == []
    for metric in ("busy", "told"):
        there.sample(metric, {"n3": 300.0}, n1=0.5, n3=0.5)
    assert there.feasible(desk.pod()) == ["n1"]


def test_a_fallback_may_be_another_metric_and_what_pods_request() -> None:
    """The first that is there: fast, else slow, else what is requested."""
    slow = _metric("fallback requested(cpu) / allocatable(cpu)", "slow")
    text = slow + _metric("fallback slow", "fast")
    there = desk.Desk(
        f"{text} policy p {{ for pods score fast prefer low missing score 0 as s }}", THREE
    )
    there.place(desk.pod("old").requests(cpu="8").node("n3"))
    there.sample("fast", n1=0.9)
    there.sample("slow", n1=0.1, n2=0.4)
    assert there.points(desk.pod(), "p/s") == {"n1": 10, "n2": 60, "n3": 20}


def test_usage_counts_again_once_a_fallback_does() -> None:
    """Kept answers follow pods while any node lacks a sample, and only then need they."""
    text = _metric("") + (
        "policy p { for pods score busy else requested(cpu) / allocatable(cpu) prefer low"
        " normalize linear(0%, 100%) missing score 0 as s }"
    )
    there = desk.Desk(text, THREE[:2])

    def chosen() -> str | None:
        info = there.shapes.make_pod_info(desk.pod().build())
        return there.frameworks[None].schedule_pod(info, there.cache.snapshot()).node_name

    old = desk.pod("old").requests(cpu="8").node("n1")
    there.sample("busy", n1=0.1, n2=0.5)
    assert chosen() == "n1"
    there.place(old)
    assert chosen() == "n1", "what pods request counts nowhere"
    there.sample("busy", n2=0.5)
    assert chosen() == "n2"
    there.remove(old)
    assert chosen() == "n1"
    there.place(old)
    assert chosen() == "n2"
    there.sample("busy", n1=0.6, n2=0.5)
    assert chosen() == "n2"
    there.cache.set_node(THREE[2].build())
    assert chosen() == "n3", "a node without a sample came"
    there.place(desk.pod("new").requests(cpu="9").node("n3"))
    assert chosen() == "n2"
    there.clock.advance(121)
    there.sample("busy", {"n2": 121.0}, n1=0.6, n2=0.5)
    assert chosen() == "n2", "its sample is stale, and it has no pods"


# --- windows -------------------------------------------------------------------------------------


def test_a_window_is_kept_by_the_scheduler() -> None:
    """On the metric, at the clause, and in `until`; without a sample in time it is missing."""
    text = _metric("over 1m max") + _metric("", "plain")
    there = desk.Desk(
        f"""{text} policy p {{
          for pods
          reject when busy > 90% missing allow as own
          reject when plain > 50% over 2m avg missing reject as average
        }}""",
        THREE,
    )
    for value in (0.95, 0.2, 0.2):
        for metric in ("busy", "plain"):
            there.sample(metric, n1=value, n2=0.2, n3=0.2)
        there.clock.advance(20)
    rejected = desk.reasons(there.explain(desk.pod()))
    assert list(rejected) == ["n1"]
    there.sample("busy", n1=0.2, n2=0.2, n3=0.2)
    there.sample("plain", n1=0.2, n2=0.9, n3=0.2)
    assert there.feasible(desk.pod()) == ["n1", "n2", "n3"]
    there.clock.advance(121)
    there.sample("plain", n1=0.2)
    assert there.feasible(desk.pod()) == ["n1"]


@pytest.mark.parametrize("seconds", [(30, 120), (120, 30)], ids=["shorter-first", "longer-first"])
def test_two_windows_over_a_metric_keep_samples_for_the_longer(seconds: tuple[int, int]) -> None:
    """A peak counts for as long as any rule looks back, in whatever order the rules come."""
    rules = " ".join(f"reject when busy > 90% over {each}s max missing allow" for each in seconds)
    there = desk.Desk(f"{_metric('')} policy p {{ for pods {rules} }}", THREE[:2])
    there.sample("busy", n1=0.95, n2=0.2)
    for _ in range(6):
        there.clock.advance(15)
        there.sample("busy", n1=0.2, n2=0.2)
    assert there.feasible(desk.pod()) == ["n2"]
    for _ in range(3):
        there.clock.advance(15)
        there.sample("busy", n1=0.2, n2=0.2)
    assert there.feasible(desk.pod()) == ["n1", "n2"]


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, 1.5, None], ids=["nan", "inf", "out-of-range", "none"]
)
def test_a_window_is_missing_where_the_metric_is(value: float | None) -> None:
    """Whatever it holds: no number now is no value, as without a window; the next one counts."""
    there = desk.Desk(
        f"{_metric('between 0% and 100% over 10m max')}"
        "policy p { for pods reject when busy > 90% missing reject }",
        THREE,
    )
    there.sample("busy", n1=0.2, n2=0.2)
    there.clock.advance(15)
    there.sample("busy", **({"n1": 0.3} if value is None else {"n1": 0.3, "n2": value}))
    assert there.feasible(desk.pod()) == ["n1"]
    there.clock.advance(15)
    there.sample("busy", n1=0.3, n2=0.2)
    assert there.feasible(desk.pod()) == ["n1", "n2"]


# --- clocks that are set -------------------------------------------------------------------------

PEAK = _metric("over 1m max") + "policy p { for pods reject when busy > 90% missing reject }"


def _peak(there: desk.Desk) -> float | None:
    """Return what rules go by on the only node."""
    (reader,) = there.program.metric_parts.readers()
    found = reader.read(there.cache.snapshot().view_all_rows())
    return float(found.values[0]) if found.is_ok[0] else None


def test_a_clock_that_is_set_back_changes_no_age() -> None:
    """Windows stay whole, samples turn stale when they would have, and new ones count."""
    there = desk.Desk(PEAK, THREE[:1])
    there.sample("busy", n1=0.95)
    there.clock.advance(30)
    there.sample("busy", n1=0.2)
    there.clock.jump_wall_clock(-3600)
    assert _peak(there) == 0.95
    there.clock.advance(29)
    there.sample("busy", n1=0.2)
    assert _peak(there) == 0.95, "the peak is 59 s old"
    there.clock.advance(2)
    there.sample("busy", n1=0.2)
    assert _peak(there) == 0.2
    there.clock.jump_wall_clock(-3600)
    there.clock.advance(121)
    assert _peak(there) is None, "nothing is fresh for an hour because of a clock"


def test_a_clock_that_is_set_forward_lets_samples_age() -> None:
    """It may have been a pause of the machine; the window begins with the next sample."""
    there = desk.Desk(PEAK, THREE[:1])
    there.sample("busy", n1=0.95)
    there.clock.jump_wall_clock(3600)
    assert _peak(there) is None
    there.sample("busy", n1=0.2)
    assert _peak(there) == 0.2


@pytest.mark.parametrize("jump_seconds", [-3600.0, 3600.0], ids=["back", "forward"])
def test_nodes_begin_when_they_did_whatever_the_clock_says(jump_seconds: float) -> None:
    """A sample of the machine before is none of the node, one of its own is, after a jump too."""
    there = desk.Desk(PEAK, ())
    node = THREE[0].build()
    created = builders.EPOCH.isoformat().replace("+00:00", "Z")
    metadata = msgspec.structs.replace(node.metadata, creation_timestamp=created)
    there.clock.advance(60)
    there.cache.set_node(msgspec.structs.replace(node, metadata=metadata))
    there.clock.jump_wall_clock(jump_seconds)
    assert _peak(there) is None
    there.sample("busy", {"n1": 70.0}, n1=0.2)
    assert _peak(there) is None
    there.sample("busy", {"n1": 50.0}, n1=0.2)
    assert _peak(there) == 0.2


# --- just-placed pods ----------------------------------------------------------------------------

HERD = _metric("placed adds requests(cpu) / allocatable(cpu) for 90s missing allow")


def _assume(there: desk.Desk, name: str, node: str, cpu: str = "3") -> None:
    info = there.shapes.make_pod_info(desk.pod(name).requests(cpu=cpu).build())
    there.cache.assume_pod(info, node)


def test_a_burst_does_not_meet_one_idle_node() -> None:
    """Each pod sees what those before it add, in scores and in filters, until the time is over."""
    there = desk.Desk(
        f"""{HERD} policy p {{
          for pods
          reject when busy > 75% as full
          score busy prefer low missing score 0 as s
        }}""",
        THREE,
    )
    there.sample("busy", n1=0.0, n2=0.1, n3=0.5)
    chosen = []
    for number in range(8):
        said = there.explain(desk.pod())
        node = said.best[0] if said.best else ""
        chosen.append(node)
        if node:
            _assume(there, f"p{number}", node)
    assert chosen == ["n1", "n2", "n1", "n2", "n3", "n1", "n2", ""]
    there.clock.advance(90)
    assert there.feasible(desk.pod()) == ["n1", "n2", "n3"]


def test_missing_stays_missing_whatever_is_placed() -> None:
    """No load is made of placed pods alone, and a pod that adds less than nothing adds nothing."""
    text = _metric("placed adds 10% - requests(cpu) / allocatable(cpu) for 90s", "odd")
    there = desk.Desk(
        f"""{HERD}{text} policy p {{
          for pods
          score busy prefer low missing score 3 as s
          score odd prefer low missing score 3 as t
        }}""",
        THREE,
    )
    there.sample("busy", n1=0.5)
    there.sample("odd", n1=0.5)
    _assume(there, "a", "n1")
    _assume(there, "b", "n2")
    assert there.points(desk.pod(), "p/s") == {"n1": 20, "n2": 3, "n3": 3}
    assert there.points(desk.pod(), "p/t") == {"n1": 50, "n2": 3, "n3": 3}


def test_what_a_pod_adds_follows_its_node() -> None:
    """A node that grows is loaded less by the same pod; cores are whole cores of the query."""
    text = HERD + _metric("placed adds requests(cpu) for 90s missing score 0", "used", "cores")
    there = desk.Desk(
        f"""{text} policy p {{
          for pods
          score busy prefer low missing score 0 as s
          score used prefer low normalize linear(0, 10) as u
        }}""",
        THREE,
    )
    there.sample("busy", n1=0.0, n2=0.0, n3=0.0)
    there.sample("used", n1=1.0, n2=1.0, n3=1.0)
    _assume(there, "a", "n1", cpu="5")
    assert there.points(desk.pod(), "p/s")["n1"] == 50
    assert there.points(desk.pod(), "p/u") == {"n1": 40, "n2": 90, "n3": 90}
    there.cache.set_node(desk.node("n1").capacity(cpu="20", memory="16Gi", pods=110).build())
    assert there.points(desk.pod(), "p/s")["n1"] == 75


def test_the_load_of_supposed_victims_is_not_credited() -> None:
    """A what-if question about pods changes what is requested, not what is measured or expected."""
    there = desk.Desk(f"{HERD} policy p {{ for pods reject when busy > 75% }}", THREE)
    there.sample("busy", n1=0.5, n2=0.1, n3=0.1)
    _assume(there, "victim", "n1")
    assert there.feasible(desk.pod()) == ["n2", "n3"]
    snap = there.cache.snapshot()
    (victim,) = there.cache.get_pods_on_row(snap.nodes.row_of["n1"])
    with what_if.WhatIf(snap) as world:
        world.remove_pods([(victim, snap.nodes.row_of["n1"])])
        assert there.feasible(desk.pod()) == ["n2", "n3"]
    assert there.feasible(desk.pod()) == ["n2", "n3"]


# --- hysteresis ----------------------------------------------------------------------------------

STEADY = _metric("") + "policy p { for pods reject when busy > 80% until busy < 70% missing allow }"


def test_a_node_is_let_go_below_the_lower_bound_only() -> None:
    """Between the bounds it stays as it was; each node by itself."""
    there = desk.Desk(STEADY, THREE)
    seen = []
    for n1, n2 in ((0.75, 0.9), (0.85, 0.75), (0.75, 0.69), (0.6, 0.75)):
        there.sample("busy", n1=n1, n2=n2, n3=0.1)
        seen.append(there.feasible(desk.pod()))
    assert seen == [["n1", "n3"], ["n3"], ["n2", "n3"], ["n1", "n2", "n3"]]


def test_two_refreshes_between_two_pods_both_count() -> None:
    """What was seen while no pod came is not forgotten."""
    there = desk.Desk(STEADY, THREE)
    there.sample("busy", n1=0.9, n2=0.1, n3=0.1)
    there.sample("busy", n1=0.75, n2=0.1, n3=0.1)
    assert there.feasible(desk.pod()) == ["n2", "n3"]


def test_a_node_without_data_is_answered_by_missing_and_waits() -> None:
    """It is not held for ever by an exporter that died, and held again when that is back."""
    there = desk.Desk(STEADY, THREE)
    there.sample("busy", n1=0.9, n2=0.1, n3=0.1)
    there.sample("busy", n2=0.1, n3=0.1)
    assert there.feasible(desk.pod()) == ["n1", "n2", "n3"]
    there.sample("busy", n1=0.75, n2=0.1, n3=0.1)
    assert there.feasible(desk.pod()) == ["n2", "n3"]


def test_placed_pods_reject_a_node_and_never_hold_it() -> None:
    """What they add counts while they count; at the next refresh the samples alone decide."""
    text = STEADY.replace(
        "maxAge 2m", "maxAge 2m placed adds requests(cpu) / allocatable(cpu) for 90s"
    )
    there = desk.Desk(text, THREE)
    there.sample("busy", n1=0.6, n2=0.1, n3=0.1)
    _assume(there, "a", "n1")
    assert there.feasible(desk.pod()) == ["n2", "n3"]
    there.sample("busy", n1=0.72, n2=0.1, n3=0.1)
    there.clock.advance(90)
    assert there.feasible(desk.pod()) == ["n1", "n2", "n3"]


def test_other_policies_with_the_same_rule_go_on() -> None:
    """A reload keeps the nodes that are held; a rule that is gone forgets them."""
    there = desk.Desk(STEADY, THREE)
    there.sample("busy", n1=0.9, n2=0.1, n3=0.1)
    again = desk.Desk(STEADY.replace("for pods", 'description "new" for pods'), THREE)
    there.cache.retain_needed_metric_data(again.program.metric_needs)
    there.frameworks = again.frameworks
    there.sample("busy", n1=0.75, n2=0.1, n3=0.1)
    assert there.feasible(desk.pod()) == ["n2", "n3"]
    there.cache.retain_needed_metric_data(desk.Desk("policy p { for pods }").program.metric_needs)
    back = desk.Desk(STEADY, THREE)
    there.cache.retain_needed_metric_data(back.program.metric_needs)
    there.frameworks = back.frameworks
    assert there.feasible(desk.pod()) == ["n1", "n2", "n3"]


def test_a_rule_over_another_query_begins_anew() -> None:
    """What one query said of a node is nothing to hold it by another one of the same name."""
    there = desk.Desk(STEADY, THREE)
    there.sample("busy", n1=0.9, n2=0.1, n3=0.1)
    again = desk.Desk(STEADY.replace("`busy`", "`busy * 0.5`"), THREE)
    there.cache.retain_needed_metric_data(again.program.metric_needs)
    there.frameworks = again.frameworks
    there.sample("busy", n1=0.75, n2=0.1, n3=0.1)
    assert there.feasible(desk.pod()) == ["n1", "n2", "n3"]


# --- outages -------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["missing reject", "missing allow"])
def test_an_outage_under_skip_rejects_nobody(missing: str) -> None:
    """However missing data is read, a source that is down does not stop scheduling."""
    text = f"{_metric('')} policy p {{ for pods reject when busy > 80% {missing} }}"
    there = desk.Desk(text, THREE)
    assert there.feasible(desk.pod()) == ["n1", "n2", "n3"]
    there.sample("busy", {"n1": 121.0}, n1=0.9)
    assert there.feasible(desk.pod()) == ["n1", "n2", "n3"]


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param("pod(app = web) or busy > 80%", id="settled-by-the-pod"),
        pytest.param("not (pod(app = db) and busy > 80%)", id="settled-below-a-negation"),
        pytest.param("busy > 80% or busy <= 80%", id="read"),
    ],
)
def test_an_outage_that_begins_with_the_time_is_noticed(condition: str) -> None:
    """Also where the truth did not depend on the metric: answers that are kept end in time."""
    text = f"{_metric('')} policy p {{ for pods reject when {condition} missing allow }}"
    there = desk.Desk(text, THREE)
    there.sample("busy", {"n1": 60.0}, n1=0.5)
    web = there.shapes.make_pod_info(desk.pod(app="web").build())
    (framework,) = there.frameworks.values()
    assert framework.schedule_pod(web, there.cache.snapshot()).feasible_count in (0, 2)
    there.clock.advance(61)
    assert framework.schedule_pod(web, there.cache.snapshot()).feasible_count == 3


@pytest.mark.parametrize(
    "rule",
    ["reject when busy > 80% missing allow as r", "score busy prefer low missing score 0 as r"],
)
def test_an_outage_under_hold_lets_pods_wait(rule: str) -> None:
    """The pods that a rule about the metric acts on wait and say why; others do not."""
    text = f"""{_metric("")} policy p {{ for pods where app = web {rule} }}
    profile x {{ policies p onOutage hold }}"""
    there = desk.Desk(text, THREE)
    said = there.explain(desk.pod(app="web"), "x")
    assert said.pre_filter is not None
    assert said.pre_filter.code.value == "UnschedulableAndUnresolvable"
    assert said.message == (
        "0/3 nodes are available: pod waits for metric busy, which policy p/r reads: "
        "no node has a valid sample."
    )
    assert there.feasible(desk.pod(app="db"), "x") == ["n1", "n2", "n3"]
    there.sample("busy", n1=0.1)
    assert there.feasible(desk.pod(app="web"), "x") == ["n1", "n2", "n3"]


def test_hold_does_not_wait_where_something_stands_in() -> None:
    """A rule whose metric has a fallback stays in force."""
    text = f"""{_metric("fallback 10%")} policy p {{ for pods reject when busy > 80% }}
    profile x {{ policies p onOutage hold }}"""
    assert desk.Desk(text, THREE).feasible(desk.pod(), "x") == ["n1", "n2", "n3"]


# --- limits --------------------------------------------------------------------------------------


def _limited(**limits: str) -> builders.PodBuilder:
    resources = objects.ResourceRequirements(limits=dict(limits))
    return desk.pod().spec(containers=(objects.Container(resources=resources),))


@pytest.mark.parametrize(
    "pod, feasible",
    [
        pytest.param(_limited(cpu="4"), ["n1", "n2"], id="4-cores"),
        pytest.param(_limited(cpu="8"), ["n1"], id="8-cores"),
        pytest.param(_limited(), ["n1", "n2"], id="no-limit-is-missing"),
        pytest.param(_limited(cpu="0"), ["n1", "n2"], id="0-is-no-limit"),
    ],
)
def test_limits_of_pods(pod: builders.PodBuilder, feasible: list[str]) -> None:
    """A pod that may take more than a node has to give is rejected; no limit is no number."""
    nodes = [desk.node("n1").capacity(cpu="8", pods=9), desk.node("n2").capacity(cpu="4", pods=9)]
    text = "policy p { for pods reject when limits(cpu) > allocatable(cpu) missing allow }"
    assert desk.Desk(text, nodes).feasible(pod) == feasible


def test_policies_choose_pods_by_their_limits() -> None:
    """A pod without a limit matches no comparison."""
    text = """policy p {
      for pods where limits(memory) > 4Gi or limits(memory) <= 4Gi
      nodeAffinity required disk Exists
    }"""
    there = desk.Desk(text, THREE)
    assert there.feasible(desk.pod()) == ["n1", "n2", "n3"]
    assert there.feasible(_limited(memory="1Gi")) == []
