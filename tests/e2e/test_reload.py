"""Policies of a ConfigMap that are edited: what decides next, what is told, what is refused."""

from __future__ import annotations

import contextlib
import random
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.scenes import failover_scene, policy_edits, reload_scene, scheduler_process
from tests.realcluster import api_client

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

EDITS = 150


@pytest.fixture
def scene(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> Iterator[reload_scene.Scene]:
    """A grid of nodes, and a scheduler that goes by GOOD."""
    with reload_scene.running(control_plane, namespace, tmp_path) as made:
        yield made


def test_an_edit_changes_the_next_decisions(scene: reload_scene.Scene) -> None:
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
            assert time.monotonic() - edited_at < reload_scene.LIMIT_SECONDS
        latencies.append(round(latency, 3))
    print(f"from an edit to the first pod by it: {latencies} s")  # noqa: T201 - for `pytest -s`
    scene.wait_until_bound(*watch.created_at)
    offered = [reload_scene.GOOD, *(policy_edits.Version(n, n % 4, n // 4) for n in range(1, 6))]
    assert policy_edits.violations(scene.client, scene.namespace, offered) == []


def test_a_bad_version_is_refused_whole_and_told(scene: reload_scene.Scene) -> None:
    """Its good key does not act either; annotations and an event say why, until it is mended."""
    scene.config_map.edit(reload_scene.BAD)
    scene.wait_until_told("refused", reload_scene.GOOD)
    assert "mandatory" in scene.config_map.annotations[policy_edits.ERRORS]
    assert scene.place("meanwhile") == {"meanwhile": "node-0-0"}

    scene.config_map.edit(reload_scene.NEVER)
    scene.scheduler.wait_until(
        lambda: "error[PS201]" in scene.config_map.annotations[policy_edits.ERRORS]
    )
    assert scene.place("still") == {"still": "node-0-0"}

    scene.config_map.edit(reload_scene.OTHER)
    scene.wait_until_told("ok", reload_scene.OTHER)
    assert policy_edits.ERRORS not in scene.config_map.annotations
    assert scene.place("mended") == {"mended": "node-1-2"}

    def reasons() -> list[str]:
        return [event["reason"] for event in scene.config_map.events()]

    scene.scheduler.wait_until(
        lambda: sorted(reasons()) == ["PoliciesLoaded", "PoliciesRefused", "PoliciesRefused"]
    )


def test_what_happens_to_the_config_map(
    scene: reload_scene.Scene, control_plane: control_planes.ControlPlane
) -> None:
    """Its end is a refused version; another one of its name acts, even after an outage."""
    scene.config_map.delete()
    scene.scheduler.wait_until(lambda: "there is no configmap" in scene.scheduler.log)
    assert scene.place("orphan") == {"orphan": "node-0-0"}
    control_plane.api_server.kill()
    control_plane.api_server.start()
    control_plane.wait_ready()
    scene.config_map.create(reload_scene.OTHER)
    scene.wait_until_told("ok", reload_scene.OTHER)
    assert scene.place("again") == {"again": "node-1-2"}


def test_random_edits_while_pods_arrive(scene: reload_scene.Scene) -> None:
    """Each of many pods is explained by one good version as a whole; none is lost."""
    offered = policy_edits.versions(EDITS, random.Random(1))
    edited = policy_edits.edit_while_pods_arrive(
        scene.client,
        scene.config_map,
        scene.namespace,
        [reload_scene.GOOD, *offered],
        lambda holds: scene.scheduler.wait_until(
            holds, time_limit_seconds=reload_scene.LIMIT_SECONDS
        ),
    )
    assert edited.violations == []
    assert edited.versions > EDITS // 10
    # An edit that another one follows at once may never be looked at.
    good, bad = offered[-2:]
    scene.config_map.edit(good)
    scene.wait_until_told("ok", good)
    scene.config_map.edit(bad)
    scene.wait_until_told("refused", good)


def test_who_stands_by_reloads_and_tells_nobody(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Both replicas go by an edit, the leader alone writes; the next leader goes on with both."""
    client = control_plane.client
    with contextlib.suppress(api_client.ApiError):  # what the test before has left
        client.delete(failover_scene.LEASE)
    config_map = policy_edits.PolicyConfigMap(client, namespace)
    config_map.create(reload_scene.GOOD)
    flags = ["--policy-configmap", config_map.name]
    with failover_scene.Replicas(control_plane, tmp_path, flags=flags) as replicas:
        former, leader = replicas.holder(), replicas.leader()
        config_map.edit(reload_scene.OTHER)
        said = f"reloaded hash={reload_scene.OTHER.hash}"
        for replica in replicas.all:
            replica.wait_until(lambda one=replica: said in one.log)  # type: ignore[misc]  # a lambda's default has no type
        failover_scene.wait_until(lambda: config_map.tells("ok", reload_scene.OTHER))
        failover_scene.wait_until(lambda: len(config_map.events()) > 0)
        assert [event["reason"] for event in config_map.events()] == ["PoliciesLoaded"]
        leader.process.kill()
        replicas.wait_until_led_by_another(former)
        config_map.edit(reload_scene.BAD)
        failover_scene.wait_until(lambda: config_map.tells("refused", reload_scene.OTHER))
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

    write(reload_scene.GOOD)
    policy_edits.make_nodes(control_plane.client, pods_per_node=100)
    config_map = policy_edits.PolicyConfigMap(control_plane.client, namespace)
    with scheduler_process.PolicyScheduler(
        control_plane, tmp_path, flags=["--policies", str(folder)]
    ) as scheduler:
        scene = reload_scene.Scene(control_plane, namespace, config_map, scheduler)
        assert scene.place("first") == {"first": "node-0-0"}
        write(reload_scene.BAD)
        scheduler.wait_until(lambda: f"version {reload_scene.BAD.hash} is refused" in scheduler.log)
        assert scene.place("second") == {"second": "node-0-0"}
        write(reload_scene.NEVER)
        scheduler.wait_until(
            lambda: (
                f"version {reload_scene.NEVER.hash} is refused" in scheduler.log
                and "row.policy:2:" in scheduler.log
            )
        )
        write(reload_scene.OTHER)
        scheduler.wait_until(lambda: f"reloaded hash={reload_scene.OTHER.hash}" in scheduler.log)
        assert scene.place("third") == {"third": "node-1-2"}
