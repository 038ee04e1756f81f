"""A policy of all profiles on a real API server: pods of each profile leave nodes alone."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from tests.e2e.scenes import scheduler_process
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import api_client
    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

POLICIES = """
policy maintenance {
  profiles all
  for pods
  reject when node(maintenance Exists) as leave
}
policy fast { for pods nodeAffinity required disk = ssd }
profile policysched { policies fast }
profile plain { }
profile monitoring { exclude maintenance }
"""


def _is_on(client: api_client.ApiClient, namespace: str, name: str, node: str) -> bool:
    return bool(client.pod(namespace, name)["spec"].get("nodeName") == node)


def test_pods_of_each_profile(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Only the profile that excludes the policy uses the node under maintenance."""
    client = control_plane.client
    client.create_nodes(
        [
            manifests.node("old", labels={"maintenance": "yes", "disk": "ssd", "kind": "old"}),
            manifests.node("new", labels={"disk": "ssd", "kind": "new"}),
        ]
    )
    (policies := tmp_path / "policies").mkdir()
    (policies / "all.policy").write_text(POLICIES)
    nowhere = {"nodeSelector": {"kind": "old"}}
    client.create_pods(
        namespace,
        [
            manifests.pod("fast", scheduler_name="policysched"),
            manifests.pod("plain", scheduler_name="plain"),
            manifests.pod("waits", scheduler_name="plain", spec=nowhere),
            manifests.pod("agent", scheduler_name="monitoring", spec=nowhere),
        ],
    )
    flags = ("--policies", str(policies))
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        for name, node in (("fast", "new"), ("plain", "new"), ("agent", "old")):
            scheduler.wait_until(functools.partial(_is_on, client, namespace, name, node))

        def is_rejected() -> bool:
            conditions = client.pod(namespace, "waits")["status"].get("conditions", [])
            return any("maintenance/leave" in one.get("message", "") for one in conditions)

        scheduler.wait_until(is_rejected)
        client.patch("/api/v1/nodes/old", {"metadata": {"labels": {"maintenance": None}}})
        scheduler.wait_until(functools.partial(_is_on, client, namespace, "waits", "old"))
