"""`kubectl apply -k deploy/...` on a real API server."""

from __future__ import annotations

import json
import pathlib

import pytest

from tests.deploy import kubectl
from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

FOLDERS = {name: kubectl.DEPLOY / "overlays" / name for name in kubectl.OVERLAYS}
FOLDERS["everything"] = kubectl.EVERYTHING


@pytest.mark.parametrize("how", ["client", "server"])
@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_a_dry_run_is_accepted(
    folder: pathlib.Path,
    how: str,
    kubeconfig: pathlib.Path,
    fresh_plane: control_planes.ControlPlane,
) -> None:
    """All objects pass validation and admission, without a warning, and nothing is created."""
    said = kubectl.run(
        "apply", "-k", str(folder), f"--dry-run={how}", "--validate=strict", kubeconfig=kubeconfig
    )
    lines = said.splitlines()
    assert len(lines) == len(kubectl.rendered(folder))
    assert all(line.endswith(f" ({'server ' * (how == 'server')}dry run)") for line in lines)


def test_everything_is_created_and_applied_again_without_a_change(
    kubeconfig: pathlib.Path, deployed_plane: control_planes.ControlPlane
) -> None:
    """A second `kubectl apply -k` writes nothing: the server's defaults fight no manifest."""

    def versions() -> list[str]:
        said = kubectl.run("get", "-k", folder, "-o", "json", kubeconfig=kubeconfig)
        return [one["metadata"]["resourceVersion"] for one in json.loads(said)["items"]]

    folder = str(kubectl.EVERYTHING)
    kubectl.run("apply", "-k", folder, kubeconfig=kubeconfig)
    before = versions()
    assert len(before) == len(kubectl.rendered(kubectl.EVERYTHING))
    kubectl.run("apply", "-k", folder, kubeconfig=kubeconfig)
    assert versions() == before


def test_the_pods_would_be_admitted_where_security_is_restricted(
    deployed_plane: control_planes.ControlPlane,
) -> None:
    """A namespace with the Pod Security Standard `restricted` takes pods of all Deployments."""
    client = deployed_plane.client
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    client.create_namespace("restricted", labels=label)
    deployments = [
        one
        for folder in FOLDERS.values()
        for one in kubectl.rendered(folder)
        if one["kind"] == "Deployment"
    ]
    assert len(deployments) == len(kubectl.OVERLAYS) + 2  # everything: the webhook, too
    for deployment in deployments:
        pod = deployment["spec"]["template"]
        meta = {"generateName": "policysched-"} | pod["metadata"]
        body = {"metadata": meta, "spec": pod["spec"]}
        client.create("/api/v1/namespaces/restricted/pods", body)
