from __future__ import annotations

import pathlib

import pytest

from policysched.cli import main
from policysched.policytests import running
from tests.policytests import files

POLICY = """\
policy web {
  for pods where app = web
  nodeAffinity required disk = ssd and disk = hdd as never
}
"""
HEAD = "policies: [web.policy]\nnodes: {n1: {}}\nlint: {expect: [PLACE]}\n"


def _run(folder: pathlib.Path, expected: str, policy: str = POLICY) -> running.PolicyTestRun:
    head = HEAD.replace("PLACE", expected)
    tests = "- {name: it, pod: {labels: {app: web}}, expect: {feasible: []}}\n"
    return running.run_test_suites([files.write(folder, tests, head, policy)])


def _finding(folder: pathlib.Path) -> str:
    (result,) = [each for each in _run(folder, "").results if each.case.name == "lint"]
    assert result.status == "fail"
    (mismatch,) = result.mismatches
    return mismatch.actual


def test_expected_findings_pass(tmp_path: pathlib.Path) -> None:
    """The code, the file as seen from the file of tests, the line."""
    found = _finding(tmp_path)
    assert found.startswith("['PS2")
    assert "@web.policy:3" in found
    done = _run(tmp_path, found.strip("[]'").replace("@", "@./"))
    assert [each.status for each in done.results] == ["pass", "pass"]


@pytest.mark.parametrize("wrong", ["PS203@web.policy:2", "PS201@web.policy:1"])
def test_other_findings_fail_with_what_was_found(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], wrong: str
) -> None:
    """One test called lint, with the difference and the line of `expect`."""
    _run(tmp_path, wrong)
    assert main.main(["test", str(tmp_path / "web_test.yaml")]) == 1
    said = capsys.readouterr().out
    assert (
        f"web_test.yaml:3: lint\n  - expect: ['{wrong}']\n  + expect: {_finding(tmp_path)}" in said
    )


@pytest.mark.parametrize(
    "expected, problem",
    [
        pytest.param("PS999@web.policy:3", "there is no diagnostic `PS999`", id="code"),
        pytest.param("PS201@wib.policy:3", "there is no policy file `wib.policy`", id="file"),
        pytest.param("PS201", "PS201", id="form"),
    ],
)
def test_unknown_names_are_errors(tmp_path: pathlib.Path, expected: str, problem: str) -> None:
    """A code or file that does not exist is expected by mistake."""
    done = _run(tmp_path, expected)
    (said,) = done.problems.values()
    assert problem in said
    assert "web_test.yaml:3" in said


def test_update_writes_the_findings(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--update` replaces the list."""
    found = _finding(tmp_path)
    path = tmp_path / "web_test.yaml"
    assert main.main(["test", str(path), "--update"]) == 0
    capsys.readouterr()
    assert f"lint: {{expect: {found}}}" in path.read_text("utf-8")


def test_run_chooses_it_by_name(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--run lint` runs it alone, other runs omit it."""
    _run(tmp_path, "")
    path = str(tmp_path / "web_test.yaml")
    assert main.main(["test", path, "--run", "^it$"]) == 0
    assert main.main(["test", path, "--run", "^lint$"]) == 1
    assert capsys.readouterr().out.endswith("0 passed, 1 failed\n")
