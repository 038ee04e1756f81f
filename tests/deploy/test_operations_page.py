"""What docs/operations.md and its reference pages say of manifests, alerts and shared nodes."""

from __future__ import annotations

import json
import os
import pathlib
import re
from typing import Any

import pytest
import yaml

from policysched.cli import main
from tests.app import operations_page
from tests.deploy import kubectl, queries
from tests.realcluster import manifests

TEXT, BLOCKS = operations_page.TEXT, operations_page.BLOCKS


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(Policysched\w+)`", TEXT))))
def test_alerts_that_it_names_are_there(name: str) -> None:
    """An operator finds each of them."""
    assert name in queries.alerts()


def test_every_alert_has_a_remedy() -> None:
    """The runbook has a row for each alert, in the order of the manifest."""
    section = TEXT.split("\n### Alerts\n")[1].split("\n### ")[0]
    rows = re.findall(r"^\| `(\w+)` \| [^|]{20,} \| [^|]{20,} \|$", section, re.MULTILINE)
    assert rows == list(queries.alerts())


@pytest.mark.parametrize(
    "folder", sorted(set(re.findall(r"deploy/(?:overlays|components)/[\w-]+", TEXT)))
)
def test_folders_that_it_names_are_there(folder: str) -> None:
    """An operator who applies one finds it."""
    assert (kubectl.DEPLOY.parent / folder / "kustomization.yaml").is_file()


def _render(folder: pathlib.Path, text: str) -> tuple[dict[str, Any], ...]:
    overlay = os.path.relpath(kubectl.DEPLOY / "overlays", folder)
    text = text.replace("deploy/overlays", overlay)
    (folder / "kustomization.yaml").write_text(text, encoding="utf-8")
    return kubectl.rendered(folder)


@pytest.mark.e2e
def test_a_kustomization_over_an_overlay_takes_the_place_of_a_chart(tmp_path: pathlib.Path) -> None:
    """Image and replicas are those that it names; everything else is the overlay's."""
    made = _render(tmp_path, BLOCKS["kustomization.yaml"])
    spec = kubectl.find(made, "Deployment", "policysched")["spec"]
    assert spec["replicas"] == 3
    (container,) = spec["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.com/policysched:0.2.0"
    assert len(made) == len(kubectl.overlay("second-scheduler"))


@pytest.mark.e2e
def test_files_replace_policies_and_configuration(tmp_path: pathlib.Path) -> None:
    """Both ConfigMaps have the files; only the name of the configuration ends in a hash."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "web-tier.policy").write_text("profile web { }\n", encoding="utf-8")
    (tmp_path / "config.yaml").write_text("params: {}\n", encoding="utf-8")
    made = _render(tmp_path, BLOCKS["kustomization.yaml"] + BLOCKS["files.yaml"])
    policies = kubectl.find(made, "ConfigMap", "policysched-policies")
    assert policies["metadata"]["name"] == "policysched-policies"
    assert policies["data"] == {"web-tier.policy": "profile web { }\n"}
    config = kubectl.find(made, "ConfigMap", "policysched-config")
    assert config["data"] == {"config.yaml": "params: {}\n"}
    pod = kubectl.find(made, "Deployment", "policysched")["spec"]["template"]["spec"]
    mounted = next(one["configMap"]["name"] for one in pod["volumes"] if one["name"] == "config")
    assert mounted == config["metadata"]["name"] != "policysched-config"


@pytest.mark.e2e
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
