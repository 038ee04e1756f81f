"""The commands about pods that wait, at different times."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
import yaml

from policysched.cli import main

POLICY = """
policy spot-first {
  for pods where app = batch
  reject when not node(pool = spot) and waiting < 10m as patience
}
"""
OPEN = "policy spot-first { for pods where app = batch }\n"
WAITS_SINCE = "2026-03-02T10:00:00Z"


def _write_cluster(folder: pathlib.Path) -> str:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "std"},
        "status": {"allocatable": amounts},
    }
    condition = {"type": "PodScheduled", "status": "False", "lastTransitionTime": WAITS_SINCE}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "labels": {"app": "batch"}},
        "spec": {"containers": [{"name": "main", "image": "app"}]},
        "status": {"phase": "Pending", "conditions": [condition]},
    }
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump_all([node, pod]), encoding="utf-8")
    for name, text in (("new", POLICY), ("old", OPEN)):
        (folder / f"{name}.policy").write_text(text, encoding="utf-8")
    return str(path)


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    main.main([*arguments, "-o", "json"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("clock, node", [("10:09:59", None), ("10:10:00", "std")])
def test_simulate_decides_at_the_given_time(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], clock: str, node: str | None
) -> None:
    """The pod fits from the second at which it has waited for ten minutes."""
    cluster, policies = _write_cluster(tmp_path), str(tmp_path / "new.policy")
    now = ("--cluster", cluster, "--now", f"2026-03-02T{clock}Z")
    found = _run(capsys, "simulate", "--policies", policies, *now)
    assert [each["node"] for each in found["placements"]] == [node]


def test_explain_tells_how_long_the_pod_has_to_wait(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a shorter time that is already over would help."""
    cluster, policies = _write_cluster(tmp_path), str(tmp_path / "new.policy")
    now = ("--cluster", cluster, "--now", "2026-03-02T10:04:00Z")
    (found,) = _run(capsys, "explain", "pod", "p", "--policies", policies, *now)
    (failure,) = found["nodes"]["std"]["all"]
    waits = "waiting 4m < 10m, decided again at 2026-03-02T10:10:00Z"
    assert failure["evidence"] == f"no label pool; {waits}"
    assert found["times"] == [
        {"policy": "spot-first", "rule": "patience", "line": 4, "time": waits}
    ]
    main.main(["explain", "pod", "p", "--policies", policies, *now])
    assert f"\n  spot-first/patience (line 4): {waits}\n" in capsys.readouterr().out
    thresholds = [each for each in found["edits"] if each["kind"] == "threshold"]
    assert [(each["from"], each["to"]) for each in thresholds] == [("10m", "4m")]


@pytest.mark.parametrize("clock, causes", [("10:09:59", ["spot-first/patience"]), ("10:10:00", [])])
def test_plan_names_the_rule_as_long_as_it_rejects(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], clock: str, causes: list[str]
) -> None:
    """Afterwards, the new rule changes nothing for this pod."""
    cluster = _write_cluster(tmp_path)
    sides = ("--from", str(tmp_path / "old.policy"), "--to", str(tmp_path / "new.policy"))
    now = ("--cluster", cluster, "--now", f"2026-03-02T{clock}Z")
    found = _run(capsys, "plan", *sides, *now)
    assert [each["name"] for each in found["edits"] if each["pods"]["unschedulable"]] == causes
    assert [each["cause"]["how"] for each in found["changes"]] == [
        "std: node(s) rejected by policy spot-first/patience; "
        "waiting 9m59s < 10m, decided again at 2026-03-02T10:10:00Z"
        for _ in causes
    ]


@pytest.mark.parametrize("created", ["2026-03-01T00:00:00Z", "9999-12-31T23:59:00Z"])
@pytest.mark.parametrize(
    "rule",
    [
        "reject when nodeAge < 5m",
        "reject when nodeAge < 9999y",
        "reject when nodeAge < 9999999999999999999y",
        "reject when waiting < 10000y",
        "reject when podAge < 200000y",
        "reject when waiting < 9999999999999999999y",
        'reject when node(nodeName = std) expires "9999-12-31T23:59:59-12:00"',
        'reject when node(nodeName = std) expires "9999-12-31"',
    ],
)
def test_changes_after_the_year_9999_are_no_changes(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], rule: str, created: str
) -> None:
    """All commands take a time that no date has for one that never comes."""
    cluster = pathlib.Path(_write_cluster(tmp_path))
    node, pod = yaml.safe_load_all(cluster.read_text(encoding="utf-8"))
    for each in (node, pod):
        each["metadata"]["creationTimestamp"] = created
    cluster.write_text(yaml.safe_dump_all([node, pod]), encoding="utf-8")
    policies = tmp_path / "new.policy"
    policies.write_text(f"policy p {{ for pods {rule} as r }}", encoding="utf-8")
    options = ("--cluster", str(cluster), "--now", "2026-03-02T10:00:00Z")
    inputs = ("--policies", str(policies), *options)
    is_free = created.startswith("2026") and "5m" in rule
    placement = _run(capsys, "simulate", *inputs)["placements"][0]
    assert placement["node"] == ("std" if is_free else None)
    main.main(["explain", *inputs, "pod", "default/p", "--node", "std"])
    explained = capsys.readouterr().out
    assert "decided again" not in explained
    assert ("p/r" in explained) is not is_free
    old = str(tmp_path / "old.policy")
    plan = _run(capsys, "plan", "--from", old, "--to", str(policies), *options)
    assert plan["summary"]
