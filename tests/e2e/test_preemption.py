"""Preemption on a real API server: alone, and beside the real kube-scheduler."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.scenes import preemption_scene, scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import kube_scheduler

pytestmark = pytest.mark.e2e

NO_ROOM = "0/1 nodes are available: 1 Insufficient cpu."
NO_HELP = "no new claims to deallocate, preemption:"
TERMINATING = "not eligible due to a terminating pod on the nominated node."


@contextlib.contextmanager
def playing(
    plane: control_planes.ControlPlane, folder: pathlib.Path, namespace: str, *, real: bool = False
) -> Iterator[preemption_scene.Scene]:
    """Let policysched, or the real kube-scheduler, schedule the pods of a namespace."""
    folder.mkdir()
    if real:
        with kube_scheduler.KubeScheduler(plane, folder) as kube:
            yield preemption_scene.Scene(plane.client, namespace, kube.process)
        return
    flags = ("--scheduler-name", preemption_scene.SCHEDULER_NAME)
    with scheduler_process.PolicyScheduler(plane, folder, flags=flags) as ours:
        yield preemption_scene.Scene(plane.client, namespace, ours.process)


@pytest.fixture
def scene(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> Iterator[preemption_scene.Scene]:
    """A cluster in which policysched is at work under kube-scheduler's name."""
    with playing(control_plane, tmp_path / "ours", namespace) as started:
        yield started


Story = Callable[[preemption_scene.Scene], list[Any]]


def graceful_story(scene: preemption_scene.Scene) -> list[Any]:
    """Two of four pods have to go, one after the other; then there is room."""
    scene.nodes("n1")
    scene.running("low", "low", "1", "n1")
    scene.running("lower-middle", "lower-middle", "1", "n1")
    scene.running("middle", "middle", "2", "n1")
    scene.pending("high", "high", "2")
    scene.wait_terminating("low", "lower-middle")
    scene.wait_nominated("high", "n1")
    chosen = scene.transcript()
    scene.finish("low")
    scene.wait_told("high", TERMINATING)
    half = scene.transcript()
    scene.finish("lower-middle")
    scene.wait_bound("high")
    return [chosen, half, scene.transcript()]


def budget_story(scene: preemption_scene.Scene) -> list[Any]:
    """Two nodes are alike but for a budget that one of the victims would violate."""
    scene.budget("guarded", 0)
    scene.budget("spare", 1)
    scene.nodes("n1", "n2")
    scene.running("guarded", "low", "4", "n1")
    scene.running("spare", "lower-middle", "4", "n2")
    scene.pending("high", "high", "3")
    scene.wait_terminating("spare")
    scene.wait_nominated("high", "n2")
    chosen = scene.transcript()
    scene.finish("spare")
    scene.wait_bound("high")
    return [chosen, scene.transcript()]


def nomination_story(scene: preemption_scene.Scene) -> list[Any]:
    """A pod waits for a node that somebody more important takes."""
    scene.nodes("n1")
    scene.running("low", "low", "2", "n1")
    scene.running("lower-middle", "lower-middle", "2", "n1")
    scene.pending("middle", "middle", "2")
    scene.wait_terminating("low")
    scene.wait_nominated("middle", "n1")
    scene.pending("high", "high", "4")
    scene.wait_terminating("lower-middle")
    scene.wait_nominated("high", "n1")
    scene.wait_nominated("middle", "")
    chosen = scene.transcript()["preempted"]
    scene.finish("low", "lower-middle")
    scene.wait_bound("high")
    scene.wait_told("middle", "No preemption victims found")
    return [chosen, scene.transcript()]


def patient_story(scene: preemption_scene.Scene) -> list[Any]:
    """A pod whose class forbids it preempts nobody, however important it is."""
    scene.nodes("n1")
    scene.running("low", "low", "4", "n1")
    scene.pending("patient", preemption_scene.NEVER, "1")
    scene.wait_told("patient", "preemptionPolicy=Never")
    return [scene.transcript()]


def expectation_story(scene: preemption_scene.Scene) -> list[Any]:
    """A pod has a node and is not bound to it before its volume is made."""
    scene.nodes("n1")
    volumes = scene.unbound_claim("data")
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    scene.pending("web", "low", "1", volumes=[claim])
    scene.pending("plain", "low", "1")
    scene.wait_nominated("web", "n1")
    scene.wait_bound("plain")
    expected = scene.transcript()
    scene.wait_until(lambda: volumes.selected_node("data") == "n1")
    volumes.provision("data")
    scene.wait_bound("web")
    return [expected, scene.transcript()]


