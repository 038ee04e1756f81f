"""Claims and owners of pods on a real API server."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.scenes import scheduler_process
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import api_client
    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

POLICY = """
policy databases {
  for pods where storageClass = "local-*"
  nodeAffinity required pool = storage as storage-pool
  reject when requests(storage) < 10Gi as too-small
}
policy jobs {
  for pods where owner(name) = "ingest-*"
  nodeAffinity required reserved = pod(owner(name)) missing reject as own-node
}
"""
LOCAL = "local-ssd"


class _Scene:
    """A namespace with claims that are bound to volumes of every node."""

    def __init__(self, client: api_client.ApiClient, namespace: str) -> None:
        self.client, self._namespace = client, namespace
        self.claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"

    def create_class(self) -> None:
        """Create the class that claims without a class get."""
        default = {"storageclass.kubernetes.io/is-default-class": "true"}
        body = {
            "metadata": {"name": LOCAL, "annotations": default},
            "provisioner": "kubernetes.io/no-provisioner",
            "allowVolumeExpansion": True,
        }
        self.client.create("/apis/storage.k8s.io/v1/storageclasses", body)

    def create_claim(self, name: str, size: str, class_name: str | None = None) -> None:
        """Create a claim and the volume to which it is bound."""
        volume = f"{self._namespace}-{name}"
        shared: dict[str, Any] = {"accessModes": ["ReadWriteOnce"]}
        request = {"requests": {"storage": size}}
        claim: dict[str, Any] = {
            "metadata": {"name": name, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {**shared, "volumeName": volume, "resources": request},
        }
        if class_name is not None:
            claim["spec"]["storageClassName"] = class_name
        made = self.client.create(self.claims, claim)
        spec = {
            **shared,
            "capacity": {"storage": "100Gi"},
            "storageClassName": made["spec"]["storageClassName"],
            "claimRef": {
                "namespace": self._namespace,
                "name": name,
                "uid": made["metadata"]["uid"],
            },
            "csi": {"driver": "disk.csi.test", "volumeHandle": volume},
        }
        self.client.create(
            "/api/v1/persistentvolumes", {"metadata": {"name": volume}, "spec": spec}
        )
        status = {"status": {"phase": "Bound", "capacity": {"storage": size}}}
        self.client.patch(f"{self.claims}/{name}/status", status)

    def create_pod(self, name: str, claim: str | None = None, owner: str | None = None) -> None:
        """Create a pod, of a Job if it has an owner."""
        volumes = [] if claim is None else [{"name": "d", "persistentVolumeClaim": _use(claim)}]
        pod = manifests.pod(name, scheduler_name="policysched", spec={"volumes": volumes})
        if owner is not None:
            pod["metadata"]["ownerReferences"] = [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": owner,
                    "uid": f"uid-{owner}",
                    "controller": True,
                }
            ]
        self.client.create_pods(self._namespace, [pod])

    def is_on(self, name: str, node: str) -> bool:
        """Return whether a pod is bound to a node."""
        return bool(self.client.pod(self._namespace, name)["spec"].get("nodeName") == node)

    def list_events(self, name: str) -> list[dict[str, Any]]:
        """Return the events about a pod."""
        path = f"/apis/events.k8s.io/v1/namespaces/{self._namespace}/events"
        return [one for one in self.client.items(path) if one["regarding"]["name"] == name]

    def has_two_events(self, name: str) -> bool:
        """Return whether there are at least two events about a pod."""
        return len(self.list_events(name)) >= 2


def _use(claim: str) -> dict[str, str]:
    return {"claimName": claim}


def test_pods_follow_their_claims_and_owners(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """A database waits until its claim has grown, a Job until a node is reserved for it.

    Of a hundred other changes of claims, none leads to an attempt.
    """
    client = control_plane.client
    scene = _Scene(client, namespace)
    scene.create_class()
    client.create_nodes(
        [
            manifests.node("plain", labels={"pool": "plain"}),
            manifests.node("disks", labels={"pool": "storage"}),
            manifests.node("own", labels={"pool": "jobs", "reserved": "ingest-1"}),
        ]
    )
    scene.create_claim("data", "1Gi")
    scene.create_claim("archive", "1Gi", "")
    (policies := tmp_path / "policies").mkdir()
    (policies / "claims.policy").write_text(POLICY)
    flags = ("--policies", str(policies))
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        scene.create_pod("db", claim="data")
        scene.create_pod("first", owner="ingest-1")
        scene.create_pod("second", owner="ingest-2")
        scheduler.wait_until(lambda: scene.is_on("first", "own"))
        scheduler.wait_until(lambda: bool(scene.list_events("db")))
        scheduler.wait_until(lambda: bool(scene.list_events("second")))
        (failed,) = scene.list_events("db")
        assert "databases/too-small" in failed["note"]
        assert "databases/storage-pool" in failed["note"]
        for number in range(50):
            for name in ("data", "archive"):
                seen = {"metadata": {"annotations": {"example.com/seen": str(number)}}}
                client.patch(f"{scene.claims}/{name}", seen)
        larger = {"spec": {"resources": {"requests": {"storage": "10Gi"}}}}
        client.patch(f"{scene.claims}/data", larger)
        client.patch("/api/v1/nodes/plain", {"metadata": {"labels": {"reserved": "ingest-2"}}})
        scheduler.wait_until(lambda: scene.is_on("db", "disks"))
        scheduler.wait_until(lambda: scene.is_on("second", "plain"))
        for woken in ("db", "second"):
            # Events follow the binding.
            scheduler.wait_until(functools.partial(scene.has_two_events, woken))
            failed, bound = scene.list_events(woken)
            assert (failed["reason"], bound["reason"]) == ("FailedScheduling", "Scheduled")
            assert failed.get("series") is None
