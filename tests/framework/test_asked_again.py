"""What is kept for equal pods ends with the failures, nodes and times that it came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from policysched import errors
from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.compiler import compiler
from policysched.framework import cycle_state, interface, profile, runtime, status
from policysched.plugins import taint_toleration
from tests import builders
from tests.compiler import desk

_SPOILS = Exception("once")
_OTHERS = """
policy p {
  for pods
  reject when free(cpu) < requests(cpu) as full
  podAntiAffinity required pods where role = noisy topologyKey kubernetes.io/hostname as quiet
  topologySpread self topologyKey rack maxSkew 1 whenUnsatisfiable DoNotSchedule as even
  nodeAffinity preferred rack In (r1) weight 5 as near
  score free(cpu) prefer high normalize minmax missing score 0 as most-cpu
  score requested(pods) prefer low normalize rank missing score 0 as fewest
  score label("points") prefer high normalize max missing score 0 as best
  podAntiAffinity preferred self topologyKey rack weight 2 as apart
}
profile q { policies p }
"""


def _label(node: objects.Node | None, key: str) -> str:
    return "" if node is None else node.metadata.labels.get(key, "")


class _Failing:
    """A plugin that breaks down at one extension point whenever it is told to."""

    name = "Failing"
    reads: ClassVar = interface.Reads.NODE

    def __init__(self, point: str) -> None:
        self._point = point
        self.fails = False

    def _break_down(self, point: str) -> None:
        if self.fails and point == self._point:
            self.fails = False
            raise _SPOILS

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Pass."""
        self._break_down("PreFilter")
        return interface.PreFilterResult(status.SUCCESS)

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Reject nodes that are labelled bad."""
        self._break_down("Filter")
        is_bad = [_label(node, "is") == "bad" for node in nodes.objects()]
        return status.NodeStatuses.where(
            np.array(is_bad, np.bool_), status.unschedulable(self.name, "node(s) were bad")
        )

    def pre_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.Status:
        """Pass."""
        self._break_down("PreScore")
        return status.SUCCESS

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Give what the label says."""
        self._break_down("Score")
        return np.array([int(_label(node, "points") or 0) for node in nodes.objects()], np.int64)

    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: interface.RawScores
    ) -> columns.IntArray:
        """Leave them."""
        self._break_down("NormalizeScore")
        return scores.astype(np.int64)


def _node(number: int, **labels: str) -> builders.NodeBuilder:
    labels = {"rack": f"r{number % 3}", "points": str(10 * number)} | labels
    return desk.node(f"n{number}", **labels).capacity(cpu="4", memory="8Gi", pods=20)


def _table(result: runtime.ScheduleResult) -> tuple[Any, ...]:
    """Return everything that a cycle came to."""
    failures = result.failures
    assert failures is not None
    filtered = [failures.statuses[n] if n >= 0 else None for n in failures.ids.tolist()]
    assert result.scores is not None
    return result.node_name, filtered, result.scores.rows.tolist(), result.scores.totals.tolist()


def _beside_policies(plugin: Any, place: int) -> tuple[desk.Desk, Callable[[], runtime.Framework]]:
    """Return a cluster, and what makes frameworks of policy rules with a plugin among them."""
    world = desk.Desk(_OTHERS, [_node(number) for number in range(6)])
    compiled = {each.name: each for each in world.program.profiles}["q"]
    plugins = [*compiled.plugins[:place], plugin, *compiled.plugins[place:]]
    made = profile.Profile("q", tuple(plugins), {**compiled.weights, plugin.name: 2})
    return world, lambda: runtime.Framework(made, None)


