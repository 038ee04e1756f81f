"""Extenders are asked again about other nodes, but other pods do not wait long for that."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from policysched import clock as clocks
from policysched.extenders import asking
from tests import builders
from tests.extenders import scripted_calls
from tests.scheduler import fakes


class _SlowWorld(fakes.World):
    """A scheduler with one extender, whose calls last some time on a clock that only they move.

    Attributes:
        script: the extender.
    """

    def __init__(
        self, answers: dict[str, scripted_calls.Answer], seconds: float = 0.0, **fields: Any
    ) -> None:
        """Answer after `seconds`."""
        clock = clocks.ManualClock(builders.EPOCH)
        self.script = scripted_calls.ScriptedCalls(answers, clock=clock, seconds=seconds)
        extender = (scripted_calls.make_settings(**fields), self.script)
        super().__init__(extenders=scripted_calls.make_chain(extender, clock=clock))
        self._calls_clock = clock
        self._names = itertools.count()

    @property
    def spent_seconds(self) -> float:
        """How long all calls took together."""
        return self._calls_clock.monotonic_seconds()

    def add_nodes(self, count: int) -> None:
        """Let the watch show further nodes, with room for one pod each."""
        for _ in range(count):
            self.add_node(f"n{next(self._names)}")

    def list_asked_nodes(self) -> list[list[str]]:
        """Return the nodes of each filter call."""
        return [body["NodeNames"] for body in self.script.list_bodies("filter")]


def _keep_candidates(request: dict[str, Any]) -> dict[str, Any]:
    return {"NodeNameToMetaVictims": request["NodeNameToMetaVictims"]}


def _accept_all(request: dict[str, Any]) -> dict[str, Any]:
    return {"NodeNames": request["NodeNames"]}


class TestNodesThatCome:
    """Nodes that fit only since the extenders were asked."""

    def test_only_the_new_node_is_asked_about_and_preemption_goes_on(self) -> None:
        """A node that comes during each call does not keep the pod from preemption."""

        async def scenario() -> None:
            def preempt(request: dict[str, Any]) -> dict[str, Any]:
                world.add_nodes(1)
                return _keep_candidates(request)

            answers = {"filter": {"NodeNames": []}, "preempt": preempt}
            world = _SlowWorld(answers, filter_verb="filter", preempt_verb="preempt")
            world.add_nodes(3)
            world.add_pod(builders.make_pod("victim").node("n2"))
            world.preempts.script["a"] = [("n2", ("victim",))]
            world.add_pod("a")
            await world.settle()
            assert world.list_asked_nodes() == [["n0", "n1"], ["n3"], ["n4"]]
            assert world.preempts.asked == ["a"]
            assert world.evictor.begun == ["victim"]

        fakes.play(scenario())

    def test_accepted_nodes_that_are_always_full_are_an_error(self) -> None:
        """No pod is evicted, because other nodes may be possible."""

        async def scenario() -> None:
            def accept(request: dict[str, Any]) -> dict[str, Any]:
                for name in request["NodeNames"]:
                    world.add_pod(builders.make_pod(f"on-{name}").node(name))
                world.add_nodes(1)
                return _accept_all(request)

            world = _SlowWorld({"filter": accept}, filter_verb="filter")
            world.preempts.script["a"] = [("n0", ("on-n0",))]
            world.add_nodes(1)
            world.add_pod("a")
            await world.settle()
            assert world.list_asked_nodes() == [["n0"], ["n1"], ["n2"]]
            assert world.recorder.conditions[0][1].message == asking.OUTDATED
            assert world.preempts.asked == []

        fakes.play(scenario())


class TestPrioritizeAlone:
    """Extenders that give points but do not filter."""

    def test_only_nodes_with_points_compete(self) -> None:
        """A node that was not asked about would win against negative points."""

        async def scenario() -> None:
            def score(request: dict[str, Any]) -> list[dict[str, Any]]:
                return [{"Host": name, "Score": -1} for name in request["NodeNames"]]

            world = _SlowWorld({"score": score}, prioritize_verb="score", weight=1)
            world.add_nodes(400)
            world.add_pod("a")
            await world.settle()
            ((_, node),) = world.bind.bound
            ((_, request),) = world.script.requests
            assert node in request["NodeNames"]

        fakes.play(scenario())

    def test_preemption_is_asked_about_if_the_nodes_are_full_meanwhile(self) -> None:
        """The pod does not stay unschedulable without a question."""

        async def scenario() -> None:
            def score(_: object) -> list[Any]:
                for name in ("n0", "n1"):
                    world.add_pod(builders.make_pod(f"on-{name}").node(name))
                return []

            answers = {"score": score, "preempt": _keep_candidates}
            verbs: dict[str, Any] = {"prioritize_verb": "score", "preempt_verb": "preempt"}
            world = _SlowWorld(answers, weight=1, **verbs)
            world.preempts.script["a"] = [("n0", ("on-n0",))]
            world.add_nodes(2)
            world.add_pod("a")
            await world.settle()
            assert [verb for verb, _ in world.script.requests] == ["score", "preempt"]
            assert world.evictor.begun == ["on-n0"]

        fakes.play(scenario())


class TestTime:
    """An attempt takes no longer than one call of each kind, or one time limit and the last one."""

    @pytest.mark.parametrize(
        "seconds, requests, spent_seconds",
        [(0.5, 5, 2.5), (2.0, 3, 5.0), (4.9, 2, 9.8), (60.0, 2, 10.0)],
    )
    def test_later_requests_end_with_the_time_limit(
        self, seconds: float, requests: int, spent_seconds: float
    ) -> None:
        """Calls about the nominated node and about the best nodes may use all of their time."""

        async def scenario() -> None:
            world = _SlowWorld({"filter": {"NodeNames": []}}, seconds, filter_verb="filter")
            world.add_nodes(3000)
            world.add_pod(builders.make_pod("a").nominated("n0"))
            await world.settle()
            assert len(world.script.requests) == requests
            assert world.spent_seconds == pytest.approx(spent_seconds)

        fakes.play(scenario())

    @pytest.mark.parametrize("seconds", [0.1, 0.8, 1.3, 2.4, 2.6, 4.0, 4.9, 60.0])
    def test_nothing_is_repeated_after_the_time_limit(self, seconds: float) -> None:
        """The nodes are full whenever the last extender answers, and others come."""

        async def scenario() -> None:
            def score(request: dict[str, Any]) -> list[Any]:
                for name in request["NodeNames"]:
                    world.add_pod(builders.make_pod(f"on-{name}").node(name))
                world.add_nodes(2)
                return []

            verbs = {"filter_verb": "filter", "prioritize_verb": "score", "weight": 1}
            world = _SlowWorld({"filter": _accept_all, "score": score}, seconds, **verbs)
            world.add_nodes(2)
            world.add_pod(builders.make_pod("a").nominated("n0"))
            world.script.answers["filter"] = lambda request: (
                {"NodeNames": []} if request["NodeNames"] == ["n0"] else _accept_all(request)
            )
            await world.settle()
            limit_seconds = scripted_calls.LIMIT_SECONDS
            longest_seconds = min(seconds, limit_seconds)
            most_seconds = max(3 * longest_seconds, limit_seconds + longest_seconds)
            assert world.spent_seconds <= most_seconds
            assert world.bind.bound == []

        fakes.play(scenario())

    def test_an_extender_that_is_cut_off_did_not_fail(self) -> None:
        """Its nodes count as rejected; the attempt does not end in an error."""

        async def scenario() -> None:
            answers: dict[str, scripted_calls.Answer] = {"filter": {"NodeNames": []}}
            world = _SlowWorld(answers, 3.0, filter_verb="filter")
            world.add_nodes(300)
            world.add_pod("a")
            await world.settle()
            assert len(world.script.requests) == 2
            assert world.spent_seconds == scripted_calls.LIMIT_SECONDS
            assert world.where("a") == "unschedulable"

        fakes.play(scenario())


class TestVictimsThatGo:
    """Victims leave while extenders are asked about preemption."""

    def test_a_candidate_without_victims_is_dropped(self) -> None:
        """Another pod took the room; the other candidate is possible."""

        async def scenario() -> None:
            def preempt(request: dict[str, Any]) -> dict[str, Any]:
                world.delete("v0")
                world.add_pod(builders.make_pod("new").node("n0"))
                return _keep_candidates(request)

            world = _SlowWorld({"preempt": preempt}, preempt_verb="preempt")
            world.add_nodes(2)
            for number in range(2):
                world.add_pod(builders.make_pod(f"v{number}").node(f"n{number}"))
            world.preempts.script["a"] = [("n0", ("v0",)), ("n1", ("v1",))]
            world.add_pod("a")
            await world.settle()
            assert _list_asked_extenders(world) == [("http://extender", "")]

        fakes.play(scenario())


class TestRecords:
    """What a decision says about the extenders that were asked."""

    def test_a_repeated_call_replaces_the_problem_of_the_former_one(self) -> None:
        """Only the answer about the nominated node was not used."""

        async def scenario() -> None:
            answers = iter([scripted_calls.FAILURE, {"NodeNames": ["n0", "n1"]}])
            script: dict[str, scripted_calls.Answer] = {"filter": lambda _: next(answers)}
            world = _SlowWorld(script, filter_verb="filter")
            world.add_nodes(2)
            world.add_pod(builders.make_pod("a").nominated("n0"))
            await world.settle()
            assert world.bind.bound == [("a", "n0")]
            assert _list_asked_extenders(world) == [("http://extender", "")]

        fakes.play(scenario())

    def test_extenders_with_the_same_url_have_records_of_their_own(self) -> None:
        """They differ in their settings."""

        async def scenario() -> None:
            good = scripted_calls.ScriptedCalls({"filter": _accept_all})
            down = scripted_calls.ScriptedCalls({"filter": scripted_calls.FAILURE})
            make = scripted_calls.make_settings
            made = scripted_calls.make_chain(
                (make(filter_verb="filter"), good),
                (make(filter_verb="filter", ignorable=True), down),
            )
            world = fakes.World(extenders=made)
            world.add_node("n0")
            world.add_pod("a")
            await world.settle()
            assert _list_asked_extenders(world) == [
                ("http://extender", ""),
                ("http://extender", "the extender is down"),
            ]

        fakes.play(scenario())


def _list_asked_extenders(world: fakes.World) -> list[tuple[str, str]]:
    decision = world.scheduler.decisions.find_latest_decision("default/a")
    assert decision is not None
    return [(asked.url, asked.problem) for asked in decision.extenders]
