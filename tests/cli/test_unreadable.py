"""Files and folders that may not be read: one clear error, exit code 2.

The commands run without the rights of root over files, which would read them all the same.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from tests.cli import clusters

pytestmark = pytest.mark.slow  # each test starts processes

POLICY = 'policy a {\n  description "a"\n  owner "b"\n  for pods where app = a\n}\n'
SUITE = "policies: [{}]\ntests:\n- {{name: t, pod: p, expect: {{feasible: []}}}}\n"
_DROP = ("setpriv", "--inh-caps=-all", "--bounding-set=-all") if os.geteuid() == 0 else ()
_COMMANDS = """\
import contextlib, io, json, os, sys
from policysched.cli import main
for line in sys.stdin:
    folder, argv = json.loads(line)
    os.chdir(folder)
    with (
        contextlib.redirect_stdout(io.StringIO()) as stdout,
        contextlib.redirect_stderr(io.StringIO()) as stderr,
    ):
        exit_code = main.main(argv)
    print(json.dumps([exit_code, stderr.getvalue(), stdout.getvalue()]), flush=True)
"""
"""One process runs all commands: only what it may read has to be that of a process."""

Run: TypeAlias = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with a folder `shut`, which may not be entered, and `open/inner`, which neither."""
    clusters.write(tmp_path, clusters.node("n"), clusters.pod("a"))
    for name in ("shut", "open/inner", "unlisted"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.policy").write_text(POLICY)
        (tmp_path / name / "a_test.yaml").write_text(SUITE.format("a.policy"))
    (tmp_path / "open" / "b.policy").write_text(POLICY)
    (tmp_path / "open" / "b.policy").chmod(0)
    (tmp_path / "hidden" / ".git").mkdir(parents=True)
    (tmp_path / "far_test.yaml").write_text(SUITE.format("shut/a.policy"))
    for name in ("shut", "open/inner", "hidden/.git"):
        (tmp_path / name).chmod(0)
    (tmp_path / "unlisted").chmod(0o444)
    return tmp_path


@pytest.fixture(scope="module")
def commands() -> Iterator[subprocess.Popen[str]]:
    """A process that may not read everything."""
    argv = [*_DROP, sys.executable, "-c", _COMMANDS]
    with subprocess.Popen(
        argv, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield process


@pytest.fixture
def run(commands: subprocess.Popen[str], folder: pathlib.Path) -> Run:
    """Runs a command in the folder and returns its exit code, stderr and stdout."""
    assert commands.stdin is not None
    assert commands.stdout is not None
    requests, answers = commands.stdin, commands.stdout

    def run_command(*argv: str) -> tuple[int, str, str]:
        print(json.dumps([str(folder), argv]), file=requests, flush=True)
        exit_code, stderr, stdout = json.loads(answers.readline())
        return exit_code, stderr, stdout

    return run_command


def test_there_is_what_drops_the_rights_of_root() -> None:
    """Otherwise these tests would read everything."""
    assert os.geteuid() != 0 or shutil.which("setpriv")


@pytest.mark.parametrize(
    "argv, where",
    [
        pytest.param("test shut", "shut", id="test"),
        pytest.param("test open", "open/inner", id="test-inner"),
        pytest.param("test shut/a_test.yaml", "shut/a_test.yaml", id="test-file"),
        pytest.param("test shut/inner", "shut/inner", id="test-beyond"),
        pytest.param("test --fuzz 1 shut", "shut", id="fuzz"),
        pytest.param("check shut", "shut", id="check"),
        pytest.param("check open", "open/b.policy", id="check-inner-file"),
        pytest.param("check open/b.policy", "open/b.policy", id="check-file"),
        pytest.param("check unlisted", "unlisted", id="check-unlisted"),
        pytest.param("check --config shut/c.yaml", "shut/c.yaml", id="config"),
        pytest.param("lint shut", "shut", id="lint"),
        pytest.param("lint open --config shut/x.toml", "shut/x.toml", id="lint-settings"),
        pytest.param("fmt shut", "shut", id="fmt"),
        pytest.param("fmt -w open/b.policy", "open/b.policy", id="fmt-file"),
        pytest.param("migrate shut", "shut", id="migrate"),
        pytest.param("ast shut", "shut", id="ast"),
        pytest.param("ast --from-json shut/x.json", "shut/x.json", id="from-json"),
        pytest.param("simulate --cluster cluster.json --policies shut", "shut", id="simulate"),
        pytest.param("simulate --cluster shut/c.json", "shut/c.json", id="cluster"),
        pytest.param(
            "simulate --cluster cluster.json --metrics shut/m.yaml", "shut/m.yaml", id="metrics"
        ),
        pytest.param(
            "explain --cluster cluster.json --policies shut/a.policy --all",
            "shut/a.policy",
            id="explain",
        ),
        pytest.param("explain --decisions shut/d.json --all", "shut/d.json", id="decisions"),
        pytest.param("plan --cluster cluster.json --from shut --to none", "shut", id="plan"),
        pytest.param(
            "plan --cluster cluster.json --from none --to shut/a.policy", "shut/a.policy", id="to"
        ),
        pytest.param("karmada simulate --cluster shut/c.json", "shut/c.json", id="karmada"),
        pytest.param("import shut/x.yaml", "shut/x.yaml", id="import"),
        pytest.param("run --kubeconfig shut/config", "shut/config", id="run"),
    ],
)
def test_what_may_not_be_read_is_one_error(run: Run, argv: str, where: str) -> None:
    """With the folder or file at fault, whatever the command."""
    said = f"policysched: {where}: cannot be read: Permission denied\n"
    assert run(*argv.split()) == (2, said, "")


def test_a_suite_whose_policies_may_not_be_read_is_not_run(run: Run) -> None:
    """The file is told of, others run."""
    exit_code, stderr, stdout = run("test", "far_test.yaml")
    assert (exit_code, stderr) == (2, "")
    assert "ERROR far_test.yaml\n  shut/a.policy: cannot be read: Permission" in stdout


def test_settings_that_may_not_be_looked_for_are_an_error(folder: pathlib.Path) -> None:
    """They may say what lint has to find."""
    inner = folder / "closed"
    inner.mkdir()
    (inner / "a.policy").write_text(POLICY)
    code = "import os, sys; os.chdir('closed'); os.chmod('.', 0o600)\n"
    code += "from policysched.cli import main; sys.exit(main.main(['lint', '-']))"
    done = subprocess.run(
        [*_DROP, sys.executable, "-c", code],
        cwd=folder,
        input=POLICY,
        capture_output=True,
        text=True,
        check=False,
    )
    said = f"policysched: {inner}/.policysched.toml: cannot be read: Permission denied\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_hidden_folders_are_left_alone(run: Run) -> None:
    """They hold no tests, so they need not be readable."""
    exit_code, stderr, _ = run("test", "hidden")
    assert (exit_code, stderr) == (1, "")