@pytest.mark.parametrize("place", [0, 2, 100], ids=["before", "among", "behind"])
@pytest.mark.parametrize("is_kept", [False, True], ids=["asked first", "patched"])
@pytest.mark.parametrize("point", ["PreFilter", "Filter", "PreScore", "Score", "NormalizeScore"])
def test_a_failure_costs_one_attempt(point: str, is_kept: bool, place: int) -> None:
    """Afterwards all plugins, policy rules too, say what they say to a framework made anew."""
    plugin = _Failing(point)
    world, make = _beside_policies(plugin, place)
    pod = world.shapes.make_pod_info(desk.pod("p", app="web").requests({"cpu": "500m"}).build())
    kept = make()
    if is_kept:
        kept.schedule_pod(pod, world.cache.snapshot())
    world.cache.set_node(_node(5, **{"is": "bad"}).build())
    world.cache.set_node(_node(1, points="90", rack="r2").build())
    world.place(desk.pod("noisy", role="noisy").node("n4").requests({"cpu": "1"}))
    world.place(desk.pod("web", app="web").node("n3").requests({"cpu": "2"}))
    plugin.fails = True
    with pytest.raises(errors.PluginFailure, match=f"failed at {point}: Exception: once"):
        kept.schedule_pod(pod, world.cache.snapshot())
    for number in (0, 2):
        snap = world.cache.snapshot()
        assert _table(kept.schedule_pod(pod, snap)) == _table(make().schedule_pod(pod, snap))
        world.cache.set_node(_node(number, **{"is": "bad"}).build())
        world.place(desk.pod(f"web-{number}", app="web").node(f"n{number}"))


@pytest.mark.parametrize("method", ["feasible_rows", "best_rows", "explain_pod"])
def test_a_failure_in_between_spoils_no_later_attempt(method: str) -> None:
    """Whoever asked, `simulate`, `explain` or `plan`."""
    plugin = _Failing("Filter")
    world, make = _beside_policies(plugin, 2)
    pod = world.shapes.make_pod_info(desk.pod("p", app="web").build())
    kept = make()
    kept.schedule_pod(pod, world.cache.snapshot())
    world.cache.set_node(_node(5, **{"is": "bad"}).build())
    plugin.fails = True
    with pytest.raises(errors.PluginFailure):
        getattr(kept, method)(pod, world.cache.snapshot())
    snap = world.cache.snapshot()
    assert _table(kept.schedule_pod(pod, snap)) == _table(make().schedule_pod(pod, snap))


class _Unreachable:
    """Answers Filter with errors while what it asks does not answer."""

    name = "Unreachable"
    reads: ClassVar = interface.Reads.NODE

    def __init__(self) -> None:
        self.is_down = True

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Look."""
        is_hit = np.full(len(nodes), self.is_down)
        return status.NodeStatuses.where(is_hit, status.Status(status.Code.ERROR, ("no answer",)))


def test_an_error_that_a_plugin_answers_is_not_kept() -> None:
    """The pod is tried again, so the plugin is asked again though no node has changed."""
    cluster = builders.make_cache([builders.make_node("n1"), builders.make_node("n2")])
    plugin = _Unreachable()
    framework = runtime.Framework(profile.Profile("test", (plugin,), {}), None)
    pod = cluster.info(builders.make_pod("p"))
    failed = framework.schedule_pod(pod, cluster.cache.snapshot())
    assert failed.node_name is None
    assert "no answer" in failed.message
    plugin.is_down = False
    assert framework.schedule_pod(pod, cluster.cache.snapshot()).node_name == "n1"


class _Gold:
    """Chooses nodes by their labels at PreFilter, skips itself where all are plain."""

    name = "Gold"
    reads: ClassVar = interface.Reads.NODE | interface.Reads.ALL_NODES

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Look at all nodes."""
        nodes = [node for node in snap.nodes.nodes if node is not None]
        kinds = {_label(node, "kind") for node in nodes}
        if kinds == {"plain"}:
            return interface.PreFilterResult(status.SKIP)
        if "gold" not in kinds:
            return interface.PreFilterResult(status.unresolvable(self.name, "no node is gold"))
        gold = frozenset(node.name for node in nodes if _label(node, "kind") == "gold")
        return interface.PreFilterResult(status.SUCCESS, gold)

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Reject what is dull."""
        is_dull = [_label(node, "kind") in ("dull", "plain") for node in nodes.objects()]
        return status.NodeStatuses.where(
            np.array(is_dull, np.bool_), status.unschedulable(self.name, "dull")
        )


def _while_labels_change(
    used: profile.Profile, key: str, rounds: Iterable[Sequence[str]]
) -> Iterator[runtime.ScheduleResult]:
    """Give the decisions about one pod while the nodes have other values of a label each time."""
    cluster = builders.make_cache()
    framework = runtime.Framework(used, None)
    pod = cluster.info(builders.make_pod("p"))
    for values in rounds:
        for number, value in enumerate(values):
            cluster.cache.set_node(builders.make_node(f"n{number}").labels(**{key: value}).build())
        yield framework.schedule_pod(pod, cluster.cache.snapshot())


def test_pre_filter_of_others_is_asked_for_each_pod() -> None:
    """What it rejects, names and skips follows the nodes."""
    kinds = (
        ("dull", "dull", "dull"),
        ("dull", "gold", "dull"),
        ("gold", "dull", "dull"),
        ("plain", "plain", "plain"),
        ("dull", "plain", "plain"),
        ("plain", "plain", "gold"),
    )
    results = _while_labels_change(profile.Profile("test", (_Gold(),), {}), "kind", kinds)
    found = [(result.node_name, result.feasible_count) for result in results]
    assert found == [(None, 0), ("n1", 1), ("n0", 1), ("n0", 3), (None, 0), ("n2", 1)]


class _BehindTheBest:
    """Takes from 100 what a node has less than the best one; skips itself where none has any."""

    name = "BehindTheBest"
    reads: ClassVar = interface.Reads.NODE | interface.Reads.ALL_NODES

    def pre_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.Status:
        """Look for the best."""
        best = max(int(_label(node, "points") or 0) for node in nodes.objects())
        state.write(self.name, best)
        return status.SUCCESS if best else status.SKIP

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Compare."""
        points = [int(_label(node, "points") or 0) for node in nodes.objects()]
        return 100 - state.read(self.name, int) + np.array(points, np.int64)


