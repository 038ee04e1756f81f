"""What becomes of errors that plugins answer, and of what several PostFilter plugins say."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
import pytest

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface, profile, runtime, status
from tests import builders

BROKEN = status.Status(status.Code.ERROR, ("no connection",))
UNSCHEDULABLE = status.Status(status.Code.UNSCHEDULABLE, ("not now",))
UNRESOLVABLE = status.Status(status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("never",))


@dataclasses.dataclass
class FailsOn:
    """Meets an error on one node and passes all others."""

    node: str
    answer: status.Status = BROKEN
    name: str = "FailsOn"
    reads: ClassVar[interface.Reads] = interface.Reads.NODE

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Answer by name."""
        fails = np.array([name == self.node for name in nodes.names()], np.bool_)
        return status.NodeStatuses.where(fails, self.answer)


@dataclasses.dataclass
class PreFilterSays:
    """Gives one fixed PreFilter answer."""

    answer: status.Status
    name: str = "PreFilterSays"

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Give it."""
        return interface.PreFilterResult(self.answer)


@dataclasses.dataclass
class PreScoreSays:
    """Gives one fixed PreScore answer."""

    answer: status.Status
    name: str = "PreScoreSays"
    reads: interface.Reads = interface.Reads.NODE

    def pre_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.Status:
        """Give it."""
        return self.answer

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Score nothing."""
        return np.zeros(len(nodes), np.int64)


@dataclasses.dataclass
class PostFilterSays:
    """Gives one fixed PostFilter answer."""

    answer: status.Status
    name: str
    nominated: str = ""

    def post_filter(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        diagnosis: interface.Diagnosis,
    ) -> interface.PostFilterResult:
        """Give it."""
        return interface.PostFilterResult(self.answer, self.nominated)


def _framework(*plugins: interface.Plugin) -> runtime.Framework:
    return runtime.Framework(profile.Profile("test", plugins, {p.name: 1 for p in plugins}), None)


def _schedule(*plugins: interface.Plugin) -> runtime.ScheduleResult:
    cluster = builders.make_cache([builders.make_node(name) for name in ("n1", "n2")])
    pod = cluster.info(builders.make_pod("p"))
    return _framework(*plugins).schedule_pod(pod, cluster.cache.snapshot())


WAIT = status.Status(status.Code.WAIT, ("wait",))
PENDING = status.Status(status.Code.PENDING, ("soon",))


@pytest.mark.parametrize("answer", [BROKEN, WAIT], ids=["error", "wait"])
def test_an_error_on_one_node_ends_the_cycle(answer: status.Status) -> None:
    """An answer of Filter that is no rejection is an error, however many other nodes pass."""
    result = _schedule(FailsOn("n2", answer))
    assert result.node_name is None
    assert result.status.code is status.Code.ERROR
    assert result.message == f'running "FailsOn" filter plugin: {answer.reasons[0]}'
    assert result.diagnosis is None


def test_a_pending_node_is_rejected() -> None:
    """PENDING rejects a node like the other rejections do."""
    assert _schedule(FailsOn("n1", PENDING)).node_name == "n2"


def test_an_error_behind_a_rejection_is_not_met() -> None:
    """A node that an earlier plugin rejects is not asked about further."""
    earlier = FailsOn("n2", UNSCHEDULABLE, name="Earlier")
    assert _schedule(earlier, FailsOn("n2")).node_name == "n1"


def test_explain_tells_of_an_error_in_place_of_scores() -> None:
    """Explain has the error on its node and as the message, and no best node."""
    cluster = builders.make_cache([builders.make_node(name) for name in ("n1", "n2")])
    pod = cluster.info(builders.make_pod("p"))
    found = _framework(FailsOn("n2")).explain_pod(pod, cluster.cache.snapshot())
    text = 'running "FailsOn" filter plugin: no connection'
    assert [v.first.reasons for v in found.verdicts] == [(), (text,)]
    assert (found.message, found.best, found.scores) == (text, [], None)


