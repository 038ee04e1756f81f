"""What is kept of a cycle: rejections with examples, and the points of the best nodes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.framework import status
from policysched.framework.answers import first_failures, rejections, status_table
from policysched.framework.scoring import score_table, standings

STATUSES = [status.SUCCESS, *(status.unschedulable("P", f"reason {n}") for n in range(1, 5))]
UNUSED = [status.unschedulable("P", f"former {n}") for n in range(20)]


def _make_table(statuses: list[status.Status]) -> status_table.StatusTable:
    table = status_table.StatusTable()
    assert [table.intern(each) for each in statuses] == list(range(len(statuses)))
    return table


def _rejections(
    ids: list[int], statuses: list[status.Status] = STATUSES
) -> list[tuple[str, int, tuple[str, ...]]]:
    names = [f"n{row}" for row in range(len(ids))]
    rejected_count = sum(each > 0 for each in ids)
    failures = first_failures.FirstFailures(np.array(ids, np.int16), _make_table(statuses))
    found = failures.list_rejections(names, rejected_count)
    return [(each.answer.message, each.node_count, each.examples) for each in found]


@given(st.lists(st.integers(-1, 4), max_size=40))
def test_rejections_are_counted_with_the_first_names(ids: list[int]) -> None:
    """Each answer with its nodes, most nodes first; passing nodes and dead rows count nowhere."""
    rows = {n: [r for r, each in enumerate(ids) if each == n] for n in range(1, 5)}
    expected = [
        (f"reason {n}", len(rows[n]), tuple(f"n{row}" for row in rows[n][:3]))
        for n in sorted(rows, key=lambda n: (-len(rows[n]), n))
        if rows[n]
    ]
    assert _rejections(ids) == expected
    assert _rejections(ids, STATUSES + UNUSED) == expected


def test_the_most_frequent_rejections_are_kept() -> None:
    """Policies with hundreds of reasons do not make records without bound."""
    count = rejections.MAX_REJECTIONS + 20
    statuses = [status.SUCCESS, *(status.unschedulable("P", str(n)) for n in range(count))]
    ids = np.repeat(np.arange(count + 1, dtype=np.int16), np.arange(count + 1))
    names = [str(row) for row in range(len(ids))]
    failures = first_failures.FirstFailures(ids, _make_table(statuses))
    found = failures.list_rejections(names, len(ids))
    assert [each.node_count for each in found] == list(range(count, 20, -1))


def _table() -> score_table.ScoreTable:
    """Return points of the rows 1, 2, 4, 5: two plugins by row, one by feasible node."""
    by_row = np.array([[9, 1, 2, 9, 3, 1], [0, 10, 10, 0, 10, 0]])
    last = np.array([5, 5, 0, 0])
    rows = np.array([1, 2, 4, 5])
    totals = by_row[:, rows].sum(axis=0) + last
    parts = (
        score_table.RowPart(("a", "b"), by_row),
        score_table.Part(("c",), last),
    )
    return score_table.ScoreTable(rows, {}, totals, parts)


@pytest.mark.parametrize(
    "chosen, count, nodes",
    [
        pytest.param(2, 3, ("n2", "n1", "n4"), id="the best one is chosen"),
        pytest.param(5, 2, ("n5", "n2"), id="another one is chosen"),
        pytest.param(2, 9, ("n2", "n1", "n4", "n5"), id="fewer than asked for"),
        pytest.param(2, 1, ("n2",), id="the chosen one alone"),
    ],
)
def test_the_chosen_node_stands_before_those_with_most_points(
    chosen: int, count: int, nodes: tuple[str, ...]
) -> None:
    """Each node has its own points, plugin by plugin, that add up to its total."""
    table = _table()
    table.chosen = table.rows.tolist().index(chosen)
    found = standings.find_standing(table, [f"n{row}" for row in range(6)], count)
    assert found.nodes == nodes
    points = {"n1": [1, 10, 5], "n2": [2, 10, 5], "n4": [3, 10, 0], "n5": [1, 0, 0]}
    assert found.score_names == ("a", "b", "c")
    assert found.weighted.T.tolist() == [points[node] for node in nodes]
    assert list(found.totals) == [sum(points[node]) for node in nodes]
    assert table.totals.tolist() == [16, 17, 13, 1]
