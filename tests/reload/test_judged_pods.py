"""Which pods and victims are counted in a stage."""

from __future__ import annotations

from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.reload import rollout_scenes
from tests.reload import test_reloader as reloads


@asynchronous
async def test_pods_that_waited_before_the_stage_trip_no_guard() -> None:
    """They fit nowhere under either version."""
    async with rollout_scenes.leading() as scene:
        pods = [builders.make_pod(f"big-{number}") for number in range(3)]
        scene.add_pods(*(pod.requests(cpu="99").tried(-60) for pod in pods))
        await scene.world.settle()
        await scene.stage(reloads.offer(reloads.WEST))
        await scene.world.settle()
        await scene.tick()
        assert scene.rollout.is_running
        await scene.place_pods()
        await scene.tick()
        assert scene.rollout.stage == 1
        scene.world.clock.advance(60)
        await scene.world.settle()
        await scene.tick()
        assert scene.rollout.is_running
        assert scene.rollouts.evaluator.measured.new.judged == 0


@asynchronous
async def test_pods_that_no_version_has_tried_are_judged() -> None:
    """They were created shortly before the stage."""
    async with rollout_scenes.in_share_stage() as scene:
        scene.world.nodes.delete(builders.make_node("west").build())
        pods = [builders.make_pod(f"early-{number}") for number in range(4)]
        scene.add_pods(*(pod.created(-60) for pod in pods))
        await scene.world.settle()
        await scene.tick()
        assert scene.state.is_rolled_back


@asynchronous
async def test_preemptors_are_not_judged_in_a_shadow_stage() -> None:
    """They wait for their victims under both versions."""
    async with rollout_scenes.leading() as scene:
        await scene.stage(reloads.offer(reloads.EAST.replace("policy east", "policy again")))
        low = [builders.make_pod(f"low-{number}") for number in range(9)]
        scene.add_pods(*(pod.priority(0).node("east").requests(cpu="1") for pod in low))
        high = [builders.make_pod(f"high-{number}") for number in range(3)]
        scene.add_pods(*(pod.priority(10).requests(cpu="1") for pod in high))
        await scene.world.settle()
        await scene.tick()
        assert scene.rollout.is_running


@asynchronous
async def test_victims_are_counted_once() -> None:
    """A decision names the victims of earlier preemptors on its node, too."""
    async with rollout_scenes.in_share_stage() as scene:
        measured = scene.rollouts.evaluator.measured
        found = scene.world.scheduler.decisions.find_latest_decision("default/pod-0")
        assert found is not None
        began_seconds = scene.world.clock.monotonic_seconds()
        for victims in (("default/a",), ("default/a", "default/b")):
            found.policy_hash, found.started_seconds = scene.rollout.new_hash, began_seconds
            found.victims, found.nominated_node_name = victims, "west"
            measured._count_decision(found)
        assert measured.new.evictions == 2
