"""What a rule says of one node alone is what it says of that node among all."""

from __future__ import annotations

from typing import Any

import hypothesis
import numpy as np
import pytest

from policysched.framework import cycle_state
from tests.compiler import desk, test_reference


@hypothesis.given(test_reference.moments())
def test_a_row_alone_is_answered_as_among_all(moment: test_reference.Moment) -> None:
    """Filters and scores that are asked about a row agree with their arrays, bit by bit."""
    for framework, state in moment.states():
        for plugin in framework.profile.plugins:
            _assert_rows_agree(plugin, state, moment.info, moment.snap)


def _assert_rows_agree(plugin: Any, state: cycle_state.CycleState, info: Any, snap: Any) -> None:
    every, alone = snap.view_all_rows(), [snap.view_rows(np.array([r])) for r in range(snap.size)]
    if hasattr(plugin, "filter"):
        answers = plugin.filter(state, info, every)
        each = [plugin.filter(state, info, nodes) for nodes in alone]
        expected = [answers.statuses[number] for number in answers.ids]
        assert [answer.statuses[answer.ids[0]] for answer in each] == expected
    if hasattr(plugin, "score"):
        scores = [plugin.score(state, info, nodes) for nodes in alone]
        expected = plugin.score(state, info, every)
        assert np.array_equal(np.concatenate(scores), expected, equal_nan=True)


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
    rules: list[Any] = [p for p in there.program.profiles[0].plugins if hasattr(p, "score")]
    state, nodes = cycle_state.CycleState(), snap.view_all_rows()
    assert [rule.score(state, info, nodes).item() for rule in rules] == [7500, 2500]
