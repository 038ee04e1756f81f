"""The loop with HTTP extenders; tests/extenders compares the decisions with kube-scheduler's."""

from __future__ import annotations

import asyncio
from typing import Any

from policysched import errors
from policysched.extenders import settings
from tests import builders
from tests.extenders import scripted_calls
from tests.scheduler import fakes


def _make_world(script: scripted_calls.ScriptedCalls, *nodes: str, **fields: Any) -> fakes.World:
    """Return a scheduler with one extender, and nodes with room for one pod each."""
    made = scripted_calls.make_chain((scripted_calls.make_settings(**fields), script))
    world = fakes.World(extenders=made)
    for name in nodes:
        world.add_node(name)
    return world


async def _begin_to_ask(
    answers: dict[str, scripted_calls.Answer], *nodes: str, **fields: Any
) -> tuple[fakes.World, scripted_calls.ScriptedCalls]:
    """Return the world while its extender, which answers later, is asked about the pod "a"."""
    script = scripted_calls.ScriptedCalls(answers, hold=asyncio.Event())
    world = _make_world(script, *nodes, **fields)
    world.add_pod("a")
    await world.settle()
    return world, script


async def _let_answer(world: fakes.World, script: scripted_calls.ScriptedCalls) -> None:
    script.release()
    await world.settle()


def _accept(*names: str) -> dict[str, Any]:
    return {"NodeNames": list(names)}


class TestChoice:
    """The node of a pod about which an extender is asked."""

    def test_takes_a_node_that_the_extender_accepts(self) -> None:
        """The extender sees the nodes that pass Filter, and its answer counts."""

        async def scenario() -> None:
            script = scripted_calls.ScriptedCalls({"filter": _accept("n2")})
            world = _make_world(script, "n1", "n2", filter_verb="filter")
            world.add_pod(builders.make_pod("there").node("n1"))
            world.add_node("n3")
            world.add_pod("a")
            await world.settle()
            assert world.bind.bound == [("a", "n2")]
            (body,) = script.list_bodies("filter")
            assert body == {
                "Pod": {"metadata": {"name": "uid-default-a"}},
                "Nodes": None,
                "NodeNames": ["n2", "n3"],
            }

        fakes.play(scenario())

    def test_compares_points(self) -> None:
        """A score counts ten times its weight; an extender that fails gives no points."""

        async def scenario() -> None:
            good = scripted_calls.ScriptedCalls(
                {"score": [{"Host": "n2", "Score": 3}, {"Host": "elsewhere", "Score": 10}]}
            )
            down = scripted_calls.ScriptedCalls({"score": scripted_calls.FAILURE})
            scoring = scripted_calls.make_settings(prioritize_verb="score", weight=2)
            world = fakes.World(
                extenders=scripted_calls.make_chain((scoring, good), (scoring, down))
            )
            for name in ("n1", "n2", "n3"):
                world.add_node(name)
            world.add_pod("a")
            await world.settle()
            assert world.bind.bound == [("a", "n2")]
            decision = world.scheduler.decisions.find_latest_decision("default/a")
            standing = None if decision is None else decision.standing
            assert standing is not None
            assert (standing.nodes[0], standing.totals[0]) == ("n2", 60_00)
            assert standing.score_names == ("Extender",)

        fakes.play(scenario())

    def test_asks_no_extender_about_other_pods(self) -> None:
        """A pod that requests no managed resource takes the path without extenders."""

        async def scenario() -> None:
            script = scripted_calls.ScriptedCalls({"filter": _accept()})
            managed = (settings.ManagedResource("example.com/x"),)
            world = _make_world(script, "n1", filter_verb="filter", managed_resources=managed)
            world.add_pod("a")
            assert world.scheduler.schedule_one()
            assert world.where("a") == "assumed"
            assert script.requests == []

        fakes.play(scenario())


