"""`policysched import`."""

from __future__ import annotations

import io
import json
import pathlib
import types

import pytest

from policysched import errors
from policysched.cli import main
from tests import report_schemas

FINE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podMaxBackoffSeconds: 30
leaderElection: {leaderElect: false}
"""


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    """A configuration of which everything can be said."""
    path = tmp_path / "config.yaml"
    path.write_text(FINE)
    return path


def test_the_policy_is_printed_with_the_configuration_in_its_comments(
    file: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is printed is a policy in canonical form that `check` takes."""
    assert main.main(["import", str(file)]) == errors.EXIT_OK
    said = capsys.readouterr()
    assert said.err == ""
    assert "#   podMaxBackoffSeconds: 30" not in said.out
    assert "# podMaxBackoffSeconds: 30" in said.out
    policy = file.parent / "imported.policy"
    policy.write_text(said.out)
    assert main.main(["check", str(policy)]) == errors.EXIT_OK
    assert main.main(["fmt", "--check", str(policy)]) == errors.EXIT_OK


def test_files_are_written_and_never_overwritten(
    file: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two files that `run` could be given; a second time nothing is changed."""
    folder = file.parent / "new" / "folder"
    assert main.main(["import", str(file), "--out", str(folder)]) == errors.EXIT_OK
    written = sorted(each.name for each in folder.iterdir())
    assert written == ["config.yaml", "imported.policy"]
    assert main.main(["check", str(folder)]) == errors.EXIT_OK
    capsys.readouterr()
    before = (folder / "imported.policy").stat().st_mtime_ns
    assert main.main(["import", str(file), "--out", str(folder)]) == errors.EXIT_WRONG_INPUT
    assert "imported.policy: already exists" in capsys.readouterr().err
    assert (folder / "imported.policy").stat().st_mtime_ns == before


def test_findings_exit_1_and_stand_on_stderr(
    file: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each with file, line and advice; the policy is printed all the same."""
    file.write_text(FINE + "nonsense: 1\n")
    assert main.main(["import", str(file)]) == errors.EXIT_FINDINGS
    said = capsys.readouterr()
    told = f"{file}:5: warning: `nonsense` is not known (check its spelling)\n"
    assert said.err == told
    assert "profile default-scheduler {" in said.out


def test_notes_exit_0(file: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They change no decision."""
    file.write_text(FINE + "parallelism: 4\n")
    assert main.main(["import", str(file)]) == errors.EXIT_OK
    assert ": note: " in capsys.readouterr().err


def test_json_fits_its_schema(file: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And says what the text does."""
    file.write_text(FINE + "nonsense: 1\n")
    assert main.main(["import", str(file), "-o", "json"]) == errors.EXIT_FINDINGS
    said = capsys.readouterr()
    found = json.loads(said.out)
    report_schemas.check_report(found, "import")
    assert found["findings"] == [
        {
            "severity": "warning",
            "file": str(file),
            "line": 5,
            "problem": "`nonsense` is not known",
            "help": "check its spelling",
        }
    ]
    assert found["config"].endswith(
        "podMaxBackoffSeconds: 30\nleaderElection:\n  leaderElect: false\n"
    )
    assert said.err == ""


def test_stdin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """kubectl can be piped into it."""
    stdin = types.SimpleNamespace(buffer=io.BytesIO(FINE.encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert main.main(["import", "-"]) == errors.EXIT_OK
    assert "# Imported by policysched from <stdin>." in capsys.readouterr().out


def test_a_command_line_and_the_file_that_it_names(
    file: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who types a command line means the files of this machine."""
    file.write_text(
        FINE.replace("leaderElection: {leaderElect: false}\n", "")
        + ("profiles: [{schedulerName: mine}]\n")
    )
    argv = ["import", "--", "kube-scheduler", f"--config={file}", "--kubeconfig", "/k"]
    assert main.main(argv) == errors.EXIT_OK
    out = capsys.readouterr().out
    assert "profile mine {" in out
    assert "profile default-scheduler" not in out
    assert "# policysched run --kubeconfig /k" in out


@pytest.mark.parametrize(
    "argv, exit_code, problem",
    [
        pytest.param(["import"], errors.EXIT_USAGE, "required: FILE", id="nothing"),
        pytest.param(
            ["import", ""], errors.EXIT_USAGE, "the path of the input is empty", id="empty"
        ),
        pytest.param(["import", "a", "b"], errors.EXIT_USAGE, "takes one FILE", id="two-files"),
        pytest.param(
            ["import", "a", "--from", "nothing"], errors.EXIT_USAGE, "invalid choice", id="kind"
        ),
        pytest.param(
            ["import", "--from", "tas-policy", "--", "kube-scheduler", "--v=2"],
            errors.EXIT_USAGE,
            "a command line is not a tas-policy",
            id="kind-of-a-command-line",
        ),
        pytest.param(
            ["import", "a", "--out", "b", "-o", "json"],
            errors.EXIT_USAGE,
            "not allowed with argument",
            id="two-outputs",
        ),
        pytest.param(
            ["import", "missing.yaml"],
            errors.EXIT_WRONG_INPUT,
            "missing.yaml: cannot be read: No such file",
            id="no-file",
        ),
        pytest.param(
            ["import", "--", "kube-scheduler", "--config=missing.yaml"],
            errors.EXIT_WRONG_INPUT,
            "missing.yaml: cannot be read: No such file",
            id="no-named-file",
        ),
    ],
)
def test_wrong_use_is_one_line(
    argv: list[str], exit_code: int, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, with its exit code."""
    assert main.main(argv) == exit_code
    said = capsys.readouterr()
    assert problem in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)


def test_bytes_that_are_no_text(file: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One error."""
    file.write_bytes(b"\xff\xfe\x00")
    assert main.main(["import", str(file)]) == errors.EXIT_WRONG_INPUT
    assert "is not UTF-8 text" in capsys.readouterr().err
