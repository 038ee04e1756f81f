"""What docs/ci.md promises: the hooks, the action, and the snippets."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import stat
import subprocess
import sys
from typing import Any

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
SCRIPTS = {name: step["run"] for name, step in STEPS.items() if "run" in step}
_FENCE = re.compile(r"^```yaml ([\w./-]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SNIPPETS = dict(_FENCE.findall((ROOT / "docs" / "ci.md").read_text("utf-8")))

POLICY = """\
policy web {
  for pods where app = web
  nodeAffinity required disk = ssd as fast-disk
}
"""
UNFORMATTED = POLICY.replace("  nodeAffinity", " nodeAffinity")
BROKEN = "policy web { what }\n"
SUSPICIOUS = POLICY.replace("disk = ssd", "disk = ssd and disk = hdd")
TESTS = """\
policies: [policies]
nodes: {n1: {labels: {disk: ssd}}, n2: {}}
tests:
  - {name: it, pod: {labels: {app: web}}, expect: {node: NODE}}
"""
CLUSTER = """\
{"kind": "List", "apiVersion": "v1", "items": [
  {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "labels": {"disk": "ssd"}},
   "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}},
  {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n2", "labels": {"disk": "hdd"}},
   "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}},
  {"kind": "Pod", "apiVersion": "v1",
   "metadata": {"name": "w", "namespace": "d", "uid": "u", "labels": {"app": "web"}},
   "spec": {"containers": [{"name": "c"}]}}
]}
"""


@pytest.fixture
def project(tmp_path: pathlib.Path) -> pathlib.Path:
    """A repository with a policy, a test of it, and a policysched on the PATH."""
    (tmp_path / "repo" / "policies").mkdir(parents=True)
    (tmp_path / "repo" / "policies" / "web.policy").write_text(POLICY, "utf-8")
    (tmp_path / "repo" / "web_test.yaml").write_text(TESTS.replace("NODE", "n1"), "utf-8")
    (tmp_path / "repo" / "cluster.json").write_text(CLUSTER, "utf-8")
    (tmp_path / "bin").mkdir()
    program = f'#!/bin/sh\nexec {sys.executable} -m policysched "$@"\n'
    _executable(tmp_path / "bin" / "policysched", program)
    return tmp_path / "repo"


def _executable(path: pathlib.Path, text: str) -> None:
    path.write_text(text, "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def _run(
    command: list[str], project: pathlib.Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    path = f"{project.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    given = {"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(project.parent), **environment}
    return subprocess.run(
        command, cwd=project, capture_output=True, text=True, env=given, check=False
    )


# ---------------------------------------------------------------------------- pre-commit


def _hook(name: str) -> dict[str, Any]:
    (found,) = [hook for hook in HOOKS if hook["id"] == f"policysched-{name}"]
    return dict(found)


def _command(name: str, changed: list[str]) -> list[str]:
    """Return what pre-commit runs: the entry, its args, and the changed files it matches."""
    hook = _hook(name)
    files = [each for each in changed if re.search(hook["files"], each)]
    assert files
    command = [*shlex.split(hook["entry"]), *hook.get("args", [])]
    return command + (files if hook.get("pass_filenames", True) else [])


def test_hooks_have_what_pre_commit_asks_for() -> None:
    """Id, name, entry and language of each; no other keys than it knows."""
    assert {hook["id"].removeprefix("policysched-") for hook in HOOKS} == {
        "check",
        "lint",
        "fmt",
        "test",
    }
    for hook in HOOKS:
        assert {"id", "name", "entry", "language", "files"} <= hook.keys()
        assert hook["language"] == "python"
        known = {"id", "name", "description", "entry", "language", "files"}
        assert hook.keys() <= known | {"pass_filenames", "args"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, bad, exit_code",
    [
        pytest.param("check", BROKEN, 2, id="check"),
        pytest.param("lint", SUSPICIOUS, 1, id="lint"),
        pytest.param("test", POLICY.replace("ssd", "hdd"), 1, id="test"),
    ],
)
def test_hooks_pass_and_fail(project: pathlib.Path, name: str, bad: str, exit_code: int) -> None:
    """The declared entry is really run on files."""
    command = _command(name, ["policies/web.policy"])
    done = _run(command, project)
    assert done.returncode == 0, done.stdout + done.stderr
    (project / "policies" / "web.policy").write_text(bad, "utf-8")
    done = _run(command, project)
    assert done.returncode == exit_code, done.stdout + done.stderr


def test_the_hook_of_fmt_rewrites_changed_files(project: pathlib.Path) -> None:
    """pre-commit fails by itself where a hook has changed a file."""
    file = project / "policies" / "web.policy"
    file.write_text(UNFORMATTED, "utf-8")
    done = _run(_command("fmt", ["policies/web.policy", "README.md"]), project)
    assert done.returncode == 0, done.stderr
    assert file.read_text("utf-8") == POLICY


# ---------------------------------------------------------------------------- the action


def test_the_action_has_the_form_of_a_composite_action() -> None:
    """Every input is described and has a default; every script names its shell."""
    assert {"name", "description", "inputs", "runs"} <= ACTION.keys()
    assert ACTION["runs"]["using"] == "composite"
    for spec in ACTION["inputs"].values():
        assert {"description", "default"} == spec.keys()
    for step in ACTION["runs"]["steps"]:
        assert step["name"]
        assert ("uses" in step) != ("run" in step)
        assert "uses" in step or step["shell"] == "bash"


def test_scripts_get_inputs_by_the_environment_alone() -> None:
    """A value with quotes or commands in it is a value; inputs that are used exist."""
    for script in SCRIPTS.values():
        assert "${{" not in script
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text("utf-8")))
    assert used == ACTION["inputs"].keys()
    for step in STEPS.values():
        variables = set(re.findall(r"\$\{?([A-Z_]+)", step.get("run", "")))
        own = step.get("env", {}).keys()
        assert own <= variables | {"GH_TOKEN"}
        assert all(each in own or each.startswith(("GITHUB_", "RUNNER_")) for each in variables)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_have_nothing_for_shellcheck(name: str, tmp_path: pathlib.Path) -> None:
    """Neither quoting nor arrays nor what else shells are bad at."""
    file = tmp_path / "step.sh"
    file.write_text(f"#!/usr/bin/env bash\n{SCRIPTS[name]}", "utf-8")
    shellcheck = pathlib.Path(sys.executable).with_name("shellcheck")
    done = subprocess.run([shellcheck, file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def _step(name: str, project: pathlib.Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub does: `bash -e -o pipefail`, with the defaults of inputs."""
    given = {
        variable: environment.get(variable, _default(written))
        for variable, written in STEPS[name].get("env", {}).items()
    }
    temp = project.parent
    surroundings = {"RUNNER_TEMP": str(temp), "GITHUB_STEP_SUMMARY": str(temp / "summary.md")}
    return _run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", SCRIPTS[name]],
        project,
        **given,
        **surroundings,
    )


