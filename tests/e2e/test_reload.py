"""Policies of a ConfigMap that are edited: what decides next, what is told, what is refused."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import jsonschema
import pytest

from policysched import _resources
from tests.e2e import failover_scene, policy_edits, scheduler_process
from tests.realcluster import api_client

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

LIMIT_SECONDS = 120.0
EDITS = 150
GOOD, OTHER = policy_edits.Version(0, 0, 0), policy_edits.Version(1, 1, 2)
BAD = policy_edits.Version(2, 3, 3, "syntax")


class Scene:
    """A scheduler that follows a ConfigMap."""

    def __init__(
        self,
        plane: control_planes.ControlPlane,
        namespace: str,
        config_map: policy_edits.PolicyConfigMap,
        scheduler: scheduler_process.PolicyScheduler,
    ) -> None:
        self.client = plane.client
        self.namespace = namespace
        self.config_map = config_map
        self.scheduler = scheduler

    def wait_until_told(self, status: str, version: policy_edits.Version) -> None:
        """Return once the annotations say so."""
        self.scheduler.wait_until(
            lambda: self.config_map.tells(status, version), time_limit_seconds=LIMIT_SECONDS
        )

    def roll_back(self, *argv: str) -> str:
        """Run `policysched rollback` and return what it prints."""
        command = [sys.executable, "-m", "policysched", "rollback", *argv]
        flags = [
            *("--policy-configmap", self.config_map.name),
            *("--kubeconfig", str(self.scheduler.kubeconfig)),
        ]
        return subprocess.run([*command, *flags], check=True, capture_output=True, text=True).stdout

    def place(self, *names: str) -> dict[str, str]:
        """Create pods and return their nodes, once they have some."""
        self.client.create_pods(self.namespace, policy_edits.pods(names))
        self.wait_until_bound(*names)
        nodes = policy_edits.nodes_of(self.client, self.namespace)
        return {name: nodes[name] for name in names}

    def wait_until_bound(self, *names: str) -> None:
        """Return once these pods have nodes and events."""

        def are_bound() -> bool:
            nodes = policy_edits.nodes_of(self.client, self.namespace)
            said = policy_edits.placed_by(self.client, self.namespace)
            return all(nodes.get(name) and name in said for name in names)

        self.scheduler.wait_until(are_bound, time_limit_seconds=LIMIT_SECONDS)


@pytest.fixture
def scene(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> Iterator[Scene]:
    """A grid of nodes, and a scheduler that goes by GOOD."""
    policy_edits.make_nodes(control_plane.client, pods_per_node=10_000)
    config_map = policy_edits.PolicyConfigMap(control_plane.client, namespace)
    config_map.create(GOOD)
    with scheduler_process.PolicyScheduler(
        control_plane, tmp_path, flags=["--policy-configmap", config_map.name]
    ) as scheduler:
        made = Scene(control_plane, namespace, config_map, scheduler)
        made.wait_until_told("ok", GOOD)
        yield made


def test_an_edit_changes_the_next_decisions(scene: Scene) -> None:
    """Pods that are created a moment after an edit go by it; that moment is printed."""
    watch = policy_edits.Stopwatch(scene.client, scene.namespace)
    latencies = []
    scene.place("first")
    for number in range(1, 6):
        version = policy_edits.Version(number, number % 4, number // 4)
        scene.config_map.edit(version)
        edited_at = time.monotonic()
        latency = None
        while latency is None:
            watch.create(f"pod-{len(watch.created_at)}")
            latency = watch.latency_seconds(edited_at, version)
            assert time.monotonic() - edited_at < LIMIT_SECONDS
        latencies.append(round(latency, 3))
    print(f"from an edit to the first pod by it: {latencies} s")  # noqa: T201 - for `pytest -s`
    scene.wait_until_bound(*watch.created_at)
    offered = [GOOD, *(policy_edits.Version(n, n % 4, n // 4) for n in range(1, 6))]
    assert policy_edits.violations(scene.client, scene.namespace, offered) == []


def test_a_bad_version_is_refused_whole_and_told(scene: Scene) -> None:
    """Its good key does not act either; annotations and an event say why, until it is mended."""
    scene.config_map.edit(BAD)
    scene.wait_until_told("refused", GOOD)
    assert "mandatory" in scene.config_map.annotations[policy_edits.ERRORS]
    assert scene.place("meanwhile") == {"meanwhile": "node-0-0"}

    scene.config_map.edit(OTHER)
    scene.wait_until_told("ok", OTHER)
    assert policy_edits.ERRORS not in scene.config_map.annotations
    assert scene.place("mended") == {"mended": "node-1-2"}

    def reasons() -> list[str]:
        return [event["reason"] for event in scene.config_map.events()]

    scene.scheduler.wait_until(lambda: sorted(reasons()) == ["PoliciesLoaded", "PoliciesRefused"])


def test_what_happens_to_the_config_map(
    scene: Scene, control_plane: control_planes.ControlPlane
) -> None:
    """Its end is a refused version; another one of its name acts, even after an outage."""
    scene.config_map.delete()
    scene.scheduler.wait_until(lambda: "there is no configmap" in scene.scheduler.log)
    assert scene.place("orphan") == {"orphan": "node-0-0"}
    control_plane.api_server.kill()
    control_plane.api_server.start()
    control_plane.wait_ready()
    scene.config_map.create(OTHER)
    scene.wait_until_told("ok", OTHER)
    assert scene.place("again") == {"again": "node-1-2"}


def test_reloads_are_frozen_until_they_are_not(scene: Scene) -> None:
    """An annotation keeps the version in use, over edits and a restart; a rollback goes through."""
    scene.config_map.edit(OTHER)
    scene.wait_until_told("ok", OTHER)
    scene.config_map.annotate(freeze="true")
    scene.wait_until_told("frozen", OTHER)
    scene.config_map.edit(policy_edits.Version(3, 3, 3))
    scene.config_map.annotate(hash=None, status=None)  # as `kubectl replace` does
    scene.wait_until_told("frozen", OTHER)
    scene.scheduler.kill_and_start_again()
    assert scene.place("frozen") == {"frozen": "node-1-2"}

    listed = json.loads(scene.roll_back("--list", "-o", "json"))
    jsonschema.validate(listed, json.loads(_resources.text("schemas", "versions.schema.json")))
    assert [(one["hash"], one["inUse"]) for one in listed] == [
        (OTHER.hash, True),
        (GOOD.hash, False),
    ]
    said = scene.roll_back(GOOD.hash[:5])
    assert f"wrote version {GOOD.hash}" in said
    assert "held back" in said
    scene.wait_until_told("frozen", GOOD)
    assert scene.place("back") == {"back": "node-0-0"}

    scene.config_map.annotate(freeze=None)
    scene.wait_until_told("ok", GOOD)


def test_a_bad_version_at_the_start(scene: Scene) -> None:
    """By default nothing starts, and why is shown; with lastGood the kept version serves."""
    scene.scheduler.wait_until(scene.config_map.has_history)
    scene.config_map.edit(BAD)
    scene.wait_until_told("refused", GOOD)
    scene.scheduler.process.kill()
    scene.scheduler.process.start()
    assert scene.scheduler.process.wait(LIMIT_SECONDS) == 2
    assert "`mandatory`" in scene.scheduler.log

    scene.scheduler.process.command += ["--on-bad-start", "lastGood"]
    scene.scheduler.process.start()
    scene.wait_until_told("refused", GOOD)
    assert scene.place("late") == {"late": "node-0-0"}
    with pytest.raises(subprocess.CalledProcessError) as caught:
        scene.roll_back("fff")
    assert caught.value.returncode == 2
    assert "`fff`: is no version that is kept" in caught.value.stderr
    assert "wrote version" in scene.roll_back()
    scene.wait_until_told("ok", GOOD)


def test_random_edits_while_pods_arrive(scene: Scene) -> None:
    """Each of many pods is explained by one good version as a whole; none is lost."""
    offered = policy_edits.versions(EDITS, random.Random(1))
    edited = policy_edits.edit_while_pods_arrive(
        scene.client,
        scene.config_map,
        scene.namespace,
        [GOOD, *offered],
        lambda holds: scene.scheduler.wait_until(holds, time_limit_seconds=LIMIT_SECONDS),
    )
    assert edited.violations == []
    assert edited.versions > EDITS // 10
    scene.wait_until_told("refused", offered[-2])


def test_who_stands_by_reloads_and_tells_nobody(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Both replicas go by an edit, the leader alone writes; the next leader goes on with both."""
    client = control_plane.client
    with contextlib.suppress(api_client.ApiError):  # what the test before has left
        client.delete(failover_scene.LEASE)
    config_map = policy_edits.PolicyConfigMap(client, namespace)
    config_map.create(GOOD)
    flags = ["--policy-configmap", config_map.name]
    with failover_scene.Replicas(control_plane, tmp_path, flags=flags) as replicas:
        former, leader = replicas.holder(), replicas.leader()
        config_map.edit(OTHER)
        for replica in replicas.all:
            replica.wait_until(lambda one=replica: f"reloaded hash={OTHER.hash}" in one.log)  # type: ignore[misc]  # a lambda's default has no type
        failover_scene.wait_until(lambda: config_map.tells("ok", OTHER))
        failover_scene.wait_until(lambda: len(config_map.events()) > 0)
        assert [event["reason"] for event in config_map.events()] == ["PoliciesLoaded"]
        leader.process.kill()
        replicas.wait_until_led_by_another(former)
        config_map.edit(BAD)
        failover_scene.wait_until(lambda: config_map.tells("refused", OTHER))
    client.delete(failover_scene.LEASE)


def test_a_folder_is_edited(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Files act as a ConfigMap does: edits decide next, a bad one is told in the log."""
    folder = tmp_path / "policies"
    folder.mkdir()

    def write(version: policy_edits.Version) -> None:
        for key, text in version.data.items():
            (folder / key).write_text(text, encoding="utf-8")

    write(GOOD)
    policy_edits.make_nodes(control_plane.client, pods_per_node=100)
    config_map = policy_edits.PolicyConfigMap(control_plane.client, namespace)
    with scheduler_process.PolicyScheduler(
        control_plane, tmp_path, flags=["--policies", str(folder)]
    ) as scheduler:
        scene = Scene(control_plane, namespace, config_map, scheduler)
        assert scene.place("first") == {"first": "node-0-0"}
        write(BAD)
        scheduler.wait_until(lambda: f"version {BAD.hash} is refused" in scheduler.log)
        assert scene.place("second") == {"second": "node-0-0"}
        write(OTHER)
        scheduler.wait_until(lambda: f"reloaded hash={OTHER.hash}" in scheduler.log)
        assert scene.place("third") == {"third": "node-1-2"}