def test_pre_score_of_others_is_asked_for_each_pod() -> None:
    """What it prepares, and whether it skips, follows the nodes."""
    used = profile.Profile("test", (_BehindTheBest(),), {"BehindTheBest": 1})
    points = (("0", "0"), ("3", "7"), ("57", "7"), ("0", "0"), ("1", "0"))
    found = []
    for result in _while_labels_change(used, "points", points):
        assert result.scores is not None
        found.append(result.scores.totals.tolist())
    assert found == [[0, 0], [9600, 10000], [10000, 5000], [0, 0], [10000, 9900]]


_SLOW = 'reject when label("speed") < 2 missing allow as slow'


@pytest.mark.parametrize("hours", [(0, 2, -2, 1), (72, -72, 48, -24), (2, -1, -1, 24)], ids=str)
@pytest.mark.parametrize(
    "rule",
    [
        f'{_SLOW} during "13:00-15:00"',
        f'{_SLOW} expires "2026-01-06"',
        'tolerate spot:NoSchedule during "13:00-15:00"',
        'tolerate spot:NoSchedule expires "2026-01-06"',
        "reject when load > 50% missing allow as busy",
    ],
)
def test_a_clock_that_is_set_back_takes_back_what_it_began(
    rule: str, hours: tuple[int, ...]
) -> None:
    """Which rules act, and which samples count, is what the clock says now."""
    text = f"{desk.METRICS} policy p {{ for pods {rule} }} profile q {{ policies p }}"
    nodes = [desk.node("n0", speed="1"), desk.node("n1", speed="2").taint("spot")]
    world = desk.Desk(text, nodes)
    world.sample("load", n0=0.9, n1=0.1)
    kept = _with_taints(world.program)
    pod = world.shapes.make_pod_info(desk.pod("p").build())
    for each in hours:
        world.clock.jump_wall_clock(each * 3600)
        snap = world.cache.snapshot()
        fresh = _with_taints(compiler.compile_program(desk.check(text)))
        found, wanted = kept.feasible_rows(pod, snap), fresh.feasible_rows(pod, snap)
        assert found.tolist() == wanted.tolist()


def _with_taints(program: compiler.CompiledProgram) -> runtime.Framework:
    """Return a framework of policies that looks at taints as well."""
    compiled = {each.name: each for each in program.profiles}["q"]
    plugins = (taint_toleration.TaintToleration(), *compiled.plugins)
    made = profile.Profile("q", plugins, compiled.weights, tolerations=compiled.tolerations)
    return runtime.Framework(made, None)
