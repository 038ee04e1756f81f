"""The rights of deploy/components/audit-evict are what `audit --evict` needs, and no more."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.deploy import kubectl, rights
from tests.e2e.scenes import scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

ACCOUNT = rights.Account("kube-system", "policysched-audit")
_POLICY = """version 1
policy fast { for pods  nodeAffinity required pool = fast as pool }
"""


@dataclasses.dataclass(frozen=True)
class Run:
    """What was seen of a run that evicted a pod.

    Attributes:
        granted: what the manifests allow.
        asked: what was asked for.
        moves: what happened to the violators.
    """

    granted: set[rights.Right]
    asked: rights.Asked
    moves: list[dict[str, Any]]


@pytest.fixture(scope="module")
def plane(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[control_planes.ControlPlane]:
    """A control plane with the component, which writes down what its account asks for."""
    folder = tmp_path_factory.mktemp("audit")
    component = kubectl.DEPLOY / "components" / "audit-evict"
    with control_planes.ControlPlane(folder, flags=rights.audit_flags(folder, ACCOUNT)) as made:
        admin = made.write_kubeconfig(folder / "admin.kubeconfig")
        for file in sorted(component.glob("*.yaml")):
            if file.name != "kustomization.yaml":
                kubectl.run("apply", "-f", str(file), kubeconfig=admin)
        said = kubectl.run(
            "create", "token", ACCOUNT.name, "-n", ACCOUNT.namespace, kubeconfig=admin
        )
        made.tokens[ACCOUNT.user] = said.strip()
        yield made


@pytest.fixture(scope="module")
def run(plane: control_planes.ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """An audit that evicts the only violator."""
    folder = tmp_path_factory.mktemp("run")
    client = plane.client
    client.create_namespace("test")
    client.create_nodes([manifests.node("slow"), manifests.node("fast", labels={"pool": "fast"})])
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u"}
    pod = manifests.pod("web", scheduler_name="policysched")
    pod["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    pod["spec"]["nodeName"] = "slow"
    client.create_pods("test", [pod])
    policy = folder / "fast.policy"
    policy.write_text(_POLICY, encoding="utf-8")
    kubeconfig = plane.write_kubeconfig(folder / "audit.kubeconfig", user=ACCOUNT.user)
    command = [*scheduler_process.PROGRAM, "audit", "--kubeconfig", str(kubeconfig), str(policy)]
    command += ["--evict", "--dry-run=false", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1, done.stderr
    granted = set(rights.granted(kubectl.rendered(kubectl.EVERYTHING), ACCOUNT))
    moves = json.loads(done.stdout)["moves"]["pods"]
    return Run(granted, rights.asked(plane.folder, since=0), moves)


def test_a_violator_is_evicted_without_a_refusal(run: Run) -> None:
    """Nothing that it asked for was forbidden."""
    assert [(each["outcome"], each["target"]) for each in run.moves] == [("evicted", "fast")]
    assert sorted(map(str, run.asked.refused)) == []


def test_no_right_is_left_over(run: Run) -> None:
    """Each was used, so that taking it away would have refused something."""
    assert len(run.granted) > 15  # they were read
    done = run.asked.allowed
    assert [str(one) for one in sorted(run.granted) if not any(map(one.covers, done))] == []


def test_the_scheduler_has_no_right_to_evict() -> None:
    """The rights of an audit are not in deploy/base."""
    evicting = {("pods/eviction", "create")}
    for overlay in kubectl.OVERLAYS:
        granted = rights.granted(kubectl.overlay(overlay))
        assert evicting.isdisjoint((one.resource, one.verb) for one in granted)
