"""`migrate`: files in the current version, in place, or what would change."""

from __future__ import annotations

import io
import pathlib
import stat
import sys
import textwrap
from types import SimpleNamespace

import pytest

from policysched import errors
from policysched.cli import main

OLD = "# about\n\npolicy web { for pods }  # odd\n"
NEW = "# about\n\nversion 2\n\npolicy web { for pods }  # odd\n"


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a file that does not say its version."""
    path = tmp_path / "web.policy"
    path.write_text(OLD, encoding="utf-8")
    path.chmod(0o640)
    return path


def test_files_are_rewritten_in_place(
    file: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that need it, with their mode; no other file is left behind."""
    (file.parent / "new.policy").write_text(NEW, encoding="utf-8")
    assert main.main(["migrate", str(file.parent)]) == errors.EXIT_OK
    assert capsys.readouterr().out == f"migrated {file}\n"
    assert file.read_text(encoding="utf-8") == NEW
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert sorted(each.name for each in file.parent.iterdir()) == ["new.policy", "web.policy"]
    assert main.main(["check", str(file)]) == errors.EXIT_OK


@pytest.mark.parametrize("flag", ["--check", "--diff"])
def test_what_would_change_is_a_finding(
    flag: str, file: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files are left alone; where nothing would change that is said by exit code 0."""
    assert main.main(["migrate", flag, str(file)]) == errors.EXIT_FINDINGS
    said = capsys.readouterr().out
    assert said == f"{file}\n" if flag == "--check" else "\n+version 2\n" in said
    assert file.read_text(encoding="utf-8") == OLD
    file.write_text(NEW, encoding="utf-8")
    assert main.main(["migrate", flag, str(file)]) == errors.EXIT_OK
    assert capsys.readouterr().out == ""


def test_one_bad_file_keeps_no_other_from_it(
    file: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named with its errors, and stays as it is."""
    bad = file.parent / "bad.policy"
    bad.write_text("version 3\npolicy web { }", encoding="utf-8")
    assert main.main(["migrate", str(file.parent)]) == errors.EXIT_WRONG_INPUT
    said = capsys.readouterr().err
    assert "error[PS110]: this text is written in version 3 of the language" in said
    assert f"`{bad}` is left unchanged: it has errors" in said
    assert bad.read_text(encoding="utf-8") == "version 3\npolicy web { }"
    assert file.read_text(encoding="utf-8") == NEW


def test_stdin_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a filter."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(OLD.encode())))
    assert main.main(["migrate", "-"]) == errors.EXIT_OK
    assert capsys.readouterr().out == NEW


def test_a_policy_in_a_manifest_is_migrated_in_its_place(tmp_path: pathlib.Path) -> None:
    """The rest of the YAML stays as it is."""
    file = tmp_path / "map.yaml"
    head = "kind: ConfigMap\ndata:\n  a.policy: |\n"
    file.write_text(head + textwrap.indent(OLD, "    ") + "  b: c # stays\n", encoding="utf-8")
    assert main.main(["migrate", str(file)]) == errors.EXIT_OK
    wanted = head + textwrap.indent(NEW, "    ") + "  b: c # stays\n"
    assert file.read_text(encoding="utf-8") == wanted


def test_usage(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path is needed, and it must exist."""
    assert main.main(["migrate"]) == errors.EXIT_USAGE
    assert main.main(["migrate", "--check", "--diff", "x.policy"]) == errors.EXIT_USAGE
    assert main.main(["migrate", str(tmp_path / "no.policy")]) == errors.EXIT_WRONG_INPUT


def test_a_file_that_cannot_be_replaced_is_one_error(
    file: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing half-written stays."""

    def refuse(self: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pathlib.Path, "replace", refuse)
    assert main.main(["migrate", str(file)]) == errors.EXIT_WRONG_INPUT
    assert "cannot be written: No space left on device" in capsys.readouterr().err
    assert [each.name for each in file.parent.iterdir()] == ["web.policy"]
    assert file.read_text(encoding="utf-8") == OLD
