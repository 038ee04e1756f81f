from __future__ import annotations

import io
import json
import pathlib
import sys
import types

import pytest

from policysched import errors
from policysched.cli import main
from tests import report_schemas

GOOD = "policy a {\n  for pods\n  reject when free(cpu) < 2\n}\n"
BAD = "policy a {\n  for pods\n  reject when fre(cpu) < 2\n}\n"


def _stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(content)))


def test_a_good_folder_is_counted(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All texts of a folder are checked together."""
    (tmp_path / "a.policy").write_text(GOOD)
    (tmp_path / "p.policy").write_text('import "a.policy"\nprofile x { policies a }')
    assert main.main(["check", str(tmp_path)]) == errors.EXIT_OK
    out, err = capsys.readouterr()
    assert out.startswith("2 texts: 1 policy, 1 profile, hash ")
    assert err == ""


def test_errors_go_to_stderr_with_place_and_caret(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, every error in full, a count at the end, nothing on stdout."""
    file = tmp_path / "a.policy"
    file.write_text(BAD)
    assert main.main(["check", str(file)]) == errors.EXIT_WRONG_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert err.split("\n") == [
        "error[PS104]: there is no function `fre`",
        f"  --> {file}:3:15",
        "3 |   reject when fre(cpu) < 2",
        "  |               ^^^ did you mean `free`?",
        "  = help: write `free` [unsafe fix]",
        "",
        "1 error",
        "",
    ]


@pytest.mark.parametrize(
    "text, exit_code", [(GOOD, errors.EXIT_OK), (BAD, errors.EXIT_WRONG_INPUT)]
)
def test_json_follows_the_schema(
    text: str, exit_code: int, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same findings for programs, on stdout."""
    file = tmp_path / "a.policy"
    file.write_text(text)
    assert main.main(["check", "-o", "json", str(file)]) == exit_code
    out, err = capsys.readouterr()
    report = json.loads(out)
    report_schemas.check_report(report, "check")
    assert report["ok"] is (text == GOOD)
    assert report["errors"] == len(report["diagnostics"]) == (0 if text == GOOD else 1)
    assert err == ""


def test_stdin_and_params(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`-` is stdin; a given param is checked against its type."""
    text = b"param share: ratio = 80%\npolicy a { for pods reject when free(cpu) < 2 }"
    _stdin(monkeypatch, text)
    assert main.main(["check", "-", "--params", "share=50%"]) == errors.EXIT_OK
    _stdin(monkeypatch, text)
    assert main.main(["check", "-", "--params", "share=50"]) == errors.EXIT_WRONG_INPUT
    assert "(params):1:7" in capsys.readouterr().err


def test_plugins_that_are_not_installed_are_errors(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A misspelt plugin would otherwise be found at start only."""
    _stdin(monkeypatch, b"profile p { disable NodeResourceFit }")
    assert main.main(["check", "-"]) == errors.EXIT_WRONG_INPUT
    assert "did you mean `NodeResourcesFit`?" in capsys.readouterr().err


_ARGUMENTS = "profile p {\n  plugin NodeResourcesFit args { scoringStrategy: { type: Most } }\n}\n"


@pytest.mark.parametrize("command", ["check", "lint"])
@pytest.mark.parametrize(
    "text, code",
    [
        pytest.param("profile p {\n  disable NodeResourceFit\n}\n", "PS104", id="name"),
        pytest.param(_ARGUMENTS, "PS111", id="arguments"),
        pytest.param("profile p {\n  disable PrioritySort\n}\n", "PS111", id="no-queue-sort"),
    ],
)
def test_faults_of_plugins_have_a_code_in_every_format(
    command: str,
    text: str,
    code: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of `check` and of `lint`, which is silent about nothing that `check` refuses."""
    file = tmp_path / "a.policy"
    file.write_text(f"version 1\n\n{text}")
    for form, mark in (("json", f'"{code}"'), ("github", "::error"), ("sarif", f'"{code}"')):
        assert main.main([command, "--format", form, str(file)]) == errors.EXIT_WRONG_INPUT
        said = capsys.readouterr()
        assert mark in said.out
        assert code in said.out
        assert said.err == ""
    assert main.main([command, str(file)]) == errors.EXIT_WRONG_INPUT
    said = capsys.readouterr()
    assert f"error[{code}]" in said.out + said.err
    assert f"{file}:{3 if 'Priority' in text else 4}:" in said.out + said.err


def test_a_fault_of_the_configuration_is_no_finding_of_the_texts(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no place in a policy, so it is one line."""
    policy, config = tmp_path / "a.policy", tmp_path / "config.yaml"
    policy.write_text("version 1\nprofile p { }\n")
    config.write_text(
        "apiVersion: policysched.io/v1alpha1\nkind: PolicySchedulerConfiguration\nprofiles:\n"
        "- schedulerName: p\n  disabled: [PrioritySort]\n"
    )
    argv = ["check", str(policy), "--config", str(config)]
    assert main.main(argv) == errors.EXIT_WRONG_INPUT
    assert "profile `p` of the configuration" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content, message",
    [
        pytest.param(None, "cannot be read", id="missing"),
        pytest.param(b"\xff\xfe", "is not UTF-8 text", id="not-text"),
    ],
)
def test_unreadable_input_is_one_line(
    content: bytes | None, message: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback, exit 2."""
    file = tmp_path / "a.policy"
    if content is not None:
        file.write_bytes(content)
    assert main.main(["check", str(file)]) == errors.EXIT_WRONG_INPUT
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_stdin_that_is_no_text_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same for what comes through a pipe."""
    _stdin(monkeypatch, b"\xff")
    assert main.main(["check", "-"]) == errors.EXIT_WRONG_INPUT
    assert "is not UTF-8 text" in capsys.readouterr().err


def test_thousands_of_errors_are_not_all_printed(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hundred are more than anybody reads; the rest is counted."""
    file = tmp_path / "a.policy"
    rules = "\n".join(f"  reject when fre{number}(cpu) < 2" for number in range(150))
    file.write_text(f"policy a {{\n  for pods\n{rules}\n}}")
    assert main.main(["check", str(file)]) == errors.EXIT_WRONG_INPUT
    err = capsys.readouterr().err
    assert err.count("error[PS104]") == 100
    assert "… and 50 more" in err
    assert "150 errors" in err


def test_a_path_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    """Usage errors are exit 3."""
    assert main.main(["check"]) == errors.EXIT_USAGE
    assert "PATH" in capsys.readouterr().err


def test_stdin_named_twice_is_read_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second reading would find nothing, and must not hide the errors of the first."""
    _stdin(monkeypatch, BAD.encode())
    assert main.main(["check", "-", "-"]) == errors.EXIT_WRONG_INPUT
    assert "PS104" in capsys.readouterr().err


def test_a_profile_that_could_not_start_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `run` would refuse, `check` refuses before."""
    _stdin(monkeypatch, b"profile p { disable DefaultBinder }")
    assert main.main(["check", "-"]) == errors.EXIT_WRONG_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error[PS111]: no plugin binds pods\n  --> <stdin>:1:9\n")


def test_bidirectional_characters_are_warned_of(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a reviewer may read in another order is a warning, and no error."""
    file = tmp_path / "p.policy"
    file.write_text("policy p { for pods }  # \u202e", encoding="utf-8")
    assert main.main(["check", str(file)]) == errors.EXIT_OK
    assert "U+202E RIGHT-TO-LEFT OVERRIDE" in capsys.readouterr().err


def test_rules_that_have_expired_are_warned_of(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the time of `--now`; a warning is no error."""
    file = tmp_path / "old.policy"
    file.write_text('policy p { for pods tolerate a expires "2026-06-30" }\n', encoding="utf-8")
    assert main.main(["check", str(file), "--now", "2026-06-30T23:00:00Z"]) == 0
    assert "PS804" not in capsys.readouterr().err
    assert main.main(["check", str(file), "--now", "2026-07-01T00:00:00Z"]) == 0
    assert "warning[PS804]" in capsys.readouterr().err


HEAD = "apiVersion: policysched.io/v1alpha1\nkind: PolicySchedulerConfiguration\n"


@pytest.mark.parametrize(
    "text, exit_code, told",
    [
        pytest.param(
            "policies: {paths: [a.policy]}\nparams: {least: 3}\n",
            errors.EXIT_OK,
            "1 text: 1 policy, 1 profile, hash ",
            id="with-its-policies",
        ),
        pytest.param(
            "policies: {configMap: n/a}\nparams: {least: 3}\nprofiles: [{schedulerName: x}]\n",
            errors.EXIT_OK,
            "c.yaml: 1 profile, no policies in files",
            id="policies-in-the-cluster",
        ),
        pytest.param(
            "policies: {paths: [a.policy]}\nparams: {lest: 3}\n",
            errors.EXIT_WRONG_INPUT,
            "there is no param `lest`",
            id="unknown-param",
        ),
        pytest.param(
            "policies: {paths: [a.policy]}\n"
            "profiles: [{schedulerName: y, plugins: [{name: NodePort}]}]\n",
            errors.EXIT_WRONG_INPUT,
            "c.yaml:4: there is no plugin `NodePort` (did you mean `NodePorts`?)",
            id="unknown-plugin",
        ),
        pytest.param(
            "profiles: [{schedulerName: y, disabled: [PrioritySort]}]\n",
            errors.EXIT_WRONG_INPUT,
            "no QueueSort",
            id="profile-that-cannot-start",
        ),
        pytest.param(
            "leaderElection: {leaseDuration: 1}\n",
            errors.EXIT_WRONG_INPUT,
            "c.yaml:3: `leaderElection.leaseDuration` must be a string",
            id="wrong-type",
        ),
    ],
)
def test_a_configuration_is_checked_with_what_it_names(
    text: str,
    exit_code: int,
    told: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its fields, its policies with its params, and the plugins of its profiles."""
    monkeypatch.chdir(tmp_path)
    policy = "param least: number = 2\npolicy a {\n  for pods\n  reject when free(cpu) < least\n}\n"
    (tmp_path / "a.policy").write_text(policy)
    (tmp_path / "c.yaml").write_text(HEAD + text)
    assert main.main(["check", "--config", "c.yaml"]) == exit_code
    said = capsys.readouterr()
    assert told in (said.err if exit_code else said.out)


@pytest.mark.parametrize(
    "arguments, exit_code, told",
    [
        pytest.param(["a.policy"], errors.EXIT_OK, "", id="the language alone"),
        pytest.param(
            ["--config", "refuse.yaml"], errors.EXIT_WRONG_INPUT, "error[PS201]", id="refused"
        ),
        pytest.param(["--config", "warn.yaml"], errors.EXIT_OK, "warning[PS201]", id="warned of"),
    ],
)
def test_errors_of_lint_count_as_they_do_for_the_scheduler(
    arguments: list[str],
    exit_code: int,
    told: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With its configuration; without one the language is checked, as ever."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.policy").write_text("policy a { for pods where app In (web) and app = db }\n")
    for mode in ("refuse", "warn"):
        said = f"policies: {{paths: [a.policy], lintErrors: {mode}}}\n"
        (tmp_path / f"{mode}.yaml").write_text(HEAD + said)
    assert main.main(["check", *arguments]) == exit_code
    assert told in capsys.readouterr().err


def test_a_configuration_alone_is_told_as_json(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same form as with policies, without any."""
    file = tmp_path / "c.yaml"
    file.write_text(HEAD)
    assert main.main(["check", "--config", str(file), "-o", "json"]) == errors.EXIT_OK
    found = json.loads(capsys.readouterr().out)
    report_schemas.check_report(found, "check")
    assert (found["ok"], found["files"]) == (True, [])


def test_a_policy_that_no_profile_uses(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` warns of it and exits 0; `lint` reports it although the settings ignore PS801."""
    file = tmp_path / "one.policy"
    file.write_text(
        'policy gpu { description "g" owner "o" for pods where app = gpu tolerate gpu }\n'
        "profile policysched { }\n",
        encoding="utf-8",
    )
    configuration = tmp_path / "config.yaml"
    configuration.write_text(
        f"{HEAD}policies: {{paths: ['{file}']}}\nprofiles: [{{schedulerName: other}}]\n",
        encoding="utf-8",
    )
    for args in ([str(file)], ["--config", str(configuration)]):
        assert main.main(["check", *args]) == errors.EXIT_OK
        assert "warning[PS806]: no profile uses the policy `gpu`" in capsys.readouterr().err
    assert main.main(["lint", str(file), "--ignore", "PS801,PS802"]) == errors.EXIT_FINDINGS
    assert "PS806" in capsys.readouterr().out
