"""Preemption by rule on a real API server: protected pods stay, others go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.scenes import preemption_scene, scheduler_process

if TYPE_CHECKING:
    import pathlib

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

POLICY = """
policy notebooks {
  for pods where app = notebook
  protect from preemption as keep
}
policy web {
  for pods where app In (web, impatient)
  preempt pods where app In (notebook, batch) as only-batch
}
policy patient {
  for pods where app = patient
  preempt never as never
}
"""


def test_pods_are_kept_and_evicted_by_rule(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """The victim is the pod that rules permit, not the one with the lowest priority.

    A pod that had to leave a kept pod alone is tried again as soon as that one is kept no longer.
    """
    (policies := tmp_path / "policies").mkdir()
    (policies / "rooms.policy").write_text(POLICY)
    flags = ("--scheduler-name", preemption_scene.SCHEDULER_NAME, "--policies", str(policies))
    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler:
        scene = preemption_scene.Scene(control_plane.client, namespace, scheduler.process)
        scene.nodes("n1", "n2", "n3")
        scene.running("notebook", "low", "4", "n1")
        scene.running("api", "low", "4", "n2")
        scene.running("batch", "middle", "4", "n3")
        scene.pending("patient", "high", "3")
        scene.wait_told("patient", "not eligible due to policy patient/never.")
        scene.pending("web", "high", "3")
        scene.wait_terminating("batch")
        scene.wait_nominated("web", "n3")
        scene.finish("batch")
        scene.wait_bound("web")
        assert scene.terminating() == []

        scene.pending("impatient", "high", "3")
        scene.wait_told("impatient", "1 node(s) had pods kept by policy notebooks/keep")
        for number in range(100):
            scene.relabel("api", serial=str(number))
        scene.relabel("notebook", app="batch")
        scene.wait_terminating("notebook")
        scene.wait_nominated("impatient", "n1")
        assert scene.terminating() == ["notebook"]
