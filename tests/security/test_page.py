"""docs/security.md says what is so: each line is tied to a test, and its example does its work."""

from __future__ import annotations

import ast
import pathlib
import re
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.realcluster import api_client, manifests

if TYPE_CHECKING:
    from tests.realcluster import control_plane as control_planes

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", TEXT)))
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_KINDS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


@pytest.mark.parametrize("name", NAMED)
def test_each_named_test_exists(name: str) -> None:
    """The file is there, and a function of this name in it, be it in a class."""
    file, _, function = name.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }
    assert function in functions if function else functions


def test_each_line_names_a_test() -> None:
    """No claim of what cannot be stands there without one."""
    sections = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    assert len(sections) == 6
    for section in sections:
        rows = re.findall(r"^\| (?!cannot|is protected|---)(.*) \|$", section, re.MULTILINE)
        assert len(rows) >= 5, section[:30]
        for row in rows:
            assert "`tests/" in row.rpartition(" | ")[2], row


@pytest.mark.e2e
def test_the_guard_keeps_others_off_a_profile(
    control_plane: control_planes.ControlPlane, namespace: str
) -> None:
    """A pod for the profile is refused without the label of the namespace, and taken with it."""
    (text,) = re.findall(r"```yaml profile-guard.yaml\n(.*?)```", TEXT, re.DOTALL)
    client = control_plane.client
    client.create_namespace(f"{namespace}-ml", {"team": "ml"})
    guards = list(yaml.safe_load_all(text))
    for guard in guards:
        client.create(f"{_ADMISSION}/{_KINDS[guard['kind']]}", guard)
    try:
        control_plane.api_server.wait_until(
            lambda: not _may_create(client, namespace, "gpu"), time_limit_seconds=60.0
        )
        assert _may_create(client, namespace, "policysched")
        assert _may_create(client, f"{namespace}-ml", "gpu")
    finally:
        for guard in guards:
            name = guard["metadata"]["name"]
            client.delete(f"{_ADMISSION}/{_KINDS[guard['kind']]}/{name}")


def _may_create(client: api_client.ApiClient, namespace: str, scheduler_name: str) -> bool:
    pod = manifests.pod("web", scheduler_name=scheduler_name)
    try:
        client.create(f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
    except api_client.ApiError as error:
        if "team ml" not in str(error):
            raise
        return False
    return True
