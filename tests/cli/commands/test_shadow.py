"""`explain` and `simulate` say what shadow policies would have done."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from policysched.cli import main
from tests import report_schemas
from tests.cli import clusters

POLICIES = """
policy now { for pods nodeAffinity preferred disk = ssd weight 100 }
policy next { mode shadow for pods nodeAffinity required disk = hdd as disks }
policy strict { mode shadow for pods where app = none nodeAffinity required disk = tape }
policy tape { mode shadow for pods in namespace (prod) nodeAffinity required disk = tape as tape }
"""


@pytest.fixture
def arguments(tmp_path: pathlib.Path) -> list[str]:
    """Return the options for a cluster of two nodes and two pods."""
    cluster = clusters.write(
        tmp_path,
        clusters.node("n1", disk="ssd"),
        clusters.node("n2", disk="hdd"),
        clusters.pod("a"),
        clusters.pod("b"),
    )
    policies = tmp_path / "next.policy"
    policies.write_text(POLICIES, encoding="utf-8")
    return ["--cluster", cluster, "--policies", str(policies)]


def _run(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main.main(list(argv)) == 0
    return capsys.readouterr().out


def _json(capsys: pytest.CaptureFixture[str], schema: str, *argv: str) -> Any:
    report = json.loads(_run(capsys, *argv, "-o", "json"))
    report_schemas.check_report(report, schema)
    return report


TAPE = "0/2 nodes are available: 2 node(s) didn't match policy tape/tape."
VERDICTS = [
    {"policy": "next", "outcome": "otherNode", "node": "n2", "message": ""},
    {
        "policy": "tape",
        "outcome": "newlyUnschedulable",
        "node": None,
        "message": TAPE,
    },
]


def test_explain_has_a_verdict_of_each_policy_that_has_a_say(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The real decision stands as it is, beside it what would have become of the pod."""
    first, _ = _json(capsys, "explain", "explain", *arguments, "--all")
    assert (first["best"], first["message"]) == (["n1"], "")
    said = [{**each, "message": each["message"][: len(TAPE)]} for each in first["shadow"]]
    assert said == VERDICTS


def test_explain_tells_people(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each policy, behind the scores."""
    said = _run(capsys, "explain", *arguments, "pod", "prod/a")
    assert "\n\n  shadow policy next: it would go to n2\n" in said
    assert f"\n  shadow policy tape: it would stay pending: {TAPE}" in said
    assert "strict" not in said


def test_simulate_places_pods_as_without_and_says_what_would_change(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Pods go where the policies in force say."""
    report = _json(capsys, "simulate", "simulate", *arguments, "--deterministic")
    assert [each["node"] for each in report["placements"]] == ["n1", "n1"]
    assert [each["shadow"][0]["node"] for each in report["placements"]] == ["n2", "n2"]
    said = _run(capsys, "simulate", *arguments, "--deterministic")
    assert (
        "\n\nshadow policy next: 2 of 2 decisions would be different\n"
        "  prod/a: it would go to n2\n"
        "  prod/b: it would go to n2\n"
        "\nshadow policy tape: 2 of 2 decisions would be different\n"
        f"  prod/a: it would stay pending: {TAPE}"
    ) in said


def test_without_shadow_policies_nothing_is_said(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The forms are as they were."""
    report = _json(capsys, "simulate", "simulate", *arguments[:2], "--deterministic")
    assert all("shadow" not in each for each in report["placements"])
    assert "shadow" not in _run(capsys, "explain", *arguments[:2], "--all")
