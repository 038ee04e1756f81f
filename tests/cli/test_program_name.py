from __future__ import annotations

import pathlib
import shlex

import pytest

from policysched.cli import program_name


@pytest.fixture
def program(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Return an executable file that looks like the program, in a folder with a blank."""
    file = tmp_path / "a b" / "policysched"
    file.parent.mkdir()
    file.write_text("#!/bin/sh\n", encoding="utf-8")
    file.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(file)])
    return file


def test_a_program_on_the_path_has_its_short_name(
    program: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell that finds the program passes its full path, which the user did not type."""
    monkeypatch.setenv("PATH", str(program.parent))
    assert program_name.get_invocation_command() == "policysched"


@pytest.mark.parametrize("has_other", [False, True])
def test_another_program_keeps_the_path_by_which_it_was_called(
    program: pathlib.Path,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    has_other: bool,
) -> None:
    """The path is quoted for a shell, and another installation on the PATH is not meant."""
    if has_other:
        (tmp_path / "policysched").write_text("#!/bin/sh\n", encoding="utf-8")
        (tmp_path / "policysched").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program_name.get_invocation_command() == shlex.quote(str(program))


@pytest.mark.parametrize(
    "called, command",
    [
        ("/usr/lib/policysched/__main__.py", "policysched"),
        ("/usr/local/bin/kubectl-policysched", "kubectl policysched"),
        ("/no/such/folder/policysched", "policysched"),
    ],
)
def test_other_calls_have_the_name_of_errors(
    monkeypatch: pytest.MonkeyPatch, called: str, command: str
) -> None:
    """A module, a plugin of kubectl and a lost file have no path that can be called."""
    monkeypatch.setattr("sys.argv", [called])
    assert program_name.get_invocation_command() == command
