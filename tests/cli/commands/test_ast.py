from __future__ import annotations

import io
import json
import pathlib
import types

import pytest

from policysched.cli import main

POLICY = """\
policy p {  # about pods
  for pods where app = web
  reject when free(cpu) < 500m as full
}
"""


@pytest.fixture
def path(tmp_path: pathlib.Path) -> str:
    """A policy file that is not in canonical form."""
    file = tmp_path / "p.policy"
    file.write_text(POLICY.replace("free(cpu) <", "free( cpu )  <"), encoding="utf-8")
    return str(file)


def test_people_see_kinds_words_and_places(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A line a node, deeper ones further in."""
    assert main.main(["ast", path]) == 0
    assert (
        capsys.readouterr().out
        == f"""\
{path}
  policy keyword=policy name=p  1:1
    statements[0]: for keyword=pods  2:3
      where: requirement operator== values=(web)  2:18
        subject: subject name=app  2:18
    statements[1]: reject  3:3
      condition: comparison operator=<  3:15
        left: call function=free  3:15
          arguments[0]: argument  3:21
            value: name name=cpu  3:21
        right: number numeral=500m  3:30
      clauses[0]: wordClause keyword=as word=full  3:35
"""
    )


def test_people_see_no_character_that_a_terminal_obeys(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control and bidirectional characters of strings are shown as replaced."""
    file = tmp_path / "p.policy"
    file.write_text('policy p { description "a\x1b[31m\u202eb" for pods }', encoding="utf-8")
    assert main.main(["ast", str(file)]) == 0
    shown = capsys.readouterr().out
    assert 'value="a\ufffd[31m\ufffdb"' in shown
    assert "\x1b" not in shown


def test_json_becomes_text_again(
    path: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From a file and from stdin, as fmt has it."""
    assert main.main(["ast", path, "-o", "json"]) == 0
    document = capsys.readouterr().out
    tree = tmp_path / "p.json"
    tree.write_text(document, encoding="utf-8")
    assert main.main(["ast", "--from-json", str(tree)]) == 0
    assert capsys.readouterr() == (POLICY, "")
    stdin = types.SimpleNamespace(buffer=io.BytesIO(document.encode()), isatty=lambda: False)
    monkeypatch.setattr("sys.stdin", stdin)
    assert main.main(["ast", "--from-json", "-"]) == 0
    assert capsys.readouterr() == (POLICY, "")


WORD = {"kind": "word", "text": "a"}
LET = {"kind": "let", "name": WORD, "expr": {"kind": "negate"}}


@pytest.mark.parametrize(
    "content, problem",
    [
        pytest.param("{", "tree.json:1: is not JSON: ", id="no-json"),
        pytest.param("[" * 100_000, "tree.json:1: is not JSON: ", id="deep-json"),
        pytest.param("[]", "tree.json: $: is not an object with `texts`", id="no-texts"),
        pytest.param('{"texts": []}', "tree.json: $.version: is not 1", id="version"),
        pytest.param(
            '{"version": true, "texts": []}', "tree.json: $.version: is not 1", id="no number"
        ),
        pytest.param('{"version": 1, "texts": 1}', "tree.json: $.texts: is not a list", id="list"),
        pytest.param(
            '{"version": 1, "texts": [], "x": 1}', "tree.json: $: has no field `x`", id="more"
        ),
        pytest.param(
            json.dumps({"version": 1, "texts": [{"items": [LET]}]}),
            "tree.json: $.texts[0].items[0].expr: lacks `operand`",
            id="node",
        ),
        pytest.param("\ud800", "tree.json:1: is not JSON: ", id="no-utf-8"),
    ],
)
def test_what_is_no_tree_is_one_error(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], content: str, problem: str
) -> None:
    """With the place in the JSON; nothing on stdout, exit 2."""
    tree = tmp_path / "tree.json"
    tree.write_text(content, encoding="utf-8", errors="surrogatepass")
    assert main.main(["ast", "--from-json", str(tree)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert f"{tree.parent}/{problem}" in err


def test_a_text_with_errors_has_no_tree(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its diagnostics are told as `check` does."""
    file = tmp_path / "p.policy"
    file.write_text("policy p { what }\n", encoding="utf-8")
    assert main.main(["ast", str(file), "-o", "json"]) == 2
    out, err = capsys.readouterr()
    assert (out, "error[PS001]" in err) == ("", True)


@pytest.mark.parametrize(
    "arguments",
    [["ast"], ["ast", "p.policy", "--from-json", "x"], ["ast", "--from-json", "x", "-o", "json"]],
    ids=["nothing", "both", "form"],
)
def test_ways_exclude_each_other(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Usage errors exit 3."""
    assert main.main(arguments) == 3
    assert capsys.readouterr().out == ""
