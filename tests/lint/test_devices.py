"""Rules about devices are compared with each other like all others."""

from __future__ import annotations

import pathlib

import pytest

from policysched.lint import linter, settings
from policysched.offline import lint_cluster
from tests.lint import cases

HEAD = 'description "d"\n  owner "o"\n  for pods where app = training\n'


@pytest.mark.parametrize(
    "rules, codes",
    [
        ("reject when freeDevices(gpu) < 2 as a", []),
        (
            "reject when freeDevices(gpu) < 2 as a\n  reject when freeDevices(gpu) < 4 as b",
            ["PS204"],
        ),
        (
            "reject when freeDevices(gpu) < 2 as a\n  reject when freeDevices(nic) < 4 as b",
            [],
        ),
        ("reject when devices(gpu) < 0 as a", ["PS310"]),
        ("reject when freeDevices(gpu) < 2 and freeDevices(gpu) > 5 as a", ["PS310"]),
        ("reject when freeDevices(gpu) < 2 and freeDevices(nic) > 5 as a", []),
        ("reject when freeDevices(gpu) < 1 and freeDevices(gpu) < 3 as a", ["PS311"]),
        ("score takenDevices(gpu) >= 0 weight 5 as a", ["PS310"]),
        ("score deviceAttribute(place) >= 0 missing score 0 weight 5 as a", []),
        ("score takenDevices(gpu) prefer low as a\n  score devices(gpu) prefer low as b", []),
        (
            "score takenDevices(gpu) prefer low as a\n  score takenDevices(gpu) prefer low as b",
            ["PS315"],
        ),
        (
            "score takenDevices(gpu) prefer low as a\n  score takenDevices(gpu) prefer high as b",
            ["PS205"],
        ),
    ],
)
def test_rules_about_devices(rules: str, codes: list[str]) -> None:
    """Equal functions of equal names are equal numbers, and counts are never negative."""
    found = cases.lint("PS204", f"policy p {{\n  {HEAD}  {rules}\n}}\n", settings.LintSettings())
    assert [each.code for each in found if each.severity != "info"] == codes


@pytest.mark.parametrize("kinds, is_told", [((), False), (("DeviceClass",), True)])
def test_names_are_unknown_only_if_the_listing_has_some(
    kinds: tuple[str, ...], is_told: bool, tmp_path: pathlib.Path
) -> None:
    """A listing of nodes and pods alone says nothing about devices."""
    made = [
        f"- {{apiVersion: resource.k8s.io/v1, kind: {kind}, metadata: {{name: gpu}}}}"
        for kind in kinds
    ]
    node = "- {apiVersion: v1, kind: Node, metadata: {name: n1}}"
    items = "\n".join([node, *made])
    (path := tmp_path / "cluster.yaml").write_text(f"apiVersion: v1\nkind: List\nitems:\n{items}\n")
    scored = "score deviceCapacity(none) prefer low missing score 0 as b"
    rules = f"reject when freeDevices(nic) < 2 as a\n  {scored}"
    result = cases.checked(f"policy p {{\n  {HEAD}  {rules}\n}}\n")
    assert result.program is not None
    cluster = lint_cluster.read_cluster_facts(str(path), result.program, cases.NOW)
    chosen = settings.LintSettings(select=("PS515",))
    found = linter.lint_program(result, chosen, cluster).findings
    assert bool(found) is is_told
    assert all("`nic`" in each.message for each in found)


def test_an_unknown_class_without_a_similar_name(tmp_path: pathlib.Path) -> None:
    """The finding names the classes that there are."""
    made = [
        f"- {{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {{name: {name}}}}}"
        for name in ("gpu", "whole-gpu", "nic", "tpu", "fpga", "dpu")
    ]
    items = "\n".join(["- {apiVersion: v1, kind: Node, metadata: {name: n1}}", *made])
    (path := tmp_path / "cluster.yaml").write_text(f"apiVersion: v1\nkind: List\nitems:\n{items}\n")
    rule = "reject when freeDevices(accelerator) < 2 as a"
    result = cases.checked(f"policy p {{\n  {HEAD}  {rule}\n}}\n")
    assert result.program is not None
    cluster = lint_cluster.read_cluster_facts(str(path), result.program, cases.NOW)
    chosen = settings.LintSettings(select=("PS515",))
    (found,) = linter.lint_program(result, chosen, cluster).findings
    assert found.help == "there are the classes `dpu`, `fpga`, `gpu`, `nic`, `tpu` and 1 more"