@pytest.mark.parametrize("answer", [BROKEN, WAIT, PENDING], ids=["error", "wait", "pending"])
def test_an_error_of_pre_filter_ends_the_cycle(answer: status.Status) -> None:
    """What PreFilter answers besides success, skip and the two rejections is an error."""
    result = _schedule(PreFilterSays(answer))
    assert result.status.code is status.Code.ERROR
    assert result.message == f'running PreFilter plugin "PreFilterSays": {answer.reasons[0]}'


def test_an_unresolvable_rejection_replaces_a_plain_one() -> None:
    """The later unresolvable rejection of PreFilter counts, and alone."""
    result = _schedule(PreFilterSays(UNSCHEDULABLE, "Plain"), PreFilterSays(UNRESOLVABLE, "Final"))
    assert result.message == "0/2 nodes are available: never."
    assert result.diagnosis is not None
    assert result.diagnosis.unschedulable_plugins == {"Final"}


def test_diagnosis_names_plugins_that_pre_filter_did_not_reach() -> None:
    """Those after an unresolvable rejection were not asked; those after a plain one were."""
    plain = _schedule(PreFilterSays(UNSCHEDULABLE), PreFilterSays(status.SUCCESS, "Later"))
    final = _schedule(PreFilterSays(UNRESOLVABLE), PreFilterSays(status.SUCCESS, "Later"))
    assert plain.diagnosis is not None
    assert final.diagnosis is not None
    assert (set(plain.diagnosis.unasked), set(final.diagnosis.unasked)) == (set(), {"Later"})


@pytest.mark.parametrize("reads", [interface.Reads.NODE, interface.Reads.ANYTHING])
def test_an_error_of_pre_score_ends_the_cycle(reads: interface.Reads) -> None:
    """PreScore can prepare or skip; anything else is an error, each time it is asked."""
    cluster = builders.make_cache([builders.make_node(name) for name in ("n1", "n2")])
    pod, snap = cluster.info(builders.make_pod("p")), cluster.cache.snapshot()
    framework = _framework(PreScoreSays(BROKEN, reads=reads))
    text = 'running PreScore plugin "PreScoreSays": no connection'
    for _ in range(2):
        result = framework.schedule_pod(pod, snap)
        assert (result.node_name, result.status.code) == (None, status.Code.ERROR)
        assert result.message == text
        found = framework.explain_pod(pod, snap)
        assert (found.message, found.best, found.scores) == (text, [], None)
        assert [v.first.is_success for v in found.verdicts] == [True, True]


SUCCESS = status.SUCCESS


@pytest.mark.parametrize(
    "answers, code, reasons, plugin",
    [
        ([UNSCHEDULABLE, UNSCHEDULABLE], UNSCHEDULABLE.code, ("not now", "not now"), "P0"),
        ([UNSCHEDULABLE, SUCCESS], SUCCESS.code, (), "P1"),
        ([UNSCHEDULABLE, UNRESOLVABLE, SUCCESS], UNRESOLVABLE.code, ("never",), "P1"),
        ([UNSCHEDULABLE, BROKEN, SUCCESS], BROKEN.code, ("no connection",), "P1"),
        ([WAIT, SUCCESS], BROKEN.code, ("wait",), "P0"),
        ([PENDING, UNSCHEDULABLE], UNSCHEDULABLE.code, ("soon", "not now"), "P0"),
    ],
    ids=["joined", "success", "unresolvable", "error", "no answer", "pending"],
)
def test_what_several_post_filters_say(
    answers: list[status.Status], code: status.Code, reasons: tuple[str, ...], plugin: str
) -> None:
    """Success, error and an unresolvable rejection end it; plain rejections are joined."""
    plugins = [PostFilterSays(answer, f"P{i}") for i, answer in enumerate(answers)]
    cluster = builders.make_cache([builders.make_node("n1")])
    pod = cluster.info(builders.make_pod("p"))
    snap = cluster.cache.snapshot()
    framework = _framework(FailsOn("n1", UNSCHEDULABLE), *plugins)
    result = framework.schedule_pod(pod, snap)
    assert result.diagnosis is not None
    made_room = framework.run_post_filter(result.state, pod, snap, result.diagnosis)
    assert made_room is not None
    found = made_room.status
    assert (found.code, found.reasons, found.plugin) == (code, reasons, plugin)
