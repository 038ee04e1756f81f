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

import pytest

import policysched
from tests.deploy import installed, kubectl, shell_commands
from tests.deploy.install import reader
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests, process

_LEFT = (
    "kubectl get clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,configmaps,"
    "deployments,services,poddisruptionbudgets,networkpolicies,leases --all-namespaces -o name"
)
_GENERATION = "kubectl get deployment policysched -n kube-system -o jsonpath={.metadata.generation}"
_POLICIES = "kubectl get configmap policysched-policies -n kube-system -o jsonpath={.data}"
_PROGRAM = ".venv/bin/policysched"
_TIME_LIMIT_SECONDS = 150.0


@pytest.mark.e2e
def test_the_commands_install_and_uninstall(
    person: reader.Reader, plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """A pod gets a node by the policy of the example; in the end nothing is left."""
    install, _, uninstall = reader.read_blocks("Kustomize or Helm")
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
def test_helm_installs_upgrades_and_uninstalls(person: reader.Reader) -> None:
    """The pods restart for an edit of the configuration, and not for one of the policies."""
    install, upgrade, uninstall = reader.read_blocks("Kustomize or Helm")
    before = person.type(_LEFT)
    person.type(install.splitlines()[0])
    notes = person.type(upgrade)
    assert "pods that name one of its profiles in schedulerName: pack." in notes
    assert person.type(_GENERATION) == "1"
    policy = person.checkout / "deploy" / "site" / "policies" / "pack.policy"
    policy.write_text(policy.read_text(encoding="utf-8") + "profile spare { }\n", encoding="utf-8")
    assert "in schedulerName: pack, spare." in person.type(upgrade)
    assert "profile spare" in person.type(_POLICIES)
    assert person.type(_GENERATION) == "1"
    values = person.checkout / "deploy" / "site" / "values.yaml"
    edited = values.read_text(encoding="utf-8") + "config: {logging: {format: text}}\n"
    values.write_text(edited, encoding="utf-8")
    person.type(upgrade)
    assert person.type(_GENERATION) == "2"
    person.type("helm rollback policysched 1 --namespace kube-system")
    assert "profile spare" not in person.type(_POLICIES)
    person.type("\n".join(re.findall(r"# with Helm: (.*)", uninstall)))
    assert person.type(_LEFT) == before


@pytest.mark.e2e
def test_helm_takes_over_the_objects_of_kubectl(person: reader.Reader) -> None:
    """Without the option of deploy/README.md it refuses; `helm uninstall` then removes them."""
    install, upgrade, uninstall = reader.read_blocks("Kustomize or Helm")
    before = person.type(_LEFT)
    person.type("\n".join(install.splitlines()[:2]))
    command = upgrade.rstrip()
    with pytest.raises(AssertionError, match="invalid ownership metadata"):
        person.type(command)
    person.type(f"{command} --take-ownership")
    person.type("\n".join(re.findall(r"# with Helm: (.*)", uninstall)))
    left = set(person.type(_LEFT).split()) - set(before.split())
    assert [name.partition("-config-")[0] for name in left] == ["configmap/policysched"]
    person.type(f"kubectl delete --namespace kube-system {left.pop()}")


@pytest.mark.e2e
def test_every_way_leads_to_the_image_of_the_example(
    person: reader.Reader, plane: control_planes.ControlPlane
) -> None:
    """The image that is built is pushed or loaded, and nodes that have it do not pull it."""
    [image] = reader.read_blocks("Image")
    person.type(image)
    [container] = kubectl.find(
        kubectl.rendered(kubectl.DEPLOY / "example"), "Deployment", "policysched"
    )["spec"]["template"]["spec"]["containers"]
    name = container["image"]
    assert name.endswith(f":{policysched.__version__}")
    assert person.read_recorded() == [
        "docker info",
        f"docker build --tag {name} --build-arg LOCK=runtime .",
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


@pytest.mark.parametrize(
    "line",
    [
        *"".join(reader.read_blocks("Try it")).splitlines(),
        *re.findall(r"`(make [^`]+)`", reader.read_section("Install")),
    ],
)
def test_targets_of_make_exist(line: str) -> None:
    """`make` knows all that it would do for them."""
    [make, target, *_] = shlex.split(line, comments=True)
    subprocess.run([make, "--dry-run", target], cwd=kubectl.DEPLOY.parent, check=True)


def test_nothing_to_pull_is_promised() -> None:
    """The image is to be built: the registry is an example."""
    text = reader.read_section("Install")
    assert "Neither an image nor a package is published." in text
    assert set(re.findall(r"[\w.]+\.\w+/policysched", text)) == {"registry.example.com/policysched"}
