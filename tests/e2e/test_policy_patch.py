"""The patch that the page makes of an edit, applied by kubectl to a real API server."""

from __future__ import annotations

import json
import pathlib
import shlex

import pytest

from tests.deploy import kubectl
from tests.page import patches
from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

KEY = "web.policy"


def test_a_patch_applies_once_and_refuses_a_concurrent_edit(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """The second patch begins with a text that is gone, so it changes nothing."""
    kubeconfig = tmp_path / "kubeconfig"
    control_plane.write_kubeconfig(kubeconfig)
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    named = {"metadata": {"name": "policies"}, "data": {KEY: "old\n", "other.policy": "kept\n"}}
    control_plane.client.create(path, named)

    def apply_patch(before: str, after: str) -> str:
        file = tmp_path / "policysched-patch.json"
        file.write_text(json.dumps(patches.make_patch(KEY, before, after)))
        command = patches.COMMAND.replace("--namespace sched", f"--namespace {namespace}")
        command = command.replace("policysched-patch.json", str(file))
        return kubectl.run(*shlex.split(command)[1:], kubeconfig=kubeconfig)

    def read_data() -> dict[str, str]:
        found = kubectl.run(
            *shlex.split(f"get configmap policies -n {namespace} -o json"), kubeconfig=kubeconfig
        )
        data: dict[str, str] = json.loads(found)["data"]
        return data

    assert "patched" in apply_patch("old\n", "new\n")
    with pytest.raises(kubectl.KubectlError, match=r"test|Invalid|invalid"):
        apply_patch("old\n", "newer\n")
    assert read_data() == {KEY: "new\n", "other.policy": "kept\n"}
