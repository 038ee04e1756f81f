"""What third-party plugins return at each extension point, and the problem with it."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
import pytest

from policysched import api, errors
from policysched.framework import cycle_state, node_evidence, profile, queued_pod, runtime, status
from tests import builders


class Answers:
    """Answers with anything at a single extension point."""

    name = "Odd"
    reads = api.Reads.NODE

    def __init__(self, method: str, answer: Any) -> None:
        is_late = isinstance(answer, Later)
        setattr(self, method, lambda *_: answer.give() if is_late else answer)


class Rejects:
    """Rejects every node."""

    name = "Rejects"
    reads = api.Reads.NODE

    def filter(
        self, state: api.CycleState, pod: api.PodInfo, nodes: api.NodeView
    ) -> api.NodeStatuses:
        """Reject."""
        full = np.ones(len(nodes), np.bool_)
        return api.NodeStatuses.where(full, api.unschedulable("Rejects", "no"))


class World:
    """A plugin, asked about one pod in a cluster of two nodes."""

    def __init__(self, *plugins: Any) -> None:
        cluster = builders.make_cache([builders.make_node("n1"), builders.make_node("n2")])
        self.pod = cluster.info(builders.make_pod("p"))
        self.snap = cluster.cache.snapshot()
        self.plugins = plugins
        weights = {plugin.name: 1 for plugin in plugins}
        self.framework = runtime.Framework(profile.Profile("test", plugins, weights), None)
        self.state = cycle_state.CycleState()

    def schedule(self) -> runtime.ScheduleResult:
        """Run a scheduling cycle."""
        return self.framework.schedule_pod(self.pod, self.snap)

    def explain(self) -> object:
        """Explain the pod."""
        return self.framework.explain_pod(self.pod, self.snap)

    def post_filter(self) -> object:
        """Run PostFilter after a cycle that found no node."""
        result = self.schedule()
        assert result.diagnosis is not None
        return self.framework.run_post_filter(result.state, self.pod, self.snap, result.diagnosis)

    def evidence(self) -> object:
        """Ask for evidence after a cycle that found no node."""
        result = self.schedule()
        assert result.diagnosis is not None
        return self.framework.evidence(self.pod, self.snap, result.diagnosis)

    def evidence_on(self) -> object:
        """Ask for the evidence behind a reason on the first node."""
        found = node_evidence.NodeEvidence(self.plugins, self.pod, self.snap, ())
        return found.on_node(api.unschedulable("Odd", "no"), 0)

    def sort_key(self) -> tuple[object, ...]:
        """Ask for the key of the pod."""
        return self.framework.sort_key(queued_pod.QueuedPodInfo(self.pod, 0.0))

    def bind_at(self, method: str) -> object:
        """Run an extension point that follows the choice of a node."""
        answer = getattr(self.framework.binding, method)(self.state, self.pod, "n1")
        return asyncio.run(answer) if isinstance(answer, Coroutine) else answer


@dataclasses.dataclass
class Later:
    """An answer to be awaited."""

    answer: object

    async def give(self) -> object:
        """Give it."""
        return self.answer


NO_STATUS = "it must answer Status, such as api.SUCCESS, not"
NO_RESULT = "it must answer PreFilterResult, such as api.ALL_NODES or api.SKIP_FILTER, not"
NO_PAIR = "it must answer (Status, seconds), such as (api.SUCCESS, 0), not"
ANY: Any = api
"""Makes values that type checkers refuse, as plugins without type checkers do."""
NO_CODE = ANY.Status("Maybe")
A_TEXT = ANY.Status(api.Code.ERROR, "no")
A_LIST = ANY.unschedulable("Odd", ["no"])
NAMES = ANY.PreFilterResult(node_names=["n1"])
VICTIMS = ANY.PostFilterResult(api.SUCCESS, "n1", ["p"])
NODE = ANY.PostFilterResult(api.SUCCESS, 5)
IDS = np.zeros(2, np.int16)
SAID_NOTHING = api.NodeStatuses(IDS, [])
SAID_TEXT = ANY.NodeStatuses.where(IDS > 0, "full")
NO_SUCCESS = api.NodeStatuses(IDS, [api.unschedulable("Odd", "no")])


@pytest.mark.parametrize(
    "method, answer, told",
    [
        ("pre_filter", None, f"PreFilter: {NO_RESULT} None"),
        ("pre_filter", api.SKIP, f"PreFilter: {NO_RESULT} Status of the code Skip"),
        ("pre_filter", api.SUCCESS, f"PreFilter: {NO_RESULT} Status of the code Success"),
        (
            "pre_filter",
            NAMES,
            "PreFilter: its node_names must be None or a frozenset of names, not list",
        ),
        ("pre_filter", api.PreFilterResult(A_LIST), "PreFilter: the reasons of its Status must"),
        ("filter", api.SUCCESS, "Filter: it must answer NodeStatuses, not Status of the code"),
        ("filter", SAID_NOTHING, "Filter: its statuses must be a list, not an empty list"),
        ("filter", SAID_TEXT, f"Filter: {NO_STATUS} 'full'"),
        (
            "filter",
            NO_SUCCESS,
            "Filter: its statuses must begin with api.SUCCESS, not Status of the code",
        ),
        ("score", 5, "Score: it must answer an array, not 5"),
        ("score", np.zeros(2, np.bool_), "Score: its array must be of int64 or float64, not bool"),
        ("score", np.zeros((2, 1)), "Score: it must answer an array of shape (2,), not (2, 1)"),
    ],
)
@pytest.mark.parametrize("ask", ["schedule_pod", "explain_pod"])
def test_an_answer_within_a_cycle(method: str, answer: Any, told: str, ask: str) -> None:
    """The cycle ends with the plugin, the point, what it answered and what was expected."""
    world = World(Answers(method, answer))
    with pytest.raises(errors.PluginFailure) as caught:
        getattr(world.framework, ask)(world.pod, world.snap)
    assert str(caught.value).startswith(f"plugin `Odd` failed at {told}")


class PreScores(Answers):
    """Has a score too."""

    def score(self, state: api.CycleState, pod: api.PodInfo, nodes: api.NodeView) -> Any:
        """Score nothing."""
        return np.zeros(len(nodes), np.int64)


@pytest.mark.parametrize(
    "ask, plugins, told",
    [
        (World.explain, [Answers("pre_enqueue", None)], f"PreEnqueue: {NO_STATUS} None"),
        (World.explain, [Answers("pre_enqueue", True)], f"PreEnqueue: {NO_STATUS} True"),
        (
            World.explain,
            [Answers("pre_enqueue", NO_CODE)],
            "PreEnqueue: the code of its Status must be api.Code, not 'Maybe'",
        ),
        (
            World.explain,
            [Answers("pre_enqueue", A_TEXT)],
            "PreEnqueue: the reasons of its Status must be a tuple of texts",
        ),
        (
            World.schedule,
            [PreScores("pre_score", (api.SUCCESS, 1))],
            f"PreScore: {NO_STATUS} tuple",
        ),
        (
            World.post_filter,
            [Rejects(), Answers("post_filter", ("n1", api.SUCCESS))],
            "PostFilter: it must answer PostFilterResult, not tuple",
        ),
        (
            World.post_filter,
            [Rejects(), Answers("post_filter", VICTIMS)],
            "PostFilter: its victims must be a tuple of PodInfo, not list",
        ),
        (
            World.post_filter,
            [Rejects(), Answers("post_filter", NODE)],
            "PostFilter: its nominated_node_name must be a name or None, not 5",
        ),
        (
            World.evidence,
            [Rejects(), Answers("evidence", None)],
            "evidence: it must answer a text, not None",
        ),
        (
            World.evidence_on,
            [Answers("evidence_on", ("a", "b"))],
            "evidence: it must answer a text, not tuple",
        ),
        (
            World.sort_key,
            [Answers("sort_key", 5)],
            "QueueSort: it must answer a tuple of numbers and texts, not 5",
        ),
        (
            World.sort_key,
            [Answers("sort_key", (1, None))],
            "QueueSort: its tuple must have numbers and texts, not None",
        ),
    ],
)
def test_an_answer_to_another_question(
    ask: Callable[[World], object], plugins: list[Any], told: str
) -> None:
    """The same for what is asked before and after a cycle."""
    with pytest.raises(errors.PluginFailure) as caught:
        ask(World(*plugins))
    assert str(caught.value) == f"plugin `Odd` failed at {told}"


@pytest.mark.parametrize(
    "method, answer, told",
    [
        ("reserve", None, f"Reserve: {NO_STATUS} None"),
        ("permit", None, f"Permit: {NO_PAIR} None"),
        ("permit", api.SUCCESS, f"Permit: {NO_PAIR} Status of the code Success"),
        ("permit", (api.SUCCESS,), f"Permit: {NO_PAIR} tuple"),
        ("permit", (0, api.SUCCESS), "Permit: its seconds must be a number, not Status of"),
        ("permit", (None, 0), f"Permit: {NO_STATUS} None"),
        (
            "permit",
            (api.Status(api.Code.WAIT), math.nan),
            "Permit: its seconds must be a number, not nan",
        ),
        ("pre_bind", api.SUCCESS, "PreBind: its method must be an `async def`"),
        ("pre_bind", Later(None), f"PreBind: {NO_STATUS} None"),
        ("bind", Later("n1"), f"Bind: {NO_STATUS} 'n1'"),
    ],
)
def test_an_answer_about_a_chosen_node(method: str, answer: Any, told: str) -> None:
    """The same from Reserve to Bind."""
    world = World(Answers(method, answer))
    with pytest.raises(errors.PluginFailure) as caught:
        world.bind_at(method)
    assert str(caught.value).startswith(f"plugin `Odd` failed at {told}")


def test_a_status_that_needs_a_reason_and_has_none() -> None:
    """Its code stands in for the reason, as for a skip at an extension point without skips."""
    passing = np.array([0, 1], np.int16)
    world = World(Answers("filter", api.NodeStatuses(passing, [api.SUCCESS, api.SKIP])))
    result = world.schedule()
    assert result.status.code is status.Code.ERROR
    assert result.message == 'running "Odd" filter plugin: it answered Skip without a reason'


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_scores_of_small_integers_do_not_overflow(dtype: type[np.signedinteger[Any]]) -> None:
    """They are weighted as int64."""
    plugin = Answers("score", np.array([100, 99], dtype))
    world = World(plugin)
    weighted = profile.Profile("test", (plugin,), {"Odd": 1000})
    scores = runtime.Framework(weighted, None).schedule_pod(world.pod, world.snap).scores
    assert scores is not None
    assert scores.totals.tolist() == [10_000_000, 9_900_000]


class ScoresConstant:
    """Answers an array that cannot be written to."""

    name = "Odd"
    reads = api.Reads.USAGE

    def score(self, state: api.CycleState, pod: api.PodInfo, nodes: api.NodeView) -> Any:
        """Return the same score for all nodes."""
        return np.broadcast_to(np.int64(7), len(nodes))


def test_scores_may_be_read_only() -> None:
    """What is kept for equal pods is a copy, which is updated when a pod was placed."""
    cluster = builders.make_cache([builders.make_node(f"n{n}") for n in range(9)])
    framework = runtime.Framework(profile.Profile("test", (ScoresConstant(),), {"Odd": 1}), None)
    for number in range(3):
        pod = cluster.info(builders.make_pod(f"p{number}"))
        scores = framework.schedule_pod(pod, cluster.cache.snapshot()).scores
        assert scores is not None
        assert set(scores.totals.tolist()) == {700}
        placed = builders.make_pod(f"placed{number}").node(f"n{number}")
        cluster.cache.add_pod(cluster.info(placed))


def test_keys_with_texts_and_numbers_can_be_compared() -> None:
    """Pods are ordered whatever a QueueSort plugin of others mixes, and by its keys if it can."""
    keys = [(2, "a"), ("b", 1), (1, "z"), (1,), ()]
    ordered = sorted(World(Answers("sort_key", key)).sort_key() for key in keys)
    assert [key[1:] for key in ordered] == [(), (1,), (1, "z"), (2, "a"), ("b", 1)]
