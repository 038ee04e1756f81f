from __future__ import annotations

import io
import json
import pathlib
import sys
import types

import orjson
import pytest

from policysched import errors
from policysched.cli import main
from tests import report_schemas

CLUSTER = pathlib.Path(__file__).parents[2] / "lint" / "cluster.yaml"
GOOD = """policy web {
  description "web"
  owner "team"
  for pods where app = web
  nodeAffinity required gpu In (a100)
}
"""
REDUNDANT = GOOD.replace("gpu In (a100)", "gpu In (a100) and gpu Exists")
IMPOSSIBLE = GOOD.replace("gpu In (a100)", "gpu In (a100) and gpu DoesNotExist")
SPOT = GOOD.replace("gpu In (a100)", "gpu != a100")
MANIFEST = """apiVersion: v1
kind: ConfigMap
metadata: {{name: policies}}
data:
  note.txt: hello
  web.policy: {style}
"""


def lint(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    """Run the command; return its exit code, output and errors."""
    code = main.main(["lint", *map(str, args)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A working folder without settings of its own."""
    (tmp_path / ".policysched.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "text, options, exit_code",
    [
        pytest.param(GOOD, (), errors.EXIT_OK, id="good"),
        pytest.param(REDUNDANT, (), errors.EXIT_FINDINGS, id="warning"),
        pytest.param(REDUNDANT, ("--fail-level", "error"), errors.EXIT_OK, id="mild"),
        pytest.param(SPOT, (), errors.EXIT_OK, id="info"),
        pytest.param(SPOT, ("--fail-level", "info"), errors.EXIT_FINDINGS, id="strict"),
        pytest.param(REDUNDANT, ("--ignore", "PS2"), errors.EXIT_OK, id="ignored"),
        pytest.param(REDUNDANT, ("--select", "PS4,PS8"), errors.EXIT_OK, id="not-selected"),
        pytest.param(GOOD + "policy x {", (), errors.EXIT_WRONG_INPUT, id="syntax-error"),
        pytest.param(GOOD, ("--select", "PS99"), errors.EXIT_USAGE, id="unknown-code"),
        pytest.param(GOOD, ("--format", "xml"), errors.EXIT_USAGE, id="unknown-format"),
    ],
)
def test_the_exit_code_says_what_was_found(
    folder: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    options: tuple[str, ...],
    exit_code: int,
) -> None:
    """0 fine, 1 findings from the level on, 2 texts with errors, 3 usage."""
    (folder / "web.policy").write_text(text)
    assert lint(capsys, "web.policy", *options)[0] == exit_code


def test_full_output_shows_line_caret_and_help(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `check` shows errors."""
    (folder / "web.policy").write_text(REDUNDANT)
    _, out, err = lint(capsys, "web.policy")
    assert out == (
        "warning[PS203]: `gpu Exists` has no effect: the other requirements imply it\n"
        "  --> web.policy:5:43\n"
        "5 |   nodeAffinity required gpu In (a100) and gpu Exists\n"
        "  |                                           ^^^^^^^^^^\n"
        "  = help: remove it [safe fix]\n"
    )
    assert err == "1 warning, 1 fixable by --fix\n"


@pytest.mark.parametrize(
    "style, line, column",
    [
        pytest.param(
            "|\n" + "".join(f"    {each}\n" for each in REDUNDANT.splitlines()), 11, 47, id="block"
        ),
        pytest.param(
            "|-\n\n" + "".join(f"      {each}\n" for each in REDUNDANT.splitlines()),
            12,
            49,
            id="block-with-empty-line",
        ),
        pytest.param(orjson.dumps(REDUNDANT).decode(), 6, 141, id="quoted"),
    ],
)
def test_findings_name_the_line_of_the_manifest(
    folder: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    style: str,
    line: int,
    column: int,
) -> None:
    """The very line and column, in a block of text and in a quoted one."""
    (folder / "cm.yaml").write_text(MANIFEST.format(style=style))
    _, out, _ = lint(capsys, "cm.yaml", "--select", "PS203", "--format", "github")
    assert out.startswith(f"::warning file=cm.yaml,line={line},endLine={line},")
    _, out, _ = lint(capsys, "cm.yaml", "--select", "PS203", "--format", "concise")
    assert out.startswith(f"cm.yaml:{line}:{column}: PS203 warning: ")


def test_json_follows_the_schema(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With fixes, secondary places and without."""
    for text in (GOOD, REDUNDANT, IMPOSSIBLE, SPOT):
        (folder / "web.policy").write_text(text)
        _, out, _ = lint(capsys, "web.policy", "--format", "json")
        report_schemas.check_report(orjson.loads(out), "lint")


def test_sarif_has_regions_and_stable_fingerprints(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines that move keep the fingerprint; two equal lines have two."""
    (folder / "web.policy").write_text(REDUNDANT)
    _, out, _ = lint(capsys, "web.policy", "--format", "sarif")
    (first,) = orjson.loads(out)["runs"][0]["results"]
    assert first["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 5,
        "startColumn": 43,
        "endLine": 5,
        "endColumn": 53,
    }
    (folder / "web.policy").write_text("# moved\n" + REDUNDANT + REDUNDANT.replace("web", "api"))
    _, out, _ = lint(capsys, "web.policy", "--format", "sarif", "--select", "PS203")
    prints = [each["partialFingerprints"] for each in orjson.loads(out)["runs"][0]["results"]]
    assert prints[0] == first["partialFingerprints"]
    assert prints[1] != prints[0]


def test_safe_fixes_are_written(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was redundant has gone, and nothing is left to report."""
    file = folder / "web.policy"
    file.write_text(REDUNDANT)
    code, out, err = lint(capsys, "web.policy", "--fix")
    assert (code, out) == (errors.EXIT_OK, "")
    assert "fixed web.policy" in err
    assert file.read_text() == GOOD


def test_unsafe_fixes_are_asked_for(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--fix` alone leaves the meaning as it is."""
    file = folder / "web.policy"
    file.write_text(SPOT)
    lint(capsys, "web.policy", "--fix")
    assert file.read_text() == SPOT
    lint(capsys, "web.policy", "--unsafe-fixes")
    assert file.read_text() == SPOT.replace("gpu != a100", "gpu != a100 and gpu Exists")


def test_diff_shows_and_writes_nothing(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 1 where there is something to fix."""
    file = folder / "web.policy"
    file.write_text(REDUNDANT)
    code, out, _ = lint(capsys, "web.policy", "--diff")
    assert code == errors.EXIT_FINDINGS
    assert "-  nodeAffinity required gpu In (a100) and gpu Exists\n" in out
    assert file.read_text() == REDUNDANT
    file.write_text(GOOD)
    assert lint(capsys, "web.policy", "--diff")[:2] == (errors.EXIT_OK, "")


def test_standard_input_is_linted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As editors do it."""
    stream = types.SimpleNamespace(buffer=io.BytesIO(REDUNDANT.encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    _, out, _ = lint(capsys, "-", "--format", "concise")
    assert out.startswith("<stdin>:5:43: PS203 warning: ")


@pytest.mark.parametrize(
    "file, content",
    [
        pytest.param(".policysched.toml", '[lint]\nignore = ["PS2"]', id="own"),
        pytest.param("pyproject.toml", '[tool.policysched.lint]\nignore = ["PS2"]', id="project"),
        pytest.param(".policysched.toml", '[lint]\nfail-level = "error"', id="fail-level"),
        pytest.param(".policysched.toml", '[lint.levels]\nPS203 = "info"', id="levels"),
        pytest.param(".policysched.toml", '[lint.per-path]\n"w*" = ["PS203"]', id="per-path"),
    ],
)
def test_settings_are_read_from_the_nearest_file(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    file: str,
    content: str,
) -> None:
    """From the folder or one around it."""
    (tmp_path / file).write_text(content)
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    (tmp_path / "inner" / "web.policy").write_text(REDUNDANT)
    assert lint(capsys, "web.policy")[0] == errors.EXIT_OK


@pytest.mark.parametrize(
    "content, problem",
    [
        pytest.param("\n[lint", ".toml:2: not TOML: expected ", id="no-toml"),
        pytest.param("[lint]\nselect = x", ".toml:2:10: not TOML: invalid value", id="no-value"),
        pytest.param("\n[lnt]", ".toml:2: `lnt` is not a setting (settings are in", id="no-lint"),
        pytest.param(
            "[lint]\n\nselected = []", ".toml:3: selected: `selected` is no", id="unknown"
        ),
        pytest.param("[lint]\nigonre = []", "did you mean `ignore`?", id="misspelt"),
        pytest.param('[lint]\nlevels = {PS2 = "x"}', ".toml:2: levels.PS2: `x` is", id="inline"),
        pytest.param(
            '[lint.per-path]\n"a.b/*" = ["PS77"]', ".toml:2: per-path.a.b/*: no rule", id="path"
        ),
        pytest.param(
            "[lint.thresholds]\nmax-ratio = -1",
            ".toml:2: thresholds.max-ratio: is not a number",
            id="threshold",
        ),
        pytest.param('[lint]\nignore = "PS2"', "is not a list of codes", id="no-list"),
        pytest.param('[lint]\nignore = ["PS77"]', "begins with `PS77`", id="no-code"),
        pytest.param('[lint]\nfail-level = "bad"', "is not `error`", id="no-level"),
        pytest.param("[lint]\nlevels = 3", "is not a table", id="no-table"),
        pytest.param("lint = 3", "is not a table", id="no-section"),
    ],
)
def test_wrong_settings_are_one_clear_error(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str], content: str, problem: str
) -> None:
    """Exit 2, with the file and what is wrong."""
    (folder / ".policysched.toml").write_text(content)
    (folder / "web.policy").write_text(GOOD)
    code, out, err = lint(capsys, "web.policy")
    assert (code, out) == (errors.EXIT_WRONG_INPUT, "")
    assert err.startswith("policysched: ")
    assert ".policysched.toml" in err
    assert problem in err


def test_explain_prints_the_page_of_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    """The same page as in docs/lint/."""
    assert main.main(["explain", "rule", "ps203"]) == errors.EXIT_OK
    assert capsys.readouterr().out.startswith("PS203: a requirement without effect\n")


def test_a_policy_that_leaves_no_node_shows_the_condition_table(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """How many nodes each condition leaves alone, and how many are left after it."""
    conditions = "pool = web and zone = a and not gpu-mem-gb DoesNotExist"
    (folder / "web.policy").write_text(GOOD.replace("gpu In (a100)", conditions))
    code, out, _ = lint(
        capsys, "web.policy", "--cluster", CLUSTER, "--select", "PS5", "--format", "json"
    )
    assert code == errors.EXIT_FINDINGS
    (finding,) = orjson.loads(out)["findings"]
    assert finding["notes"] == [
        "step                         alone  cumulative",
        "pool = web                       2           2",
        "zone = a                         2           1",
        "not gpu-mem-gb DoesNotExist      1           0",
    ]


def test_rules_about_clusters_need_one(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without `--cluster` nothing is said of what nodes have; one that cannot be read is told."""
    (folder / "web.policy").write_text(GOOD)
    assert lint(capsys, "web.policy")[0] == errors.EXIT_OK
    assert lint(capsys, "web.policy", "--cluster", CLUSTER)[0] == errors.EXIT_FINDINGS
    code, out, err = lint(capsys, "web.policy", "--cluster", "none.json")
    assert (code, out) == (errors.EXIT_WRONG_INPUT, "")
    assert err == "policysched: none.json: cannot be read: No such file or directory\n"


@pytest.mark.parametrize("option", ["--diff", "--fix"])
def test_a_text_that_does_not_compile_is_refused_with_its_errors(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    """Nothing is shown or written, no fix is promised, and the exit code says so."""
    broken = GOOD.replace("app = web", "app = web && a = b") + "policy x {"
    (folder / "web.policy").write_text(broken)
    code, out, err = lint(capsys, "web.policy", option)
    assert code == errors.EXIT_WRONG_INPUT
    assert "is never closed" in out + err
    assert "3 errors\n" in err
    assert "fixable" not in err
    assert (folder / "web.policy").read_text() == broken


def test_diff_shows_what_makes_a_text_compile(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A text whose errors all have safe fixes is changed by --fix, and --diff shows how."""
    (folder / "web.policy").write_text(GOOD.replace("In (", "Inn ("))
    code, out, _ = lint(capsys, "web.policy")
    assert code == errors.EXIT_WRONG_INPUT
    code, out, _ = lint(capsys, "web.policy", "--diff")
    assert code == errors.EXIT_FINDINGS
    assert "+  nodeAffinity required gpu In (a100)" in out


def test_a_fix_that_cannot_be_written_is_not_promised(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folded text is left as it is: it is not counted, and --diff ends as `fmt --diff` does."""
    folded = MANIFEST.format(style=">-\n" + "".join(f"    {x}\n\n" for x in REDUNDANT.split("\n")))
    (folder / "web.yaml").write_text(folded)
    code, _, err = lint(capsys, "web.yaml", "--select", "PS203")
    assert (code, err) == (errors.EXIT_FINDINGS, "1 warning\n")
    code, _, err = lint(capsys, "web.yaml", "--select", "PS203", "--diff")
    assert code == errors.EXIT_WRONG_INPUT
    assert "is left unchanged" in err


@pytest.mark.parametrize("option", ["--fix", "--diff"])
def test_fixing_a_text_that_an_alias_repeats_is_refused(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    """The fix is neither promised nor made, for it would change the other value too."""
    block = "&text |\n" + "".join(f"    {line}\n" for line in REDUNDANT.split("\n"))
    repeated = MANIFEST.format(style=block) + "\n  notes.txt: *text\n"
    (folder / "web.yaml").write_text(repeated)
    code, _, err = lint(capsys, "web.yaml", "--select", "PS203")
    assert (code, err) == (errors.EXIT_FINDINGS, "1 warning\n")
    code, _, err = lint(capsys, "web.yaml", "--select", "PS203", option)
    assert code == errors.EXIT_WRONG_INPUT
    assert "web.yaml:6: an alias repeats the key `web.policy`, so it cannot be edited" in err
    assert (folder / "web.yaml").read_text() == repeated
    _, out, _ = lint(capsys, "web.yaml", "--select", "PS203", "--format", "rdjson")
    assert not any(each.get("suggestions") for each in json.loads(out)["diagnostics"])


def test_formatting_alone_fails_nothing(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The layout of a text is information, unless the settings say otherwise."""
    (folder / "web.policy").write_text(GOOD.replace("\n  ", "\n\n\n  ", 1))
    assert lint(capsys, "web.policy")[::2] == (errors.EXIT_OK, "1 info, 1 fixable by --fix\n")
    assert lint(capsys, "web.policy", "--fail-level", "info")[0] == errors.EXIT_FINDINGS