class TestRejections:
    """Pods that extenders keep from all nodes."""

    def test_waits_for_any_event(self) -> None:
        """The texts of the extender are the reasons, and any event retries the pod."""

        async def scenario() -> None:
            answer = {
                "NodeNames": [],
                "FailedNodes": {"n1": "too hot", "n2": "too hot"},
                "FailedAndUnresolvableNodes": {"n2": "on fire"},
            }
            script = scripted_calls.ScriptedCalls({"filter": answer})
            world = _make_world(script, "n1", "n2", "n3", filter_verb="filter")
            world.add_pod("a")
            await world.settle()
            assert world.where("a") == "unschedulable"
            assert world.recorder.notes[0].startswith(
                "0/3 nodes are available: 1 on fire, 1 too hot."
            )
            world.add_node("n4")
            assert world.where("a") == "backoff"

        fakes.play(scenario())

    def test_plugins_replace_what_was_said_while_only_the_nominated_node_was_asked(self) -> None:
        """All nodes are evaluated after that; texts about nodes that pass Filter stay."""

        async def scenario() -> None:
            texts = iter([{"n1": "too hot", "n2": "too hot"}, {}])
            script = scripted_calls.ScriptedCalls(
                {"filter": lambda _: {"NodeNames": [], "FailedNodes": next(texts)}}
            )
            world = _make_world(script, "n1", "n2", filter_verb="filter")
            world.add_pod(builders.make_pod("there").node("n2"))
            world.add_pod(builders.make_pod("a").nominated("n1"))
            await world.settle()
            assert [body["NodeNames"] for body in script.list_bodies("filter")] == [["n1"]] * 2
            assert world.recorder.notes[0].startswith(
                "0/2 nodes are available: 1 Too many pods, 1 too hot."
            )

        fakes.play(scenario())

    def test_an_error_ends_the_attempt(self) -> None:
        """The pod gets the text, is not preempted for, and is retried after backoff."""

        async def scenario() -> None:
            script = scripted_calls.ScriptedCalls({"filter": scripted_calls.FAILURE})
            world = _make_world(script, "n1", filter_verb="filter")
            world.add_pod("a")
            await world.settle()
            assert world.where("a") == "backoff"
            assert world.preempts.asked == []
            (condition,) = (each[1] for each in world.recorder.conditions)
            assert (condition.reason, condition.message) == (
                "SchedulerError",
                "the extender is down",
            )

        fakes.play(scenario())

    def test_an_ignorable_extender_may_fail(self) -> None:
        """It is asked after the others, and left out."""

        async def scenario() -> None:
            down = scripted_calls.ScriptedCalls({"filter": scripted_calls.FAILURE})
            good = scripted_calls.ScriptedCalls({"filter": _accept("n2")})
            make = scripted_calls.make_settings
            made = scripted_calls.make_chain(
                (make(filter_verb="filter", ignorable=True), down),
                (make(filter_verb="filter"), good),
            )
            world = fakes.World(extenders=made)
            world.add_node("n1")
            world.add_node("n2")
            world.add_pod("a")
            await world.settle()
            assert world.bind.bound == [("a", "n2")]
            assert down.list_bodies("filter")[0]["NodeNames"] == ["n2"]

        fakes.play(scenario())


