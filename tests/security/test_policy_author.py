"""What a policy may not do to the process that reads it."""

from __future__ import annotations

import pathlib

import pytest

from policysched.cli import main
from policysched.lang import source
from policysched.lang.checking import checker


def _errors(text: str, name: str = "a.policy") -> list[str]:
    found = checker.check([source.SourceText(name, text)]).diagnostics
    return [each.message for each in found if each.severity.value == "error"]


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param('open("/etc/passwd") > 1', id="function-of-python"),
        pytest.param("free.__class__ > 1", id="attribute"),
        pytest.param('__import__("os") > 1', id="import"),
        pytest.param("(lambda: 1) > 1", id="lambda"),
        pytest.param("env(HOME) > 1", id="environment"),
        pytest.param("while(free(cpu)) > 1", id="loop"),
        pytest.param("free(cpu) > 1; free(cpu) > 2", id="two-statements"),
        pytest.param("${free(cpu)} > 1", id="template"),
        pytest.param("free(cpu) =~ `(a+)+$`", id="regular-expression"),
        pytest.param('node(name Matches ("(a+)+$"))', id="matching-operator"),
    ],
)
def test_a_policy_is_no_program(expression: str) -> None:
    """There is no function, name or operator but those of the language, and no loop."""
    assert _errors(f"policy p {{ for pods reject when {expression} as x }}")


@pytest.mark.parametrize(
    "name",
    [
        "../secret.policy",
        "/secret.policy",
        "./../secret.policy",
        "folder/../../secret.policy",
        "..\\\\secret.policy",
        "file:///secret.policy",
        "http://127.0.0.1/secret.policy",
        "secret.policy",
    ],
)
def test_an_import_reads_no_file(
    name: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names a text that was given; a file beside, above or elsewhere is no such text."""
    (tmp_path / "secret.policy").write_text("policy secret-words { for pods }", encoding="utf-8")
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "a.policy").write_text(f'import "{name}"\nprofile p {{ }}\n', encoding="utf-8")
    assert main.main(["check", str(folder)]) == 2
    said = capsys.readouterr()
    assert "secret-words" not in said.out + said.err


def test_a_link_leads_to_policies_only(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a file that is no policy, and that a link of the folder leads to, a line shows at most."""
    (tmp_path / "token").write_text("hunter1\nhunter2\nhunter3\n" * 40, encoding="utf-8")
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "a.policy").symlink_to(tmp_path / "token")
    assert main.main(["check", str(folder)]) == 2
    said = capsys.readouterr()
    shown = (said.out + said.err).count("hunter")
    assert shown <= 200


@pytest.mark.parametrize(
    "character", ["\x1b", "\x00", "\x07", "\x9b", "\u202e", "\u2028"], ids=ascii
)
def test_a_message_cannot_talk_to_the_terminal(
    character: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control characters of a text are not printed with its errors."""
    text = f'policy p {{ for pods reject when nothing > 1 message "a{character}[31mb" as x }}'
    (tmp_path / "a.policy").write_text(text, encoding="utf-8")
    assert main.main(["check", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert character not in said.out + said.err


@pytest.mark.parametrize("character", ["\x1b", "\x00", "\x9b", "\u202e", "\u2028", "\r"], ids=ascii)
def test_a_message_has_no_control_characters(character: str) -> None:
    """It becomes part of conditions, events and logs, so they are refused where it is written."""
    text = f'policy p {{ for pods reject when free(cpu) > 1 message "a{character}b" as x }}'
    (error,) = _errors(text)
    assert "character" in error
