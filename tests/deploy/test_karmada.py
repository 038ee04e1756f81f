"""deploy/karmada: what it promises, and that the API server takes it."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from policysched.cli.subcommands import karmada_run
from policysched.karmada_loop import options
from tests.deploy import kubectl
from tests.realcluster import api_client
from tests.realcluster import control_plane as control_planes

if TYPE_CHECKING:
    import pathlib

FOLDER = kubectl.DEPLOY / "karmada"
OVERLAYS = ("replace-default", "second-scheduler")
WITH_POLICIES = kubectl.DEPLOY.parent / "tests" / "deploy" / "karmada_policies"
NAMESPACE = "karmada-system"
_POD_IP = "$(POD_IP)"


def _pod(overlay: str) -> dict[str, Any]:
    objects = kubectl.rendered(FOLDER / "overlays" / overlay)
    deployment = kubectl.find(objects, "Deployment", "policysched-karmada")
    pod: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return pod


def _options(overlay: str) -> options.KarmadaSchedulerOptions:
    """Return what the arguments of the container mean to `karmada run`."""
    (container,) = _pod(overlay)["containers"]
    assert container["args"][:2] == ["karmada", "run"]
    parser = argparse.ArgumentParser()
    karmada_run.configure(parser)
    words = [word.replace(_POD_IP, "10.1.2.3") for word in container["args"][2:]]
    return karmada_run.read_karmada_run_options(parser.parse_args(words))


@pytest.mark.e2e
@pytest.mark.parametrize(
    "overlay, name, lease",
    [
        ("second-scheduler", "policysched", "policysched"),
        ("replace-default", "default-scheduler", "karmada-scheduler"),
    ],
)
def test_an_overlay_says_whose_bindings_are_served(overlay: str, name: str, lease: str) -> None:
    """Beside karmada-scheduler with a Lease of its own, in its place with the same one."""
    said = _options(overlay)
    assert said.scheduler_name == name
    assert said.election.leader_elect
    assert (said.election.resource_namespace, said.election.resource_name) == (NAMESPACE, lease)


@pytest.mark.e2e
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_container_can_do_little(overlay: str) -> None:
    """Not root, no capabilities, no writable root, no token of the host cluster."""
    pod = _pod(overlay)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


@pytest.mark.e2e
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_probes_and_ports_are_where_it_listens(overlay: str) -> None:
    """What the kubelet asks is what `karmada run` serves there."""
    said = _options(overlay)
    (container,) = _pod(overlay)["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert said.health_address is not None
    assert said.metrics_address is not None
    assert ports == {"metrics": said.metrics_address.port, "health": said.health_address.port}
    probes = [container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")]
    assert [probe["path"] for probe in probes] == ["/livez", "/livez", "/readyz"]
    assert {probe["port"] for probe in probes} == {"health"}


@pytest.mark.e2e
def test_cluster_policies_and_their_settings_are_mounted() -> None:
    """Files of ConfigMaps; a change of settings rolls out, one of policies does not."""
    objects = kubectl.rendered(WITH_POLICIES)
    settings = kubectl.find(objects, "ConfigMap", "policysched-karmada-settings")
    deployment = kubectl.find(objects, "Deployment", "policysched-karmada")
    pod = deployment["spec"]["template"]["spec"]
    maps = {
        each["name"]: each["configMap"]["name"] for each in pod["volumes"] if "configMap" in each
    }
    assert maps == {
        "settings": settings["metadata"]["name"],
        "cluster-policies": "policysched-cluster-policies",
    }
    assert settings["metadata"]["name"] != "policysched-karmada-settings"
    (container,) = pod["containers"]
    mounted = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert f"--config={mounted['settings']}/config.yaml" in container["args"]
    sample = WITH_POLICIES / "config.yaml"
    parser = argparse.ArgumentParser()
    karmada_run.configure(parser)
    said = karmada_run.read_karmada_run_options(parser.parse_args([f"--config={sample}"]))
    assert said.configuration.policies.paths == (mounted["cluster-policies"],)
    assert list(said.configuration.prometheus) == ["default"]


@pytest.fixture
def karmada_system(control_plane: control_planes.ControlPlane) -> control_planes.ControlPlane:
    """The control plane with the namespace that Karmada keeps its own things in."""
    with contextlib.suppress(api_client.ApiError):  # it is there from a test before
        control_plane.client.create_namespace(NAMESPACE)
    return control_plane


@pytest.mark.e2e
@pytest.mark.parametrize(
    "folder",
    [*(FOLDER / "overlays" / name for name in OVERLAYS), FOLDER / "control-plane", WITH_POLICIES],
    ids=[*OVERLAYS, "control-plane", "with policies"],
)
def test_a_dry_run_is_accepted(
    folder: pathlib.Path, karmada_system: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """All objects pass validation and admission, without a warning, and nothing is created."""
    kubeconfig = karmada_system.write_kubeconfig(tmp_path / "admin.kubeconfig")
    said = kubectl.run(
        "apply", "-k", str(folder), "--dry-run=server", "--validate=strict", kubeconfig=kubeconfig
    )
    lines = said.splitlines()
    assert len(lines) == len(kubectl.rendered(folder))
    assert all(line.endswith(" (server dry run)") for line in lines)