class TestWaiting:
    """The cluster changes while an extender is asked."""

    def test_no_other_pod_is_scheduled_meanwhile(self) -> None:
        """The next pod follows when the answer has come; one request is in flight at a time."""

        async def scenario() -> None:
            script = scripted_calls.ScriptedCalls(
                {"filter": lambda request: {"NodeNames": request["NodeNames"]}}
            )
            script.hold = asyncio.Event()
            world = _make_world(script, "n1", "n2", filter_verb="filter")
            world.add_pod("a")
            world.add_pod("b")
            await world.settle()
            assert len(script.requests) == 1
            assert world.bind.bound == []
            await _let_answer(world, script)
            await world.settle()
            assert world.bind.bound == [("a", "n1"), ("b", "n2")]

        fakes.play(scenario())

    def test_a_node_that_no_longer_fits_is_not_taken(self) -> None:
        """The accepted nodes are filtered again; the next best one is taken."""

        async def scenario() -> None:
            world, script = await _begin_to_ask(
                {"filter": _accept("n1", "n2")}, "n1", "n2", filter_verb="filter"
            )
            world.add_pod(builders.make_pod("foreign").node("n1"))
            await _let_answer(world, script)
            assert world.bind.bound == [("a", "n2")]

        fakes.play(scenario())

    def test_an_event_meanwhile_retries_a_rejected_pod(self) -> None:
        """Whatever changed after the request can have changed the answer."""

        async def scenario() -> None:
            world, script = await _begin_to_ask({"filter": _accept()}, "n1", filter_verb="filter")
            world.add_node("n2")
            await _let_answer(world, script)
            assert world.where("a") == "backoff"

        fakes.play(scenario())

    def test_a_pod_that_is_deleted_meanwhile_is_dropped(self) -> None:
        """It is neither bound nor requeued."""

        async def scenario() -> None:
            world, script = await _begin_to_ask(
                {"filter": _accept("n1")}, "n1", filter_verb="filter"
            )
            world.delete("a")
            await _let_answer(world, script)
            assert world.bind.bound == []
            assert world.where("a") == "gone"
            assert world.queue.in_flight_count == 0

        fakes.play(scenario())

    def test_asks_again_if_no_accepted_node_fits_any_more(self) -> None:
        """Nodes that were not asked about are not rejected, so nothing is evicted for the pod."""

        async def scenario() -> None:
            world, script = await _begin_to_ask(
                {"filter": lambda request: {"NodeNames": request["NodeNames"][:1]}},
                "n1",
                filter_verb="filter",
                preempt_verb="preempt",
            )
            world.add_pod(builders.make_pod("foreign").node("n1"))
            world.add_node("n2")
            await _let_answer(world, script)
            assert world.bind.bound == [("a", "n2")]
            asked = [body["NodeNames"] for body in script.list_bodies("filter")]
            assert asked == [["n1"], ["n2"]]
            assert world.preempts.asked == []

        fakes.play(scenario())

    def test_asks_about_a_node_that_fits_only_since_preemption_was_asked_about(self) -> None:
        """No node could be asked about before; the new one is not taken unasked."""

        async def scenario() -> None:
            script = scripted_calls.ScriptedCalls(
                {"filter": _accept(), "preempt": {"NodeNameToMetaVictims": {}}}
            )
            script.hold = asyncio.Event()
            world = _make_world(script, "n1", filter_verb="filter", preempt_verb="preempt")
            world.add_pod(builders.make_pod("there").node("n1"))
            world.preempts.script["a"] = [("n1", ("there",))]
            world.add_pod("a")
            await world.settle()
            assert [verb for verb, _ in script.requests] == ["preempt"]
            world.add_node("n2")
            await _let_answer(world, script)
            assert [body["NodeNames"] for body in script.list_bodies("filter")] == [["n2"]]
            assert world.bind.bound == []

        fakes.play(scenario())

    def test_an_error_counts_although_no_node_fits_any_more(self) -> None:
        """The attempt ends with it; no pod is evicted."""

        async def scenario() -> None:
            script = scripted_calls.ScriptedCalls({"filter": scripted_calls.FAILURE})
            script.hold = asyncio.Event()
            world = _make_world(script, "n1", filter_verb="filter")
            world.preempts.script["a"] = [("n1", ("foreign",))]
            world.add_pod("a")
            await world.settle()
            world.add_pod(builders.make_pod("foreign").node("n1"))
            await _let_answer(world, script)
            assert world.where("a") == "backoff"
            assert world.preempts.asked == []

        fakes.play(scenario())

    def test_a_node_that_is_deleted_meanwhile_is_not_sent_on(self) -> None:
        """The next extender is asked about the others."""

        async def scenario() -> None:
            first = scripted_calls.ScriptedCalls({"filter": _accept("n1", "n2")})
            first.hold = asyncio.Event()
            second = scripted_calls.ScriptedCalls({"filter": _accept("n2")})
            filtering = scripted_calls.make_settings(filter_verb="filter")
            made = scripted_calls.make_chain((filtering, first), (filtering, second))
            world = fakes.World(extenders=made)
            world.add_node("n1")
            world.add_node("n2")
            world.add_pod("a")
            await world.settle()
            world.nodes.delete(builders.make_node("n1").build())
            await _let_answer(world, first)
            assert [body["NodeNames"] for body in second.list_bodies("filter")] == [["n2"]]
            assert world.bind.bound == [("a", "n2")]

        fakes.play(scenario())

    def test_the_attempt_lasts_as_long_as_the_calls(self) -> None:
        """Durations include the time in which extenders were asked."""

        async def scenario() -> None:
            world, script = await _begin_to_ask(
                {"filter": _accept("n1")}, "n1", filter_verb="filter"
            )
            world.clock.advance(4.0)
            await _let_answer(world, script)
            decision = world.scheduler.decisions.find_latest_decision("default/a")
            assert decision is not None
            assert decision.duration_seconds == 4.0

        fakes.play(scenario())

    def test_nothing_is_bound_after_a_stop(self) -> None:
        """An answer that comes while the scheduler stops requeues the pod for the next leader."""

        async def scenario() -> None:
            world, script = await _begin_to_ask(
                {"filter": _accept("n1")}, "n1", filter_verb="filter"
            )
            stopping = asyncio.create_task(world.scheduler.stop())
            await asyncio.sleep(0)
            script.release()
            assert await stopping
            assert world.bind.bound == []
            assert world.where("a") == "backoff"

        fakes.play(scenario())

    def test_stopping_requeues_the_pod(self) -> None:
        """A call that does not end is cancelled, and the pod waits for the next leader."""

        async def scenario() -> None:
            world, _ = await _begin_to_ask({"filter": _accept("n1")}, "n1", filter_verb="filter")
            assert not await world.scheduler.stop(grace_seconds=0.0)
            assert world.where("a") == "backoff"
            assert world.recorder.conditions == []

        fakes.play(scenario())


