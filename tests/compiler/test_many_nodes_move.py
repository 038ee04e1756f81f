"""Where nodes leave and come back by the dozen, what is kept is what a fresh framework says."""

from __future__ import annotations

from typing import TypeAlias

import hypothesis
import hypothesis.strategies as st
import numpy as np

from policysched.framework import runtime
from policysched.framework.scoring import standings
from tests import builders, examples
from tests.compiler import desk

_RACKS = 3
_NODES = 20 * _RACKS
"""A rack is more nodes than are looked at one by one."""
_POLICY = """
policy p {
  for pods where app = web
  reject when free(cpu) < requests(cpu) as full
  podAntiAffinity required pods where role = noisy topologyKey kubernetes.io/hostname as no-noise
  podAntiAffinity required pods where role = licensed topologyKey rack as no-licence
  podAffinity required pods where role = cache topologyKey zone as near-cache
  topologySpread self topologyKey rack maxSkew 1 whenUnsatisfiable DoNotSchedule as even-racks
  topologySpread self topologyKey zone maxSkew 2 whenUnsatisfiable DoNotSchedule as even-zones
  nodeAffinity preferred rack In (r0, r1) weight 5 as near
  score free(cpu) prefer high normalize minmax missing score 0 as most-cpu
  score free(cpu) - 1 prefer low normalize minmax(500m) missing score 0 as least-cpu
  score requested(pods) prefer low normalize rank missing score 0 as fewest
  score free(memory) prefer high normalize max missing score 0 as biggest
  score label("speed") prefer low normalize max missing score 3 as slowest
  score label("speed") prefer high normalize minmax missing score 7 as fastest
  score label("speed") prefer low normalize rank missing score 1 as ranked
  podAntiAffinity preferred self topologyKey kubernetes.io/hostname weight 4 as apart
  podAffinity preferred pods where role = noisy topologyKey rack weight 2 as near-noise
  topologySpread self topologyKey rack maxSkew 1 whenUnsatisfiable ScheduleAnyway as evener-racks
  topologySpread self topologyKey kubernetes.io/hostname maxSkew 1
    whenUnsatisfiable ScheduleAnyway as even-nodes
}
profile q { policies p }
"""
_Event: TypeAlias = tuple[str, int, str]

_places = st.integers(0, _NODES - 1)
_events = st.one_of(
    st.tuples(st.just("schedule"), st.just(0), st.just("web")),
    st.tuples(st.just("schedule"), st.just(0), st.just("web")),
    st.tuples(st.just("place"), _places, st.sampled_from(("web", "noisy", "licensed", "cache"))),
    st.tuples(st.just("crowd"), _places, st.sampled_from(("web", "noisy"))),
    st.tuples(st.just("remove"), _places, st.just("")),
    st.tuples(st.just("label"), _places, st.sampled_from(("", "1", "2", "9", "-4", "0.5"))),
    st.tuples(st.just("move"), _places, st.sampled_from(("", "r0", "r1", "r3"))),
)


class _World:
    """A cluster and what was placed there."""

    def __init__(self, speeds: list[str]) -> None:
        self.labels = [_labels(number, speeds) for number in range(_NODES)]
        nodes = [_node(number, labels) for number, labels in enumerate(self.labels)]
        self.desk = desk.Desk(_POLICY, nodes)
        self.placed: list[builders.PodBuilder] = []
        self.place(_pod("first", "cache").node("n0"))

    def place(self, pod: builders.PodBuilder) -> None:
        self.placed.append(pod)
        self.desk.place(pod)

    def set(self, number: int, label: str, value: str) -> None:
        self.labels[number][label] = value
        self.desk.cache.set_node(_node(number, self.labels[number]).build())


def _labels(number: int, speeds: list[str]) -> dict[str, str]:
    rack = number % _RACKS
    return {"rack": f"r{rack}", "zone": f"z{rack // 2}", "speed": speeds[number % len(speeds)]}


def _node(number: int, labels: dict[str, str]) -> builders.NodeBuilder:
    node = desk.node(f"n{number}", **{key: value for key, value in labels.items() if value})
    return node.capacity(cpu=str(1 + number % 4), memory="8Gi", pods=50)


def _pod(name: str, kind: str) -> builders.PodBuilder:
    pod = desk.pod(name, app="web") if kind == "web" else desk.pod(name, role=kind)
    return pod.requests({"cpu": "300m", "memory": "1Gi"})


def _happen(world: _World, kept: runtime.Framework, number: int, event: _Event) -> None:
    kind, place, what = event
    match kind:
        case "schedule":
            info = world.desk.shapes.make_pod_info(_pod("pending", "web").build())
            decided = kept.schedule_pod(info, world.desk.cache.snapshot())
            if decided.node_name is not None:
                world.place(_pod(f"p{number}", "web").node(decided.node_name))
        case "place":
            world.place(_pod(f"p{number}", what).node(f"n{place}"))
        case "crowd":  # more pods than the log of a count keeps
            for each in range(140):
                pod = _pod(f"p{number}-{each}", what).node(f"n{(place + each % 50) % _NODES}")
                world.place(pod.requests({"cpu": "1m"}))
        case "remove" if world.placed:
            world.desk.remove(world.placed.pop(place % len(world.placed)))
        case "label":
            world.set(place, "speed", what)
        case "move":
            world.set(place, "rack", what)
        case _:
            pass


@hypothesis.settings(
    suppress_health_check=[hypothesis.HealthCheck.too_slow], max_examples=examples.scale(60)
)
@hypothesis.given(
    st.lists(st.sampled_from(("", "1", "2", "3")), min_size=1, max_size=5),
    st.lists(_events, max_size=25),
)
def test_what_is_kept_is_what_a_fresh_framework_says(
    speeds: list[str], events: list[_Event]
) -> None:
    """Verdicts, totals and the points of the best nodes, rule by rule."""
    world = _World(speeds)
    compiled = {each.name: each for each in world.desk.program.profiles}["q"]
    kept = world.desk.frameworks["q"]
    info = world.desk.shapes.make_pod_info(_pod("pending", "web").build())
    for number, event in enumerate(events):
        _happen(world, kept, number, event)
        snap = world.desk.cache.snapshot()
        decided = kept.schedule_pod(info, snap)
        expected = desk.framework(compiled).schedule_pod(info, snap)
        names = snap.nodes.names
        assert _verdicts(decided) == _verdicts(expected)
        assert decided.feasible_count == expected.feasible_count
        assert (decided.scores is None) == (expected.scores is None)
        if decided.scores is not None and expected.scores is not None:
            assert decided.scores.totals.tolist() == expected.scores.totals.tolist()
            decided.scores.chosen = expected.scores.chosen = len(expected.scores.rows) - 1
            found = standings.find_standing(decided.scores, names, 5)
            wanted = standings.find_standing(expected.scores, names, 5)
            assert found.nodes == wanted.nodes
            assert _points(found) == _points(wanted)


def _verdicts(result: runtime.ScheduleResult) -> list[object]:
    failures = result.failures
    assert failures is not None
    return [failures.statuses[n] if n >= 0 else None for n in failures.ids.tolist()]


def _points(standing: standings.Standing) -> dict[str, list[int]]:
    return dict(zip(standing.score_names, np.asarray(standing.weighted).tolist(), strict=True))
