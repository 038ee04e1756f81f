"""A weight that depends on the time, on a real API server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from policysched import clock as clocks
from tests.e2e.scenes import scheduler_process
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
POLICY = """
policy times {
  for pods
  nodeAffinity preferred disk = ssd weight 100 during "DAYS 00:00-24:00" otherwise 1
  nodeAffinity preferred disk = hdd weight 50
}
"""


@pytest.mark.parametrize(
    "now, node", [(True, "ssd-0"), pytest.param(False, "hdd-0", marks=pytest.mark.proof)]
)
def test_the_time_chooses_the_weight(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    tmp_path: pathlib.Path,
    *,
    now: bool,
    node: str,
) -> None:
    """The larger weight wins at its times, the other rule at all others."""
    client = control_plane.client
    client.create_nodes([manifests.node(f"{d}-0", labels={"disk": d}) for d in ("ssd", "hdd")])
    today = clocks.SystemClock().now().weekday()
    near = {(today + offset) % 7 for offset in (-1, 0, 1)}  # midnight may be near
    days = [day for number, day in enumerate(DAYS) if (number in near) is now]
    (policies := tmp_path / "policies").mkdir()
    (policies / "times.policy").write_text(POLICY.replace("DAYS", ",".join(days)))
    client.create_pods(namespace, [manifests.pod("web", scheduler_name="policysched")])
    flags = ("--policies", str(policies))
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        scheduler.wait_until(lambda: "nodeName" in client.pod(namespace, "web")["spec"])
        assert client.pod(namespace, "web")["spec"]["nodeName"] == node
