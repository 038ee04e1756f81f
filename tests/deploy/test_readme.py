"""deploy/README.md says what is so."""

from __future__ import annotations

import os
import pathlib
import re

import pytest
import yaml

from policysched.cli import main
from tests.deploy import kubectl

TEXT = (kubectl.DEPLOY / "README.md").read_text(encoding="utf-8")
FOLDERS = re.findall(r"^\| `([\w/-]+)/` \|", TEXT, re.MULTILINE)


def test_every_folder_has_its_row() -> None:
    """Those with a kustomization, and no others; deploy/site is the reader's own."""
    there = {path.parent for path in kubectl.DEPLOY.rglob("kustomization.yaml")}
    assert {kubectl.DEPLOY / folder for folder in FOLDERS} == there - {kubectl.DEPLOY / "site"}


def test_the_policies_of_the_example_are_sound(capsys: pytest.CaptureFixture[str]) -> None:
    """The checker and lint have no finding."""
    assert main.main(["lint", str(kubectl.DEPLOY / "example" / "policies")]) == 0
    assert capsys.readouterr().err.strip() == "no findings"


def test_values_that_it_names_are_there() -> None:
    """A reader can set each of them."""
    rows = re.findall(r"^\|[^|]+\| (`[^|]+) \|$", TEXT.partition("| value |")[2], re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"`([A-Za-z.]+)[`:]", row)]
    assert len(names) > 10
    values = yaml.safe_load((kubectl.DEPLOY / "values.yaml").read_text(encoding="utf-8"))
    for name in names:
        field = values
        for step in name.split("."):
            assert step in field, name
            field = field[step]


@pytest.mark.e2e
@pytest.mark.parametrize("name", re.findall(r"Role\n?\s*`([a-z-]+)`", TEXT))
def test_roles_that_it_names_are_there(name: str) -> None:
    """A reader can bind them."""
    roles = [one for one in kubectl.overlay("second-scheduler") if one["kind"].endswith("Role")]
    assert name in [role["metadata"]["name"] for role in roles]


@pytest.mark.e2e
def test_its_overlay_is_one(tmp_path: pathlib.Path) -> None:
    """kustomize takes it: image and policies are those that it says."""
    (text,) = re.findall(r"```yaml kustomization.yaml\n(.*?)```", TEXT, re.DOTALL)
    deploy = os.path.relpath(kubectl.DEPLOY, tmp_path.resolve())
    file = tmp_path / "kustomization.yaml"
    file.write_text(text.replace("- ..", f"- {deploy}"), encoding="utf-8")
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "web-tier.policy").write_text("profile web { }\n", encoding="utf-8")
    objects = kubectl.rendered(tmp_path)
    pod = kubectl.find(objects, "Deployment", "policysched")["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "registry.example.com/policysched:0.2.0"
    policies = kubectl.find(objects, "ConfigMap", "policysched-policies")
    assert policies["data"] == {"web-tier.policy": "profile web { }\n"}
