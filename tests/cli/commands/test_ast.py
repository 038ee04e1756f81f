from __future__ import annotations

import io
import json
import pathlib
import types

import pytest

from policysched.cli import main
from tests import report_schemas

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
    [
        ["ast"],
        ["ast", "--profiles"],
        ["ast", "p.policy", "--from-json", "x"],
        ["ast", "--from-json", "x", "-o", "json"],
        ["ast", "--from-json", "x", "--profiles"],
    ],
    ids=["nothing", "no-path", "both", "form", "no-text"],
)
def test_ways_exclude_each_other(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Usage errors exit 3."""
    assert main.main(arguments) == 3
    assert capsys.readouterr().out == ""


PROFILES = """\
policy every { profiles all for pods reject when free(cpu) < 1 as full }
policy web { for pods where app = web score free(cpu) prefer high as roomy weight 7 }
policy next { mode shadow for pods reject when free(cpu) < 2 }
profile one { policies web, next plugin NodeAffinity weight 5 }
profile two { policies web exclude every disable all scores }
"""


def _read_profiles(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    file = tmp_path / "p.policy"
    file.write_text(PROFILES, encoding="utf-8")
    assert main.main(["ast", "--profiles", str(file), *flags]) == 0
    return capsys.readouterr().out


def test_a_profile_has_policies_of_all_profiles_and_weights_in_effect(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rules follow the plugins; a profile that excludes a policy does not have its rules."""
    report = json.loads(_read_profiles(tmp_path, capsys, "-o", "json"))
    report_schemas.check_report(report, "profiles")
    one, two = report["profiles"]
    assert (one["policies"], one["shadow"]) == (["web", "every"], ["next"])
    assert (two["policies"], two["shadow"]) == (["web"], [])
    assert [(each["ofAllProfiles"], each["excluded"]) for each in (one, two)] == [
        (["every"], []),
        ([], ["every"]),
    ]
    rules = [
        [(each["name"], each["weight"]) for each in profile["members"] if each["kind"] == "rule"]
        for profile in (one, two)
    ]
    assert rules == [[("every/full", None), ("web/roomy", 7)], [("web/roomy", 7)]]
    weights = {each["name"]: each["weight"] for each in one["members"]}
    assert weights["NodeAffinity"] == 5


def test_people_see_a_table_of_each_profile(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only what filters or gives points has a row."""
    first, second = _read_profiles(tmp_path, capsys).split("profile two\n")
    policies = "web, every (of all profiles); in shadow mode: next"
    assert first.startswith(f"profile one\n  policies: {policies}\n")
    assert second.startswith("  policies: web; excluded: every\n")
    rows = [line.split() for line in first.splitlines()]
    assert rows[-3:-1] == [["18", "every/full", "yes"], ["19", "web/roomy", "7"]]
    assert "DefaultBinder" not in first
    assert "every/full" not in second
