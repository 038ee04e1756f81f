from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pytest

from policysched import errors
from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface, profile, runtime, status
from tests import builders


@dataclasses.dataclass
class FilterSays:
    """Answers Filter with anything, or raises it."""

    answer: Any
    reads: interface.Reads
    name: str = "Odd"

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> Any:
        """Give it."""
        return _given(self.answer)


@dataclasses.dataclass
class ScoreSays:
    """The same for Score."""

    answer: Any
    reads: interface.Reads
    name: str = "Odd"
    units_per_point: int = 1

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> Any:
        """Give it."""
        return _given(self.answer)


class NormalizeSays:
    """The same for NormalizeScore."""

    name: ClassVar = "Odd"

    def __init__(self, answer: Any, reads: interface.Reads) -> None:
        self._answer = answer
        self.reads = reads

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> Any:
        """Give raw scores that no total could take."""
        return np.full(len(nodes), 1e9)

    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: interface.RawScores
    ) -> Any:
        """Give the answer."""
        return _given(self._answer)


def _given(answer: Any) -> Any:
    if isinstance(answer, Exception):
        raise answer
    return answer


_NOT_IDS = status.NodeStatuses(np.array([0, 1, 0], np.int16), [status.SUCCESS])
_SHORT = status.NodeStatuses(np.zeros(2, np.int16), [status.SUCCESS])


@pytest.mark.parametrize("method", ["schedule_pod", "explain_pod"])
@pytest.mark.parametrize("reads", [interface.Reads.NODE, interface.Reads.ANYTHING], ids=str)
@pytest.mark.parametrize(
    "kind, answer, told",
    [
        (FilterSays, ValueError("boom"), "Filter: ValueError: boom"),
        (FilterSays, None, "Filter: it must answer NodeStatuses, not None"),
        (FilterSays, _SHORT, "Filter: it must answer an array of shape (3,), not (2,)"),
        (FilterSays, _NOT_IDS, "Filter: its ids must be in the range of its 1 statuses"),
        (ScoreSays, KeyError("x"), "Score: KeyError: 'x'"),
        (ScoreSays, [1, 2, 3], "Score: it must answer an array, not list"),
        (
            ScoreSays,
            np.zeros(4, np.int64),
            "Score: it must answer an array of shape (3,), not (4,)",
        ),
        (ScoreSays, np.zeros(3), "Score: its array must be of int64, not float64"),
        (
            ScoreSays,
            np.array([0, 101, 3]),
            "Score: invalid score 101, it should be in the range of [0, 100] after normalizing",
        ),
        (
            NormalizeSays,
            np.array([0, -1, 3]),
            (
                "NormalizeScore: invalid score -1, "
                "it should be in the range of [0, 100] after normalizing"
            ),
        ),
        (NormalizeSays, np.zeros(3), "NormalizeScore: its array must be of int64, not float64"),
    ],
)
def test_a_plugin_of_others_that_breaks_its_contract_is_named(
    kind: Any,
    answer: Any,
    told: str,
    reads: interface.Reads,
    method: str,
) -> None:
    """Whatever it does is one error with its name and extension point."""
    cluster = builders.make_cache([builders.make_node(name) for name in ("n1", "n2", "n3")])
    plugin = kind(answer, reads)
    framework = runtime.Framework(profile.Profile("test", (plugin,), {"Odd": 1}), None)
    pod = cluster.info(builders.make_pod("p"))
    with pytest.raises(errors.PluginFailure) as caught:
        getattr(framework, method)(pod, cluster.cache.snapshot())
    assert str(caught.value) == f"plugin `Odd` failed at {told}"
    assert caught.value.__cause__ is (answer if isinstance(answer, Exception) else None)


def test_hundredths_have_their_own_range() -> None:
    """A plugin that counts in hundredths may give 10 000 of them."""
    cluster = builders.make_cache([builders.make_node(name) for name in ("n1", "n2", "n3")])
    fine = ScoreSays(np.array([0, 10_000, 3]), interface.Reads.NODE, units_per_point=100)
    framework = runtime.Framework(profile.Profile("test", (fine,), {"Odd": 1}), None)
    pod = cluster.info(builders.make_pod("p"))
    assert framework.schedule_pod(pod, cluster.cache.snapshot()).node_name == "n2"
