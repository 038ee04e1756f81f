"""What docs/operations.md says of installing, alerts and sharing nodes."""

from __future__ import annotations

import json
import os
import pathlib
import re

import pytest
import yaml

from policysched.cli import main
from tests.deploy import kubectl, queries
from tests.realcluster import manifests

TEXT = (kubectl.DEPLOY.parent / "docs" / "operations.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^```\w+ ([\w.]+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(Policysched\w+)`", TEXT))))
def test_alerts_that_it_names_are_there(name: str) -> None:
    """Whoever looks for one finds it."""
    assert name in queries.alerts()


@pytest.mark.parametrize(
    "folder", sorted(set(re.findall(r"deploy/(?:overlays|components)/[\w-]+", TEXT)))
)
def test_folders_that_it_names_are_there(folder: str) -> None:
    """Whoever applies one finds it."""
    assert (kubectl.DEPLOY.parent / folder / "kustomization.yaml").is_file()


@pytest.mark.e2e
def test_a_kustomization_over_an_overlay_takes_the_place_of_a_chart(tmp_path: pathlib.Path) -> None:
    """Image and replicas are those that it names; everything else is the overlay's."""
    overlay = os.path.relpath(kubectl.DEPLOY / "overlays", tmp_path)
    text = BLOCKS["kustomization.yaml"].replace("deploy/overlays", overlay)
    (tmp_path / "kustomization.yaml").write_text(text, encoding="utf-8")
    made = kubectl.rendered(tmp_path)
    spec = kubectl.find(made, "Deployment", "policysched")["spec"]
    assert spec["replicas"] == 3
    (container,) = spec["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.com/policysched:0.2.0"
    assert len(made) == len(kubectl.overlay("second-scheduler"))


def test_editors_get_a_role_that_is_shipped() -> None:
    """It lets them edit the ConfigMap of the policies, and read the history."""
    binding = yaml.safe_load(BLOCKS["editors.yaml"])
    reference = binding["roleRef"]
    role = kubectl.find(kubectl.overlay("second-scheduler"), reference["kind"], reference["name"])
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"]
    assert {name for rule in role["rules"] for name in rule["resourceNames"]} == {
        "policysched-policies",
        "policysched-policies-history",
    }


def test_the_fence_keeps_nodes_apart(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pods of the one profile go to their own nodes alone, of the other only where room is left."""
    (tmp_path / "fence.policy").write_text(BLOCKS["fence.policy"], encoding="utf-8")
    dedicated = ("dedicated", "policysched", "NoSchedule")
    nodes = [
        manifests.node("own", labels={"dedicated": "policysched"}, taints=[dedicated]),
        manifests.node("full"),
        manifests.node("roomy"),
    ]
    filler = manifests.pod("filler", requests={"cpu": "7"}, spec={"nodeName": "full"})
    pods = [
        manifests.pod("a", scheduler_name="own", requests={"cpu": "1"}),
        manifests.pod("b", scheduler_name="shared", requests={"cpu": "900m"}),
        manifests.pod("c", scheduler_name="shared", requests={"cpu": "7800m"}),
    ]
    for number, pod in enumerate((filler, *pods)):
        pod["metadata"] |= {"namespace": "default", "uid": str(number)}
    cluster = tmp_path / "cluster.json"
    items = [*nodes, filler, *pods]
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    argv = ["simulate", "--cluster", str(cluster), "--policies", str(tmp_path), "-o", "json"]
    assert main.main(argv) == 0
    placed = json.loads(capsys.readouterr().out)["placements"]
    assert {one["pod"]: one["node"] for one in placed} == {
        "default/a": "own",
        "default/b": "roomy",
        "default/c": None,
    }
