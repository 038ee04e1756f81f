"""Rules that count pods, asked about many nodes whose pods are supposed to change."""

from __future__ import annotations

from typing import ClassVar

import hypothesis
import hypothesis.strategies as st
import numpy as np

from policysched.cluster import snapshot, what_if
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface, profile, runtime, status
from tests import examples
from tests.compiler import desk

RULES = (
    "podAffinity required pods where app = db topologyKey zone",
    "podAffinity required self topologyKey zone",
    "podAntiAffinity required self topologyKey rack",
    "podAntiAffinity required pods where app = db topologyKey zone",
    "topologySpread self topologyKey zone maxSkew 1 minDomains 2",
    "topologySpread pods where app In (web, db) topologyKey rack maxSkew 2",
)
LABELS = st.fixed_dictionaries(
    {}, optional={"zone": st.sampled_from("ab"), "rack": st.sampled_from("12")}
)
APPS = st.sampled_from(("web", "web", "db", "other"))


class RejectsTheRest:
    """Lets no node pass, so that every pod is diagnosed."""

    name = "RejectsTheRest"
    reads: ClassVar[interface.Reads] = interface.Reads.NODE

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Reject every node."""
        everywhere = np.ones(len(nodes), np.bool_)
        return status.NodeStatuses.where(everywhere, status.unschedulable(self.name, "passed"))


@hypothesis.settings(max_examples=examples.scale(80))
@hypothesis.given(data=st.data())
def test_many_nodes_are_judged_as_each_alone(data: st.DataObject) -> None:
    """Each answer is what the rules say when only the pods of that node have changed."""
    rules = data.draw(st.lists(st.sampled_from(RULES), min_size=1, max_size=3, unique=True))
    nodes = [desk.node(f"n{i}", **data.draw(LABELS)) for i in range(data.draw(st.integers(1, 5)))]
    text = "\n  ".join(rules)
    made = desk.Desk(
        f"version 1\npolicy p {{\n  for pods where app In (web, db)\n  {text}\n}}\n", nodes
    )
    placed = data.draw(st.lists(st.tuples(APPS, st.integers(0, len(nodes) - 1)), max_size=8))
    made.place(*(desk.pod(f"p{i}", app=app).node(f"n{n}") for i, (app, n) in enumerate(placed)))
    framework = _rejecting(made)
    info = made.shapes.make_pod_info(desk.pod("pending", app=data.draw(APPS)).build())
    snap = made.cache.snapshot()
    diagnosis = framework.schedule_pod(info, snap).diagnosis
    assert diagnosis is not None
    assert diagnosis.refilter is not None
    refilter = diagnosis.refilter
    assert refilter.is_apart
    changes = [_changes(data, made, row) for row in range(snap.size)]
    alone = []
    for row, (gone, new) in enumerate(changes):
        with what_if.WhatIf(snap) as world:
            world.remove_pods(gone)
            world.add_pods(new)
            found = framework.schedule_pod(info, snap).diagnosis
            assert found is not None
            alone.append(found.statuses[found.ids[row]])
    refilter.begin()
    with what_if.WhatIf(snap) as world:
        world.remove_pods([each for gone, _ in changes for each in gone])
        world.add_pods([each for _, new in changes for each in new])
        together = refilter.filter(np.arange(snap.size))
    assert [together.statuses[i] for i in together.ids] == alone


def _rejecting(made: desk.Desk) -> runtime.Framework:
    compiled = made.frameworks[None].profile
    plugins = (*compiled.plugins, RejectsTheRest())
    return runtime.Framework(profile.Profile("test", plugins, {}), None)


Placed = list[tuple[pod_shape.PodInfo, int]]


def _changes(data: st.DataObject, made: desk.Desk, row: int) -> tuple[Placed, Placed]:
    """Return which pods leave a row, and which come."""
    gone = [(info, row) for info in made.cache.get_pods_on_row(row) if data.draw(st.booleans())]
    new: Placed = []
    for number in range(data.draw(st.integers(0, 2))):
        pod = desk.pod(f"new-{row}-{number}", app=data.draw(APPS))
        new.append((made.shapes.make_pod_info(pod.build()), row))
    return gone, new


def test_placed_pods_that_repel_are_judged_so_too() -> None:
    """A pod that no policy is about finds room on a node once those that repel it are gone."""
    text = (
        "version 1\npolicy alone {\n  for pods where app = db\n"
        "  podAntiAffinity required pods where app = web topologyKey rack\n}\n"
        "profile dbs {\n  policies alone\n}\nprofile any {\n}\n"
    )
    made = desk.Desk(text, [desk.node("n0", rack="1"), desk.node("n1", rack="2")])
    made.place(*(desk.pod(f"db{i}", app="db").node(f"n{i}") for i in range(2)))
    info, snap = (
        made.shapes.make_pod_info(desk.pod("web", app="web").build()),
        made.cache.snapshot(),
    )
    diagnosis = made.frameworks["any"].schedule_pod(info, snap).diagnosis
    assert diagnosis is not None
    assert diagnosis.refilter is not None
    assert diagnosis.refilter.is_apart
    diagnosis.refilter.begin()
    with what_if.WhatIf(snap) as world:
        world.remove_pods(
            [(p, row) for row in (0, 1) for p in list(made.cache.get_pods_on_row(row))]
        )
        assert diagnosis.refilter.filter(np.arange(2)).ids.tolist() == [0, 0]
    assert diagnosis.refilter.filter(np.arange(2)).passes.tolist() == [False, False]