def _default(written: str) -> str:
    found = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", written)
    return str(ACTION["inputs"][found[1]]["default"]) if found else ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, bad, told",
    [
        pytest.param("Check", BROKEN, "::error file=policies/web.policy,line=1", id="check"),
        pytest.param("Lint", SUSPICIOUS, "file=policies/web.policy,line=3", id="lint"),
        pytest.param("Test", POLICY.replace("ssd", "hdd"), "+ node: null", id="test"),
    ],
)
def test_steps_pass_and_fail(project: pathlib.Path, name: str, bad: str, told: str) -> None:
    """Findings are told by the line, and fail the job."""
    done = _step(name, project, TESTS=".", CLUSTER="cluster.json", THRESHOLD="50")
    assert done.returncode == 0, done.stdout + done.stderr
    (project / "policies" / "web.policy").write_text(bad, "utf-8")
    done = _step(name, project, TESTS=".", CLUSTER="cluster.json", THRESHOLD="50")
    assert done.returncode > 0
    assert told in done.stdout


def test_steps_take_paths_on_several_lines(project: pathlib.Path) -> None:
    """A path on the second line counts as one on the first does."""
    (project / "policies" / "worse.policy").write_text(BROKEN, "utf-8")
    listed = "policies/web.policy\npolicies/worse.policy\n"
    done = _step("Check", project, POLICIES=listed)
    assert done.returncode > 0
    assert "::error file=policies/worse.policy,line=1" in done.stdout


