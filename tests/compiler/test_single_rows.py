"""What a rule says of one node alone is what it says of that node among all."""

from __future__ import annotations

from typing import Any

import hypothesis
import numpy as np
import pytest

from policysched.cluster import snapshot
from policysched.framework import cycle_state
from tests.compiler import desk, test_reference


@hypothesis.given(test_reference.moments())
def test_a_row_alone_is_answered_as_among_all(moment: test_reference.Moment) -> None:
    """Filters and scores that are asked about a row agree with their arrays, bit by bit."""
    for framework, state in moment.states():
        for plugin in framework.profile.plugins:
            _assert_rows_agree(plugin, state, moment.info, moment.snap)


def _assert_rows_agree(plugin: Any, state: cycle_state.CycleState, info: Any, snap: Any) -> None:
    nodes = [snapshot.NodeRow(snap, row) for row in np.flatnonzero(snap.is_alive).tolist()]
    if hasattr(plugin, "filter_row"):
        answers = plugin.filter(state, info, snap.view_all_rows())
        for node in nodes:
            expected = answers.statuses[answers.ids[node.row]]
            assert plugin.filter_row(state, info, node) == expected
    if hasattr(plugin, "make_row_scorer"):
        scores = plugin.score(state, info, snap.view_all_rows())
        score_row = plugin.make_row_scorer(info, snap)
        assert [score_row(node) for node in nodes] == [scores[node.row] for node in nodes]


@pytest.mark.parametrize(
    "first, second",
    [
        ("LeastAllocated(cpu)", "LeastAllocated(memory)"),
        ("LeastAllocated(cpu)", "MostAllocated(cpu)"),
    ],
    ids=["two resources", "one resource"],
)
def test_strategies_stand_side_by_side(first: str, second: str) -> None:
    """Two rules of one policy, asked in the same cycle, each go by what they name."""
    text = (
        f"policy p {{ for pods\n score {first} weight 2 as one\n score {second} weight 2 as two\n}}"
    )
    there = desk.Desk(text, [desk.node("n").capacity(cpu="4", memory="8Gi")])
    info = there.shapes.make_pod_info(desk.pod().requests(cpu="1", memory="6Gi").build())
    snap = there.cache.snapshot()
    rules = [p for p in there.program.profiles[0].plugins if hasattr(p, "make_row_scorer")]
    scores = [rule.make_row_scorer(info, snap)(snap.view_row(0)) for rule in rules]
    assert scores == [7500, 2500]
