"""Texts about pods that fit nowhere, where there is little room."""

from __future__ import annotations

import numpy as np
import pytest

from policysched.framework import interface, messages, status

LIMIT_BYTES = 1024


def _diagnosis(counts: dict[str, int], post_filter: str = "") -> interface.Diagnosis:
    """Return a diagnosis in which so many nodes have each reason."""
    statuses = [status.SUCCESS, *(status.unschedulable("P", reason) for reason in counts)]
    ids = np.repeat(np.arange(1, len(statuses), dtype=np.int16), list(counts.values()))
    return interface.Diagnosis(ids, statuses, post_filter_message=post_filter)


def _brief(diagnosis: interface.Diagnosis) -> str:
    alive = np.ones(len(diagnosis.ids), bool)
    return messages.brief_fit_error(diagnosis, alive, len(alive), LIMIT_BYTES)


@pytest.mark.parametrize(
    "reason",
    [
        pytest.param("node(s) had untolerated taint {pool-N: gpu}", id="ascii"),
        pytest.param("узел N занят", id="two bytes a character"),
        pytest.param("节点 N 已满 🚀", id="three and four bytes"),
    ],
)
def test_the_reasons_of_the_most_nodes_are_kept(reason: str) -> None:
    """As many as there is room for, then how many are left out; frequent ones stand first."""
    counts = {reason.replace("N", str(number)): number + 1 for number in range(60)}
    text = _brief(_diagnosis(counts, "preemption: 0/9 nodes are available."))
    assert len(text.encode()) <= LIMIT_BYTES
    assert text.startswith(f"0/1830 nodes are available: 60 {reason.replace('N', '59')}, 59 ")
    assert text.endswith(" more reasons. preemption: 0/9 nodes are available.")
    shown = [each for each in counts if f" {each}" in text]
    left_out = len(counts) - len(shown)
    assert f" and {left_out} more reasons." in text
    longer = f"{60 - len(shown)} {reason.replace('N', str(left_out - 1))}, "
    assert len((text + longer).encode()) > LIMIT_BYTES


def test_reasons_of_no_node_are_not_counted() -> None:
    """Equal pods share a list of reasons, of which some may hold on no node any more."""
    diagnosis = _diagnosis({"x" * 600: 3, "y" * 600: 2, "z": 1})
    diagnosis.statuses.append(status.unschedulable("P", "former"))
    text = _brief(diagnosis)
    assert text == f"0/6 nodes are available: 3 {'x' * 600} and 2 more reasons."


def test_a_single_long_reason_stays_whole() -> None:
    """There is nothing to choose; the note cuts it."""
    diagnosis = _diagnosis({"x" * 2000: 1})
    assert _brief(diagnosis) == f"0/1 nodes are available: 1 {'x' * 2000}."