class TestReload:
    """Policies change while an extender is asked."""

    def test_new_policies_do_not_decide_with_answers_to_questions_of_former_ones(self) -> None:
        """The pod is asked about again as it is now; the first call was no attempt."""

        async def scenario() -> None:
            world, script = await _begin_to_ask(
                {"filter": _accept("n1")}, "n1", filter_verb="filter"
            )
            world.add_pod(builders.make_pod("a").labels(app="new"))
            reloaded = world.framework(world.plugins, has_extenders=True)
            world.scheduler.set_profiles({"default-scheduler": reloaded})
            await _let_answer(world, script)
            assert world.where("a") == "active"
            assert (world.bind.bound, world.recorder.conditions) == ([], [])
            await world.settle()
            assert len(script.requests) == 2
            assert world.bind.bound == [("a", "n1")]
            decision = world.scheduler.decisions.find_latest_decision("default/a")
            assert decision is not None
            assert decision.attempt == 1

        fakes.play(scenario())

    def test_a_pause_holds_the_decision_back(self) -> None:
        """The answers came while policies waited for samples, so they are not used."""

        async def scenario() -> None:
            world, script = await _begin_to_ask(
                {"filter": _accept("n1")}, "n1", filter_verb="filter"
            )
            world.scheduler.pause()
            await _let_answer(world, script)
            assert world.bind.bound == []
            assert world.where("a") == "active"
            world.scheduler.resume()
            await world.settle()
            assert world.bind.bound == [("a", "n1")]
            assert len(script.requests) == 2

        fakes.play(scenario())


class TestBinding:
    """Extenders that bind pods."""

    def test_binds_instead_of_the_plugins(self) -> None:
        """The request names pod and node; the Bind plugins are not asked."""

        async def scenario() -> None:
            script = scripted_calls.ScriptedCalls({"bind": {"Error": ""}})
            world = _make_world(script, "n1", bind_verb="bind")
            world.add_pod("a")
            await world.settle()
            assert script.list_bodies("bind") == [
                {
                    "PodName": "a",
                    "PodNamespace": "default",
                    "PodUID": "uid-default-a",
                    "Node": "n1",
                }
            ]
            assert world.bind.bound == []
            assert "Successfully assigned default/a to n1" in world.recorder.notes[0]

        fakes.play(scenario())

    def test_an_error_undoes_the_assumption(self) -> None:
        """The pod is retried after backoff, with the text of the extender."""

        async def scenario() -> None:
            script = scripted_calls.ScriptedCalls({"bind": {"Error": "no"}})
            world = _make_world(script, "n1", bind_verb="bind")
            world.add_pod("a")
            await world.settle()
            assert world.where("a") == "backoff"
            assert world.recorder.notes == ["no"]

        fakes.play(scenario())

    def test_plugins_bind_where_an_ignorable_extender_fails(self) -> None:
        """Its error is no failure of the binding."""

        async def scenario() -> None:
            script = scripted_calls.ScriptedCalls({"bind": scripted_calls.FAILURE})
            world = _make_world(script, "n1", bind_verb="bind", ignorable=True)
            world.add_pod("a")
            await world.settle()
            assert world.bind.bound == [("a", "n1")]

        fakes.play(scenario())

    def test_only_the_leader_asks_for_bindings(self) -> None:
        """Without the lease, no request is sent."""

        async def scenario() -> None:
            def refuse() -> None:
                raise errors.RemoteError("writes need the leader's lease")

            script = scripted_calls.ScriptedCalls({"bind": {}})
            made = scripted_calls.make_chain(
                (scripted_calls.make_settings(bind_verb="bind"), script),
                require_leadership=refuse,
            )
            world = fakes.World(extenders=made)
            world.add_node("n1")
            world.add_pod("a")
            await world.settle()
            assert script.requests == []
            assert world.where("a") == "backoff"

        fakes.play(scenario())
