"""Tests of policies about how long pods wait, and ages."""

from __future__ import annotations

import pathlib

import pytest

from policysched.cli import main
from tests.policytests import files

POLICY = """\
policy spot-first {
  for pods
  reject when not node(pool = spot) and waiting < 10m as patience
  reject when nodeAge < 2m or podAge >= 1h as ages
}
"""
HEAD = """\
policies: [web.policy]
nodes:
  spot: {labels: {pool: spot}, created: 2026-03-02T09:00:00Z}
  std: {created: 2026-03-02T10:00:00}
pods:
  new: {created: 2026-03-02T10:00:00Z}
  waits: {from: new, firstTried: 2026-03-02T11:00:05+01:00}
"""
CASES = """\
- name: first
  pod: new
  now: 2026-03-02T10:00:01Z
  expect: {feasible: [spot], rejected: {std: [patience, ages]}, exact: true}
- {name: early, pod: waits, now: 2026-03-02T10:10:04Z, expect: {rejected: {std: patience}}}
- {name: late, pod: waits, now: 2026-03-02T10:10:05Z, expect: {feasible: [spot, std]}}
- {name: old, pod: waits, now: 2026-03-02T11:00:00Z, expect: {rejected: {std: ages, spot: ages}}}
"""


def test_the_time_of_a_test_decides(tmp_path: pathlib.Path) -> None:
    """The same pod fits later, and no longer when it is old."""
    assert main.main(["test", files.write(tmp_path, CASES, HEAD, POLICY)]) == 0


@pytest.mark.parametrize(
    "pod, is_needed",
    [("waits", True), ("{firstTried: 2026-03-02T10:00:00Z}", True), ("{}", False)],
)
def test_times_of_pods_need_a_time_of_the_test(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], pod: str, *, is_needed: bool
) -> None:
    """Otherwise elapsed times would end at a time that the file does not show."""
    head = HEAD if pod == "waits" else "policies: [web.policy]\nnodes: {std: {}}\n"
    cases = f"- {{name: it, pod: {pod}, expect: {{rejected: {{std: patience}}}}}}\n"
    status = main.main(["test", files.write(tmp_path, cases, head, POLICY)])
    assert status == (2 if is_needed else 0)
    problem = "`spot-first/patience` depends on the time: set the time with `now`"
    assert (problem in capsys.readouterr().out) is is_needed


def test_a_wrong_time_is_an_error(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named with its line."""
    head = HEAD.replace("2026-03-02T10:00:00}", "yesterday}")
    assert main.main(["test", files.write(tmp_path, CASES, head, POLICY)]) == 2
    assert "web_test.yaml:4: `yesterday` is not a time such as" in capsys.readouterr().out


def test_generated_clusters_agree_in_all_properties(tmp_path: pathlib.Path) -> None:
    """Times are around the bounds of the policy."""
    path = files.write(tmp_path, CASES, HEAD, POLICY)
    assert main.main(["test", path, "--fuzz", "30", "--seed", "5"]) == 0
