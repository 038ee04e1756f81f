from __future__ import annotations

import io
import os
import pathlib
import stat
import sys
import types

import pytest

from policysched import errors
from policysched.cli import main

UGLY = "policy a{for pods# all\n reject when free(cpu)<2}"
PRETTY = "policy a {\n  for pods  # all\n  reject when free(cpu) < 2\n}\n"
WRONG = "policy a { for pods reject if x }"


@pytest.fixture
def ugly(tmp_path: pathlib.Path) -> pathlib.Path:
    """A file that is not in canonical form."""
    file = tmp_path / "a.policy"
    file.write_text(UGLY)
    return file


def test_the_canonical_text_is_printed(
    ugly: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file stays as it is."""
    assert main.main(["fmt", str(ugly)]) == errors.EXIT_OK
    assert capsys.readouterr().out == PRETTY
    assert ugly.read_text() == UGLY


def test_write_replaces_the_file_once(
    ugly: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Mode and links are kept; what is canonical already is not touched."""
    ugly.chmod(0o640)
    link = ugly.parent / "link.policy"
    link.symlink_to(ugly)
    assert main.main(["fmt", "--write", str(link)]) == errors.EXIT_OK
    assert capsys.readouterr().out == f"formatted {link}\n"
    assert ugly.read_text() == PRETTY
    assert link.is_symlink()
    assert stat.S_IMODE(ugly.stat().st_mode) == 0o640
    before = ugly.stat()
    assert main.main(["fmt", "-w", str(ugly)]) == errors.EXIT_OK
    assert capsys.readouterr().out == ""
    assert ugly.stat().st_ino == before.st_ino
    assert sorted(each.name for each in ugly.parent.iterdir()) == ["a.policy", "link.policy"]


def test_check_names_what_would_change(
    ugly: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 1 and the names; canonical files are silent."""
    (ugly.parent / "b.policy").write_text(PRETTY)
    assert main.main(["fmt", "--check", str(ugly.parent)]) == errors.EXIT_FINDINGS
    assert capsys.readouterr().out == f"{ugly}\n"
    assert ugly.read_text() == UGLY


def test_diff_shows_what_would_change(
    ugly: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A unified diff that `patch` takes."""
    assert main.main(["fmt", "--diff", str(ugly)]) == errors.EXIT_FINDINGS
    assert capsys.readouterr().out.split("\n") == [
        f"--- {ugly}",
        f"+++ {ugly} (formatted)",
        "@@ -1,2 +1,4 @@",
        "-policy a{for pods# all",
        "- reject when free(cpu)<2}",
        "\\ No newline at end of file",
        "+policy a {",
        "+  for pods  # all",
        "+  reject when free(cpu) < 2",
        "+}",
        "",
    ]


def test_a_file_with_errors_is_left_and_the_others_are_done(
    ugly: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is lost; the error is shown as `check` shows it."""
    wrong = ugly.parent / "b.policy"
    wrong.write_text(WRONG)
    assert main.main(["fmt", "-w", str(wrong), str(ugly)]) == errors.EXIT_WRONG_INPUT
    assert wrong.read_text() == WRONG
    assert ugly.read_text() == PRETTY
    err = capsys.readouterr().err
    assert "error[PS001]: expected `when` after `reject`, not `if`" in err
    assert f"`{wrong}` is left as it is: it has errors" in err


def test_stdin_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Editors format through a pipe."""
    stdin = types.SimpleNamespace(buffer=io.BytesIO(UGLY.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main.main(["fmt", "-"]) == errors.EXIT_OK
    assert capsys.readouterr().out == PRETTY


def test_a_manifest_is_not_rewritten(capsys: pytest.CaptureFixture[str]) -> None:
    """YAML around a policy has a layout of its own."""
    assert main.main(["fmt", "-w", "map.yaml"]) == errors.EXIT_USAGE
    assert "`map.yaml` is no policy file" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_one_line(
    ugly: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old text stays whole and no half-written file is left."""

    def refuse(_self: pathlib.Path, _target: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pathlib.Path, "replace", refuse)
    assert main.main(["fmt", "-w", str(ugly)]) == errors.EXIT_WRONG_INPUT
    assert "cannot be written: Permission denied" in capsys.readouterr().err
    assert ugly.read_text() == UGLY
    assert [each.name for each in ugly.parent.iterdir()] == ["a.policy"]


@pytest.mark.parametrize(
    "fault, exit_code",
    [
        pytest.param(OSError(28, "No space left on device"), errors.EXIT_WRONG_INPUT, id="full"),
        pytest.param(KeyboardInterrupt(), errors.EXIT_INTERRUPTED, id="interrupt"),
    ],
)
def test_a_write_that_is_cut_short_leaves_nothing_behind(
    ugly: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: BaseException,
    exit_code: int,
) -> None:
    """On a full disk or Ctrl-C the old text stays and the new file goes."""

    def fail(_descriptor: int, _mode: int) -> None:
        raise fault

    monkeypatch.setattr(os, "fchmod", fail)
    assert main.main(["fmt", "-w", str(ugly)]) == exit_code
    assert ugly.read_text() == UGLY
    assert [each.name for each in ugly.parent.iterdir()] == ["a.policy"]


def test_the_file_stays_with_its_owner(
    ugly: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The new file is given to the owner of the old one; where that is refused nothing changes."""
    given: list[tuple[int, int]] = []
    fstat = os.fstat

    def foreign(descriptor: int) -> os.stat_result:
        found = list(fstat(descriptor))
        found[stat.ST_UID] += 1
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", foreign)
    monkeypatch.setattr(os, "fchown", lambda _, uid, gid: given.append((uid, gid)))
    before = ugly.stat()
    assert main.main(["fmt", "-w", str(ugly)]) == errors.EXIT_OK
    assert given == [(before.st_uid, before.st_gid)]

    def refuse(_descriptor: int, _uid: int, _gid: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    ugly.write_text(UGLY)
    monkeypatch.setattr(os, "fchown", refuse)
    assert main.main(["fmt", "-w", str(ugly)]) == errors.EXIT_WRONG_INPUT
    assert "cannot be written: Operation not permitted" in capsys.readouterr().err
    assert ugly.read_text() == UGLY
    assert [each.name for each in ugly.parent.iterdir()] == ["a.policy"]
