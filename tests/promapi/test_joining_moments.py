"""Answers for many moments at once say at each what an instant answer would say."""

from __future__ import annotations

import asyncio
import collections
import math
import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from policysched.cluster.objects import node_aliases
from policysched.promapi import answers, failures, node_names_thread, series_node_join
from tests.kube.asynchronous import asynchronous
from tests.promapi import worlds
from tests.reference import metric_joining

BEHIND_SECONDS = 85_000.0
NODES = [
    worlds.node("n1", "10.0.0.1"),
    worlds.node("n2", "10.0.0.2"),
    worlds.node("n3", "10.0.0.3"),
    worlds.node("n4", "10.0.0.3"),
]
_LABELS = st.sampled_from(["n1", "n2", "n3", "10.0.0.1:9100", "10.0.0.3", "", "x"])
_VALUES = st.sampled_from([0.25, 0.5, 1.0, 1.5, -0.5, math.nan, math.inf, None])
_TIMES = st.sampled_from([4900.0, 4930.5, 4990.0, 5000.25, 9999.0, 0.0, -1.0, math.nan, None])


@st.composite
def moments(draw: st.DrawFn) -> list[answers.InstantVector]:
    """Return answers at some moments, hostile ones."""
    found = []
    for number in range(draw(st.integers(0, 4))):
        at = 5000.0 + 10.0 * number
        series = draw(st.lists(st.tuples(_LABELS, _VALUES), max_size=6))
        measured = draw(st.dictionaries(_LABELS, _TIMES))
        found.append(
            answers.InstantVector(
                tuple(
                    answers.InstantVectorSample({"instance": name}, value, at)
                    for name, value in series
                ),
                tuple(
                    answers.InstantVectorSample({"instance": name}, value, at)
                    for name, value in measured.items()
                ),
                at,
            )
        )
    return found


@given(moments())
def test_each_moment_is_that_of_the_reference(given_: list[answers.InstantVector]) -> None:
    """Samples and their times, what is missing and why, and how often at the worst moment."""
    (metric,) = worlds.metrics(worlds.POLICY.replace("maxAge 1m", "maxAge 1m between 0% and 100%"))
    names = node_aliases.NodeAliasIndex(NODES)
    found = series_node_join.join_matrix(
        worlds.moments_of(given_), metric, names, BEHIND_SECONDS, has_freshness=True
    )
    most: collections.Counter[failures.QueryIssue] = collections.Counter()
    for row, answer in enumerate(given_):
        expected = metric_joining.Moment(answer, metric, names)
        most |= expected.counts
        at_seconds = 5000.0 + 10.0 * row + BEHIND_SECONDS
        samples = {
            name: (value, at_seconds - time)
            for name, value, time in zip(
                found.names, found.values[row].tolist(), found.times[row].tolist(), strict=True
            )
            if time > -math.inf
        }
        assert samples == expected.samples
        is_without = found.is_named[row] & ~found.is_valued[row]
        assert set(np.array(found.names)[is_without].tolist()) == expected.without_value
        assert set(np.array(found.names)[found.is_stale[row]].tolist()) == expected.stale
    assert +found.counts == most


@asynchronous
async def test_the_loop_goes_on_while_an_answer_is_joined() -> None:
    """In a thread of its own, one answer at a time, with the nodes as they were handed over."""
    joins = node_names_thread.NodeNamesThread()
    released = threading.Event()
    seen: list[tuple[bool, int]] = []

    def work(names: node_aliases.NodeAliasIndex) -> str:
        assert released.wait(timeout=60), "the loop did not go on"
        seen.append((threading.current_thread() is threading.main_thread(), len(names)))
        return "joined"

    first = asyncio.create_task(joins.run_with_node_names(NODES[:1], work))
    second = asyncio.create_task(joins.run_with_node_names(NODES, work))
    await asyncio.sleep(0)
    assert not first.done()
    released.set()
    assert [await first, await second] == ["joined", "joined"]
    assert seen == [(False, 1), (False, 4)]
    joins.close()
