"""README.md from a checkout to a scheduled pod, and back: each command is carried out.

The subject of test_dockerfile.py is the image. No kubelet and no controller runs: the test plays
them.
"""

from __future__ import annotations

import pathlib
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import policysched
from tests.deploy import installed, kubectl, rights, shell_commands
from tests.deploy.install import reader
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests, process

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEFT = (
    "kubectl get clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,configmaps,"
    "deployments,services,poddisruptionbudgets,networkpolicies,leases --all-namespaces -o name"
)
_PROGRAM = ".venv/bin/policysched"
_TIME_LIMIT_SECONDS = 150.0


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[control_planes.ControlPlane]:
    """A cluster of one node, for an installation and its end."""
    folder = tmp_path_factory.mktemp("install")
    flags = rights.audit_flags(folder)
    with control_planes.ControlPlane(folder, flags=flags, users=rights.USERS) as started:
        started.client.create_nodes([manifests.node("node-1")])
        yield started


@pytest.fixture
def person(plane: control_planes.ControlPlane, tmp_path: pathlib.Path) -> reader.Reader:
    """A reader at the beginning."""
    (tmp_path / ".kube").mkdir()
    plane.write_kubeconfig(tmp_path / ".kube" / "config")
    return reader.Reader(tmp_path)


@pytest.mark.e2e
def test_the_commands_install_and_uninstall(
    person: reader.Reader, plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """A pod gets a node by the policy of the example; in the end nothing is left."""
    _, install, uninstall = reader.read_blocks("Install")
    *apply, rollout, run, get = install.splitlines()
    before = person.type(_LEFT)
    person.type("\n".join(apply))
    shell_commands.finish_rollout(plane.client)
    person.type(rollout)
    with installed.Installed(plane, tmp_path).scheduler as scheduler:
        person.type(run)
        scheduler.wait_until(lambda: "node-1" in person.type(get))
    assert person.type(_LEFT) != before
    person.type(uninstall)
    assert person.type(_LEFT) == before


@pytest.mark.e2e
def test_every_way_leads_to_the_image_of_the_example(
    person: reader.Reader, plane: control_planes.ControlPlane
) -> None:
    """The image that is built is pushed or loaded, and nodes that have it do not pull it."""
    image, *_ = reader.read_blocks("Install")
    person.type(image)
    [container] = kubectl.find(
        kubectl.rendered(kubectl.DEPLOY / "example"), "Deployment", "policysched"
    )["spec"]["template"]["spec"]["containers"]
    name = container["image"]
    assert name.endswith(f":{policysched.__version__}")
    assert person.read_recorded() == [
        f"docker build --tag {name} .",
        f"docker push {name}",
        f"kind load docker-image {name}",
        f"minikube image load {name}",
    ]
    pod = {
        "metadata": {"name": "image"},
        "spec": {"containers": [container | {"volumeMounts": []}]},
    }
    made = plane.client.create("/api/v1/namespaces/default/pods", pod)
    assert made["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"


@pytest.mark.e2e
def test_the_program_needs_no_image(
    person: reader.Reader, plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Typed in the checkout, it schedules the pods of the example's profile."""
    [command] = re.findall(rf"`({_PROGRAM} run .*)`", reader.read_section("Try it"))
    program = shlex.join([sys.executable, "-m", "policysched"])
    typed = f"cd {person.checkout}; exec {command.replace(_PROGRAM, program)}"
    server = process.ServerProcess(
        ["/bin/sh", "-euc", typed], log=tmp_path / "run.log", environment=person.environment
    )
    plane.client.create_pods("default", [manifests.pod("by-hand", scheduler_name="pack")])
    server.start()
    try:
        server.wait_until(
            lambda: plane.client.pod("default", "by-hand")["spec"].get("nodeName") == "node-1",
            time_limit_seconds=_TIME_LIMIT_SECONDS,
        )
    finally:
        server.kill()


@pytest.mark.parametrize("line", "".join(reader.read_blocks("Try it")).splitlines())
def test_targets_of_make_exist(line: str) -> None:
    """`make` knows all that it would do for them."""
    [make, target] = shlex.split(line, comments=True)
    subprocess.run([make, "--dry-run", target], cwd=kubectl.DEPLOY.parent, check=True)


def test_nothing_to_pull_is_promised() -> None:
    """The image is to be built: the registry is an example."""
    text = reader.read_section("Install")
    assert "Neither an image nor a package is published." in text
    assert set(re.findall(r"[\w.]+\.\w+/policysched", text)) == {"registry.example.com/policysched"}
