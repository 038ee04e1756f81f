from __future__ import annotations

import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from policysched.cli import main
from policysched.lang.diagnostics import diagnostics


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str]) -> str:
    """The script for bash."""
    assert main.main(["completion", "bash"]) == 0
    return capsys.readouterr().out


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with files of several kinds."""
    for name in ("web.policy", "map.yaml", "cluster.json", "notes.txt", "web_test.yaml"):
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "policies").mkdir()
    return tmp_path


def _completed(script: str, folder: pathlib.Path, line: str) -> set[str]:
    """Return what bash would offer at the end of a line."""
    words = shlex.split(line) + ([""] if line.endswith(" ") else [])
    listed = " ".join(map(shlex.quote, words))
    program = f"""{script}
COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}
_policysched
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return set(done.stdout.split("\n")) - {""}


@pytest.mark.parametrize(
    "line, offered",
    [
        pytest.param("policysched ex", {"explain"}, id="command"),
        pytest.param("policysched -", {"--help", "--version"}, id="program"),
        pytest.param("policysched lint --fail", {"--fail-level"}, id="option"),
        pytest.param("policysched lint --fail-level ", {"error", "warning", "info"}, id="choice"),
        pytest.param("policysched test --format j", {"json", "junit"}, id="choice-begun"),
        pytest.param("policysched fmt -w w", {"web.policy", "web_test.yaml"}, id="policies"),
        pytest.param("policysched check p", {"policies"}, id="folder"),
        pytest.param("policysched test w", {"web_test.yaml"}, id="tests"),
        pytest.param("policysched simulate --cluster n", {"notes.txt"}, id="any-file"),
        pytest.param("policysched import --out ", {"policies"}, id="folders-alone"),
        pytest.param("policysched explain r", {"rule"}, id="form"),
        pytest.param(
            "policysched explain --cluster cluster.json pod --no",
            {"--node", "--now"},
            id="form-option",
        ),
        pytest.param(
            "policysched explain rule PS20",
            {c for c in diagnostics.CODES | diagnostics.LINT_CODES if c.startswith("PS20")},
            id="codes",
        ),
        pytest.param(
            "policysched lint --select PS00",
            {c for c in diagnostics.CODES if c.startswith("PS00")},
            id="option-codes",
        ),
        pytest.param("policysched simulate --now ", set(), id="unknown"),
        pytest.param("policysched completion ", {"bash", "zsh", "fish"}, id="shells"),
    ],
)
def test_bash_offers(script: str, folder: pathlib.Path, line: str, offered: set[str]) -> None:
    """What fits: commands, options, values, forms, files of the right kind."""
    assert _completed(script, folder, line) == offered


def test_the_script_for_bash_has_nothing_for_shellcheck(script: str) -> None:
    """It is read into the shells of people."""
    shellcheck = pathlib.Path(sys.executable).with_name("shellcheck")
    command = [str(shellcheck), "--shell=bash", "-"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_every_option_of_every_command_is_offered(script: str, folder: pathlib.Path) -> None:
    """The script is made of the parsers, so none is forgotten."""
    for name, parser in main.build_command_parsers().items():
        options = {each for action in parser._actions for each in action.option_strings}
        assert _completed(script, folder, f"policysched {name} -") == options


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_know_the_same(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command, each long option; the shell itself takes the script where there is one."""
    assert main.main(["completion", shell]) == 0
    said = capsys.readouterr().out
    for name, parser in main.build_command_parsers().items():
        assert re.search(rf"\b{name}\b", said)
        for action in parser._actions:
            for option in action.option_strings:
                written = option.lstrip("-") if shell == "fish" else option
                assert written in said
    if shutil.which(shell):
        subprocess.run([shell, "-n", "-c", said], check=True)


def test_words_with_quotes_stay_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Help texts with quotes do not end the strings of the script."""
    assert main.main(["completion", "fish"]) == 0
    for line in capsys.readouterr().out.splitlines():
        shlex.split(line, comments=True)