def _pull_request(project: pathlib.Path, policy: str, **environment: str) -> tuple[int, str, str]:
    """Change the policy, plan that; return the exit code, the summary, and what gh was told."""
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "base"]):
        assert _run([*git, *command], project).returncode == 0
    assert _run(["git", "remote", "add", "origin", str(project)], project).returncode == 0
    base = _run(["git", "rev-parse", "HEAD"], project).stdout.strip()
    (project / "policies").mkdir(exist_ok=True)
    (project / "policies" / "web.policy").write_text(policy, "utf-8")
    told = project.parent / "told"
    _executable(project.parent / "bin" / "gh", f'#!/bin/sh\nprintf "%s\\n" "$@" > {told}\n')
    given = {"BASE": base, "PULL_REQUEST": "https://example.org/pull/1", **environment}
    done = _step("Plan", project, CLUSTER="cluster.json", **given)
    summary = project.parent / "summary.md"
    return (
        done.returncode,
        summary.read_text("utf-8") if summary.exists() else done.stderr,
        told.read_text("utf-8") if told.exists() else "",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy, comment, exit_code, said",
    [
        pytest.param(POLICY.replace("ssd", "hdd"), "true", 0, "would move", id="moves"),
        pytest.param(POLICY.replace("ssd", "nvme"), "true", 1, "unschedulable", id="unschedulable"),
        pytest.param(POLICY.replace("ssd", "hdd"), "false", 0, "would move", id="no comment"),
    ],
)
def test_the_plan_is_commented(
    project: pathlib.Path, policy: str, comment: str, exit_code: int, said: str
) -> None:
    """What the pull request changes against its base, by gh, also where that fails the job."""
    code, summary, told = _pull_request(project, policy, COMMENT=comment)
    assert code == exit_code, summary
    assert "d/w" in summary
    assert said in summary
    plan = project.parent / "plan.md"
    assert summary == plan.read_text("utf-8")
    command = "pr comment https://example.org/pull/1 --edit-last --create-if-none --body-file"
    assert told.split() == ([*command.split(), str(plan)] if comment == "true" else [])


def test_policies_that_the_base_does_not_have_are_planned(project: pathlib.Path) -> None:
    """The first pull request with policies is compared with none."""
    (project / "policies" / "web.policy").unlink()
    code, summary, _ = _pull_request(project, POLICY)
    assert (code, "added" in summary) == (0, True), summary


def test_a_plan_that_cannot_be_made_is_no_comment(project: pathlib.Path) -> None:
    """Policies with errors fail the step, and an old comment is not emptied."""
    code, problem, told = _pull_request(project, BROKEN)
    assert code > 1
    assert "PS001" in problem
    assert told == ""


# ---------------------------------------------------------------------------- docs/ci.md


def test_snippets_use_what_there_is() -> None:
    """Inputs, hooks and commands of the page exist; the table of inputs is complete."""
    workflow = yaml.safe_load(SNIPPETS[".github/workflows/policies.yaml"])
    used = workflow["jobs"]["policies"]["steps"][-1]["with"]
    assert used.keys() <= ACTION["inputs"].keys()
    (repo,) = yaml.safe_load(SNIPPETS[".pre-commit-config.yaml"])["repos"]
    assert {hook["id"] for hook in repo["hooks"]} == {hook["id"] for hook in HOOKS}
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)
    assert rows == list(ACTION["inputs"])


@pytest.mark.slow
def test_the_script_for_gitlab_runs(project: pathlib.Path) -> None:
    """Its commands work as they stand there."""
    (project / "policies" / "tests").mkdir()
    tests = TESTS.replace("NODE", "n1").replace("[policies]", "[../web.policy]")
    (project / "policies" / "tests" / "web_test.yaml").write_text(tests, "utf-8")
    for line in yaml.safe_load(SNIPPETS[".gitlab-ci.yml"])["policies"]["script"]:
        done = _run(["bash", "-c", line], project)
        assert done.returncode == 0, done.stderr
    assert "<testsuites" in (project / "tests.xml").read_text("utf-8")