STORIES = {
    "graceful": graceful_story,
    "budget": budget_story,
    "nomination": nomination_story,
    "patient": patient_story,
    "expectation": expectation_story,
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_as_kube_scheduler_does(
    story: Story,
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
) -> None:
    """Victims, nominations, conditions and events are those of the real kube-scheduler."""
    other_namespace = f"{namespace}-real"
    control_plane.client.create_namespace(other_namespace)
    with playing(control_plane, tmp_path / "ours", namespace) as scene:
        ours = story(scene)
    control_plane.clear()
    with playing(control_plane, tmp_path / "real", other_namespace, real=True) as scene:
        real = story(scene)
    assert ours == real


def test_victims_end_gracefully_and_then_there_is_room(scene: preemption_scene.Scene) -> None:
    """The least important pods go; the preemptor's status names the node until it is bound."""
    chosen, half, bound = graceful_story(scene)
    assert chosen["terminating"] == ["low", "lower-middle"]
    assert chosen["nominated"]["high"] == "n1"
    scheduled, disrupted = chosen["conditions"]["high"][0], chosen["conditions"]["low"][1]
    assert scheduled["message"] == NO_ROOM
    assert (disrupted["reason"], disrupted["message"]) == (
        "PreemptionByScheduler",
        "default-scheduler: preempting to accommodate a higher priority pod",
    )
    assert [event["note"] for event in chosen["preempted"]] == [
        "Preempted by pod high on node n1"
    ] * 2
    assert half["conditions"]["high"][0]["message"] == f"{NO_ROOM} {NO_HELP} {TERMINATING}"
    assert bound["places"] == {"high": "n1", "middle": "n1"}
    assert bound["nominated"]["high"] == ""


def test_a_budget_is_respected_where_there_is_another_way(scene: preemption_scene.Scene) -> None:
    """A more important victim goes rather than one whose budget allows no disruption."""
    chosen, bound = budget_story(scene)
    assert chosen["terminating"] == ["spare"]
    assert bound["places"] == {"guarded": "n1", "high": "n2"}


def test_a_nomination_is_taken_back_for_somebody_more_important(
    scene: preemption_scene.Scene,
) -> None:
    """The less important pod loses the node, is told so and waits on."""
    _, bound = nomination_story(scene)
    assert bound["places"] == {"high": "n1", "middle": ""}
    assert bound["nominated"] == {"high": "", "middle": ""}


def test_a_node_is_made_known_before_a_slow_binding(scene: preemption_scene.Scene) -> None:
    """While the pod's volume is made its status names the node, and no more once it is bound."""
    expected, bound = expectation_story(scene)
    assert expected["places"] == {"plain": "n1", "web": ""}
    assert expected["nominated"] == {"plain": "", "web": "n1"}
    assert bound["places"]["web"] == "n1"
    assert bound["nominated"] == {"plain": "", "web": ""}


def test_a_patient_pod_waits(scene: preemption_scene.Scene) -> None:
    """Nobody is evicted for it, and its condition says why."""
    (waiting,) = patient_story(scene)
    assert waiting["terminating"] == []
    assert waiting["conditions"]["patient"][0]["message"] == (
        f"{NO_ROOM} {NO_HELP} not eligible due to preemptionPolicy=Never."
    )


def test_a_restart_between_eviction_and_binding(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """A new process finds the nomination in the API: it waits, evicts nobody else, and binds."""
    flags = ("--scheduler-name", preemption_scene.SCHEDULER_NAME)
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        scene = preemption_scene.Scene(control_plane.client, namespace, scheduler.process)
        scene.nodes("n1", "n2")
        scene.running("low", "low", "4", "n1")
        scene.running("lower-middle", "lower-middle", "4", "n2")
        scene.pending("high", "high", "3")
        scene.wait_terminating("low")
        scene.wait_nominated("high", "n1")
        scheduler.kill_and_start_again()
        scene.wait_told("high", TERMINATING)
        scene.finish("low")
        scene.wait_bound("high")
        assert scene.places() == {"high": "n1", "lower-middle": "n2"}
        assert len(scene.events("Preempted")) == 1


def test_an_outage_while_many_pods_make_room(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """An API server that dies in the middle costs no pod more than was needed, and no preemptor.

    Each of ten preemptors needs the room of three of the four pods of a node.
    """
    with playing(control_plane, tmp_path / "ours", namespace) as scene:
        names = [f"n{number}" for number in range(10)]
        scene.nodes(*names)
        for node in names:
            for number in range(4):
                scene.running(f"low-{node}-{number}", "low", "1", node)
        for number in range(10):
            scene.pending(f"high-{number}", "high", "3")
        scene.wait_until(lambda: len(scene.terminating()) > 3)
        control_plane.api_server.kill()
        control_plane.api_server.start()
        control_plane.wait_ready()

        def are_bound() -> bool:
            scene.finish(*scene.terminating())
            places = scene.places()
            return all(places[f"high-{number}"] for number in range(10))

        scene.wait_until(are_bound)
        places = scene.places()
        assert {places[f"high-{number}"] for number in range(10)} == set(names)
        assert len(places) == 20
        assert scene.terminating() == []
