"""New versions of the policies pass stages on a real API server, or are rolled back."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.scenes import (
    failover_scene,
    pod_traffic,
    policy_edits,
    reload_scene,
    rollout_scene,
)
from tests.realcluster import api_client, process, prometheus

if TYPE_CHECKING:
    import pathlib

    from _pytest.mark.structures import ParameterSet

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

GOOD, OTHER = reload_scene.GOOD, reload_scene.OTHER
PENDING = {"name": "pending", "measure": "unschedulable", "most": 0.2}
ROLLOUT: dict[str, Any] = {
    "minPods": 6,
    "guards": [PENDING],
    "stages": [{"shadow": True}, {"percent": 50}, {"percent": 80}],
}


def _proof(*values: object) -> ParameterSet:
    """Return parameters of a test that `make proof` runs, and `make test` does not."""
    return pytest.param(*values, marks=pytest.mark.proof)


def _enter_share_stage(scene: reload_scene.Scene, stage: int) -> None:
    """Create pods until the rollout is in a stage, from 1."""
    for number in range(1, stage):
        _wait_for_stage(scene, number)
        scene.client.create_pods(
            scene.namespace, rollout_scene.make_workload_pods(f"stage{number}", 20)
        )
    _wait_for_stage(scene, stage)


def _wait_for_stage(scene: reload_scene.Scene, stage: int) -> None:
    scene.scheduler.wait_until(
        lambda: (
            f"stage {stage} of" in scene.config_map.annotations.get("policysched.io/rollout", "")
        )
    )


def _are_all_bound(scene: reload_scene.Scene) -> bool:
    return all(policy_edits.nodes_of(scene.client, scene.namespace).values())


@pytest.mark.parametrize("killed_in", [_proof(0), _proof(1), 2, _proof(3)])
def test_a_good_version_passes_all_stages(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
    killed_in: int,
) -> None:
    """Each workload is placed by one version, also if the process dies in a stage."""
    with rollout_scene.running(control_plane, namespace, tmp_path, ROLLOUT) as scene:
        scene.config_map.edit(OTHER)
        for stage in (1, 2, 3):
            _wait_for_stage(scene, stage)
            if stage == killed_in:
                scene.scheduler.kill_and_start_again()
                _wait_for_stage(scene, stage)
            pods = rollout_scene.make_workload_pods(f"stage{stage}", 20)
            scene.client.create_pods(namespace, pods)
        scene.wait_until_told("ok", OTHER)
        scene.scheduler.wait_until(lambda: _are_all_bound(scene))
        assert policy_edits.violations(scene.client, namespace, (GOOD, OTHER)) == []
        versions = rollout_scene.read_versions(scene)
        assert rollout_scene.find_split_workloads(versions) == []
        by_stage = {
            stage: {version for name, version in versions.items() if f"stage{stage}-" in name}
            for stage in (1, 2, 3)
        }
        assert by_stage[1] == {GOOD.hash}
        assert by_stage[2] == {GOOD.hash, OTHER.hash}
        assert scene.place("later") == {"later": f"node-{OTHER.slot}-{OTHER.row}"}


@pytest.mark.parametrize("killed_in", [_proof(0), 1, _proof(2)])
def test_a_version_that_leaves_pods_pending_is_rolled_back(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
    killed_in: int,
) -> None:
    """No more pods than the share wait meanwhile; then they are placed by the former version."""
    stages = ROLLOUT["stages"] if killed_in == 1 else ROLLOUT["stages"][1:]
    rollout = ROLLOUT | {"stages": stages}
    with rollout_scene.running(control_plane, namespace, tmp_path, rollout) as scene:
        scene.config_map.edit(rollout_scene.STUCK)
        _wait_for_stage(scene, 1)
        if killed_in:
            scene.scheduler.kill_and_start_again()
            _wait_for_stage(scene, 1)
        scene.client.create_pods(namespace, rollout_scene.make_workload_pods("a", 20))
        scene.wait_until_told("rolledBack", GOOD)
        scene.scheduler.wait_until(lambda: _are_all_bound(scene))
        assert set(rollout_scene.read_versions(scene).values()) == {GOOD.hash}
        assert "pending: " in scene.config_map.annotations[policy_edits.ERRORS]
        reasons = [event["reason"] for event in scene.config_map.events()]
        assert "PoliciesRolledBack" in reasons
        scene.scheduler.kill_and_start_again()
        assert scene.place("later") == {"later": "node-0-0"}
        scene.wait_until_told("rolledBack", GOOD)


@pytest.mark.parametrize("error_share, end", [(0.5, "rolledBack"), _proof(0.0, "ok")])
def test_a_guard_compares_the_error_rate_of_the_new_pods(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
    error_share: float,
    end: str,
) -> None:
    """A version whose pods fail is rolled back, and one whose pods do not fail is promoted."""
    node = f"node-{OTHER.slot}-{OTHER.row}"
    errors, requests = (
        f"sum(rate(http_{kind}_total{{$new_pods}}[10s]))" for kind in ("errors", "requests")
    )
    guard = {"name": "errors", "query": f"{errors} / {requests}", "most": 0.1}
    rollout = {"minPods": 5, "guards": [guard], "stages": [{"percent": 50, "duration": "5s"}]}
    scraped: dict[str, Any] = {"job_name": "pods", "honor_labels": True}
    with contextlib.ExitStack() as stack:
        traffic = stack.enter_context(
            pod_traffic.PodTraffic(control_plane.client, namespace, {node: error_share})
        )
        scraped["static_configs"] = [{"targets": [traffic.address]}]
        config = {"global": {"scrape_interval": "1s"}, "scrape_configs": [scraped]}
        server = stack.enter_context(prometheus.Prometheus(tmp_path / "prometheus", config=config))
        more = {"prometheus": {"default": {"url": server.url}}}
        scene = stack.enter_context(
            rollout_scene.running(control_plane, namespace, tmp_path, rollout, more=more)
        )
        scene.config_map.edit(OTHER)
        _wait_for_stage(scene, 1)
        scene.client.create_pods(namespace, rollout_scene.make_workload_pods("a", 20))
        scene.wait_until_told(end, GOOD if end == "rolledBack" else OTHER)
        versions = rollout_scene.read_versions(scene)
        assert set(versions.values()) == {GOOD.hash, OTHER.hash}
        if end == "rolledBack":
            assert "errors: 0.5 > 0.1" in scene.config_map.annotations[policy_edits.ERRORS]
            assert scene.place("later") == {"later": "node-0-0"}


def test_the_next_leader_continues_the_rollout(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """The leader is killed in the share stage; the standby goes on in the same stage."""
    with contextlib.suppress(api_client.ApiError):  # what the test before has left
        control_plane.client.delete(failover_scene.LEASE)
    flags = failover_scene.LeaseTimes().flags
    with rollout_scene.running(control_plane, namespace, tmp_path, ROLLOUT, flags=flags) as scene:
        (tmp_path / "standby").mkdir()
        command = [*scene.scheduler.process.command]
        standby = process.ServerProcess(command, log=tmp_path / "standby" / "log")
        standby.start()
        try:
            scene.config_map.edit(OTHER)
            _enter_share_stage(scene, 2)
            scene.scheduler.process.kill()
            scene.client.create_pods(namespace, rollout_scene.make_workload_pods("b", 20))
            standby.wait_until(lambda: _are_all_bound(scene), time_limit_seconds=60)
            versions = rollout_scene.read_versions(scene)
            assert {v for name, v in versions.items() if name.startswith("b-")} == {
                GOOD.hash,
                OTHER.hash,
            }
            assert rollout_scene.find_split_workloads(versions) == []
            _create_pods_until_promoted(scene, standby)
        finally:
            standby.kill()


def _create_pods_until_promoted(scene: reload_scene.Scene, leader: process.ServerProcess) -> None:
    leader.wait_until(
        lambda: "stage 3 of" in scene.config_map.annotations.get("policysched.io/rollout", ""),
        time_limit_seconds=60,
    )
    scene.client.create_pods(scene.namespace, rollout_scene.make_workload_pods("c", 20))
    leader.wait_until(lambda: scene.config_map.tells("ok", OTHER), time_limit_seconds=60)
