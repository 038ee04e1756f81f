"""A scheduler whose new versions pass stages, and pods of many workloads."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import yaml

from policysched.config import config_reading
from tests.e2e.scenes import policy_edits, reload_scene
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator, Mapping, Sequence

    from tests.realcluster import control_plane as control_planes

VERSION = "policysched.io/version"
REPLICAS = 2
STUCK = policy_edits.Version(7, 9, 9)
"""No node has its slot, so the pods that it decides about stay Pending."""


@contextlib.contextmanager
def running(
    plane: control_planes.ControlPlane,
    namespace: str,
    folder: pathlib.Path,
    rollout: Mapping[str, Any],
    *,
    flags: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> Iterator[reload_scene.Scene]:
    """Run a scheduler that goes by `reload_scene.GOOD`, with stages and guards."""
    policies = {"configMap": f"{namespace}/policies", "rollout": rollout}
    config = {**config_reading.HEAD, "policies": policies, **(more or {})}
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    with reload_scene.running(plane, namespace, folder, ("--config", str(file), *flags)) as scene:
        scene.scheduler.wait_until(scene.config_map.has_history)
        yield scene


def make_workload_pods(prefix: str, workloads: int) -> list[dict[str, Any]]:
    """Return REPLICAS pods of each of some ReplicaSets, called PREFIX-WORKLOAD-REPLICA."""
    return [
        _make_replica(f"{prefix}-{workload}", replica)
        for workload in range(workloads)
        for replica in range(REPLICAS)
    ]


def _make_replica(workload: str, replica: int) -> dict[str, Any]:
    pod = manifests.pod(f"{workload}-{replica}", scheduler_name="policysched")
    pod["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": workload,
            "uid": f"uid-of-{workload}",
            "controller": True,
        }
    ]
    return pod


def read_versions(scene: reload_scene.Scene) -> dict[str, str]:
    """Return the version that bound each pod, by its annotation; "" for pods without a node."""
    return {
        pod["metadata"]["name"]: pod["metadata"].get("annotations", {}).get(VERSION, "")
        for pod in scene.client.pods(scene.namespace)
    }


def find_split_workloads(versions: Mapping[str, str]) -> list[str]:
    """Return the workloads whose pods were bound by several versions."""
    by_workload: dict[str, set[str]] = {}
    for name, version in versions.items():
        by_workload.setdefault(name.rpartition("-")[0], set()).add(version)
    return [workload for workload, found in by_workload.items() if len(found) > 1]
