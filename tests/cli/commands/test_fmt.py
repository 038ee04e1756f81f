from __future__ import annotations

import contextlib
import io
import os
import pathlib
import socket
import stat
import sys
import textwrap
import types

import pytest

from policysched import errors
from policysched.cli import main
from policysched.cli.policy_files import rewriting
from policysched.lang import source
from policysched.lang.formatting import formatter

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
    assert f"`{wrong}` is left unchanged: it has errors" in err


def test_stdin_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Editors format through a pipe."""
    stdin = types.SimpleNamespace(buffer=io.BytesIO(UGLY.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main.main(["fmt", "-"]) == errors.EXIT_OK
    assert capsys.readouterr().out == PRETTY


def manifest(text: str, header: str = "|") -> str:
    """Return a ConfigMap, with more around it than the policy."""
    head = f"# by hand\nkind:   ConfigMap\ndata:\n  x: 'y'\n  a.policy: {header}\n"
    block = textwrap.indent(text.rstrip("\n") + "\n", "      ")
    return f"{head}{block}  z.policy: |-\n    version 1\n---\na: b\n"


def test_a_policy_in_a_manifest_is_formatted_in_its_place(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest of the YAML stays as it is, byte for byte."""
    file = tmp_path / "map.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + manifest(UGLY).encode())
    assert main.main(["fmt", "--check", str(file)]) == errors.EXIT_FINDINGS
    assert capsys.readouterr().out == f"{file}\n"
    assert main.main(["fmt", "--diff", str(file)]) == errors.EXIT_FINDINGS
    assert f"+++ {file} (formatted)" in capsys.readouterr().out
    assert main.main(["fmt", str(file)]) == errors.EXIT_OK
    assert capsys.readouterr().out == manifest(PRETTY)
    assert main.main(["fmt", "-w", str(file)]) == errors.EXIT_OK
    assert file.read_bytes() == b"\xef\xbb\xbf" + manifest(PRETTY).encode()
    assert main.main(["fmt", "--check", str(file)]) == errors.EXIT_OK


def test_a_manifest_on_stdin_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `kustomize build` prints can be piped through."""
    stdin = types.SimpleNamespace(buffer=io.BytesIO(manifest(UGLY).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main.main(["fmt", "-"]) == errors.EXIT_OK
    assert capsys.readouterr().out == manifest(PRETTY)


@pytest.mark.parametrize("header", [">", ">-"])
def test_a_block_that_cannot_be_edited_is_left(
    header: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says which, where and why."""
    file = tmp_path / "map.yaml"
    text = manifest(UGLY, header)
    file.write_text(text)
    assert main.main(["fmt", "-w", str(file)]) == errors.EXIT_WRONG_INPUT
    err = capsys.readouterr().err
    assert f"`{file}/a.policy` is left unchanged: {file}:5: the key `a.policy` is not a lit" in err
    assert file.read_text() == text


def test_a_block_that_cannot_be_edited_keeps_no_other_from_it(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The literal block of the same manifest is formatted, and the exit code tells of the rest."""
    file = tmp_path / "map.yaml"
    literal, quoted = "  z.policy: |-\n", "  z.policy: 'policy   b { for pods }'\n  y: |-\n"
    file.write_text(manifest(UGLY).replace(literal, quoted))
    assert main.main(["fmt", "-w", str(file)]) == errors.EXIT_WRONG_INPUT
    assert file.read_text() == manifest(PRETTY).replace(literal, quoted)
    assert f"`{file}/z.policy` is left unchanged" in capsys.readouterr().err


def test_a_file_that_was_edited_meanwhile_is_left(
    ugly: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody else has written is not overwritten."""
    format_text = formatter.format_text

    def edit_and_format(text: source.SourceText) -> formatter.FormatResult:
        ugly.write_text("version 1 # theirs\n")
        return format_text(text)

    monkeypatch.setattr(formatter, "format_text", edit_and_format)
    assert main.main(["fmt", "-w", str(ugly)]) == errors.EXIT_WRONG_INPUT
    assert "has changed since it was read" in capsys.readouterr().err
    assert ugly.read_text() == "version 1 # theirs\n"


def test_what_is_no_regular_file_is_not_replaced(tmp_path: pathlib.Path) -> None:
    """Otherwise, root would make a file of a device such as /dev/null."""
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(tmp_path):
        listener.bind(path.name)
        with pytest.raises(errors.InputError, match="is not a regular file"):
            rewriting.replace_file_atomically(path.name, "", "version 1")
    assert path.is_socket()


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
