from __future__ import annotations

import json
import pathlib
import re
from xml.etree import ElementTree

import pytest

from policysched.cli import main
from policysched.cli.commands import test as command
from tests import report_schemas
from tests.policytests import files

TESTS = """\
- {name: good, pod: web, expect: {node: n2}}
- {name: bad, pod: web, expect: {node: n4, feasible: [n2]}}
- {name: later, pod: web, skip: not yet, expect: {node: n2}}
"""


def test_text_shows_the_difference_and_the_evaluation(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Expected and actual as a diff, then what `explain` says of the pod."""
    path = files.write(tmp_path, TESTS)
    assert main.main(["test", path]) == 1
    said = capsys.readouterr().out
    line = files.HEAD.count("\n") + 3
    assert said.startswith(
        f"FAIL {path}:{line}: bad\n"
        "  - node: n4\n"
        "  + node: n2\n"
        "  - feasible: [n2]\n"
        "  + feasible: [n2, n4]\n"
        "\n"
        "  default/web fits on 2 of 4 nodes\n"
    )
    assert "web/too-hot (line 6)" in said
    assert re.search(r"^    web/quiet +600 +500$", said, re.MULTILINE)
    assert said.endswith("\n\n1 passed, 1 failed, 1 skipped\n")


def test_json_follows_its_schema(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With failures by line, and coverage where it is asked for."""
    path = files.write(tmp_path, TESTS)
    assert main.main(["test", path, "--format", "json", "--coverage"]) == 1
    found = json.loads(capsys.readouterr().out)
    report_schemas.check_report(found, "test")
    assert found["summary"] == {"pass": 1, "fail": 1, "error": 0, "skip": 1}
    failing = found["tests"][1]
    line = files.HEAD.count("\n") + 3
    assert failing["failures"][0] == {
        "line": line,
        "expectation": "node",
        "expected": "n4",
        "actual": "n2",
    }
    assert failing["evaluation"]["best"] == ["n2"]
    assert (found["coverage"]["covered"], found["coverage"]["branches"]) == (8, 9)


def test_junit_counts_failures_errors_and_what_is_skipped(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A testsuite a file; one that makes no sense is an error."""
    files.write(tmp_path, TESTS)
    (tmp_path / "wrong_test.yaml").write_text("tests: 1\n", "utf-8")
    assert main.main(["test", str(tmp_path), "--format", "junit"]) == 2
    root = ElementTree.fromstring(capsys.readouterr().out.encode())  # noqa: S314 - our own
    counts = {key: root.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    (failure,) = root.iter("failure")
    assert failure.get("message") == "- node: n4 + node: n2"
    assert "fits on 2 of 4 nodes" in (failure.text or "")


def test_junit_is_xml_whatever_tests_are_called(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Signs that XML cannot have are replaced, and no parser refuses the report."""
    files.write(tmp_path, '- {name: "a \\u0001 <b>", pod: web, expect: {node: n2}}\n')
    assert main.main(["test", str(tmp_path), "--format", "junit"]) == 0
    root = ElementTree.fromstring(capsys.readouterr().out.encode())  # noqa: S314 - our own
    assert [case.get("name") for case in root.iter("testcase")] == ["a \ufffd <b>"]


def test_update_keeps_the_mark_and_the_mode_of_a_file(tmp_path: pathlib.Path) -> None:
    """A byte order mark, permissions and a link stay, as with `fmt`."""
    path = pathlib.Path(files.write(tmp_path, "- {name: it, pod: web, expect: {node: n4}}\n"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    path.chmod(0o640)
    link = tmp_path / "link_test.yaml"
    link.symlink_to(path)
    assert main.main(["test", str(link), "--update"]) == 0
    assert path.read_bytes().startswith(b"\xef\xbb\xbfpolicies")
    assert path.read_bytes().endswith(b"expect: {node: n2}}\n")
    assert (path.stat().st_mode & 0o777, link.is_symlink()) == (0o640, True)


EXITS = [
    pytest.param("node: n2", ["--run", "^it$"], 0, "1 passed", id="passes"),
    pytest.param("node: n2", ["--run", "other"], 1, "no tests", id="none-collected"),
    pytest.param("node: n4", [], 1, "1 failed", id="fails"),
    pytest.param("node: n9", [], 2, "1 file not run", id="wrong-input"),
    pytest.param("node: n2", ["--threshold", "80"], 0, "coverage: 88.9 %", id="covered"),
    pytest.param("node: n2", ["--threshold", "90%"], 1, "below the threshold of 90 %", id="short"),
    pytest.param("node: n2", ["--threshold", "101"], 3, "", id="no-percentage"),
    pytest.param("node: n2", ["--run", "("], 3, "", id="no-regex"),
    pytest.param("node: n2", ["--watch", "--update"], 3, "", id="watch-and-update"),
    pytest.param("node: n2", ["--watch", "--format", "json"], 3, "", id="watch-json"),
    pytest.param("node: n2", ["nowhere"], 2, "", id="no-such-path"),
    pytest.param("node: n2", ["--lcov", "none/x"], 2, "1 passed", id="cannot-be-written"),
]


@pytest.mark.parametrize("expect, options, code, said", EXITS)
def test_exit_codes(
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    expect: str,
    options: list[str],
    code: int,
    said: str,
) -> None:
    """0 all pass, 1 a failure or none or too little coverage, 2 wrong input, 3 usage."""
    path = files.expecting(tmp_path, expect)
    assert main.main(["test", path, *options]) == code
    printed = capsys.readouterr()
    assert said in printed.out
    assert bool(printed.err) == (not printed.out or "--lcov" in options)


def test_a_folder_without_tests_exits_1(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing collected is no success."""
    assert main.main(["test", str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith("no tests")


@pytest.mark.parametrize("options", [[], ["--threshold", "80"]], ids=["bare", "threshold"])
def test_without_a_test_that_ran_there_is_no_figure_of_coverage(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    """A file with an error covers nothing, so `100.0 %` would be a lie."""
    path = files.expecting(tmp_path, "node: n9")
    assert main.main(["test", path, "--coverage", *options]) == 2
    printed = capsys.readouterr().out
    assert "\ncoverage: none, because no test ran\n" in printed
    assert "%" not in printed
    main.main(["test", path, "--coverage", "--format", "json", *options])
    assert json.loads(capsys.readouterr().out)["coverage"] is None


def test_what_is_missing_of_the_coverage_is_told(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With file, line and rule; and written in two forms for other programs."""
    path = files.expecting(tmp_path, "node: n2")
    lcov, cobertura = tmp_path / "lcov.info", tmp_path / "coverage.xml"
    options = ["--coverage", "--lcov", str(lcov), "--cobertura", str(cobertura)]
    assert main.main(["test", path, *options]) == 0
    said = capsys.readouterr().out
    assert f"  {tmp_path}/web.policy:10: web/by-day never rejected a node\n" in said
    assert lcov.read_text("utf-8").endswith("end_of_record\n")
    assert cobertura.read_text("utf-8").startswith("<?xml")


def test_update_writes_the_files_and_runs_them_again(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What failed passes; files without a failure are not touched."""
    path = files.write(tmp_path, TESTS)
    assert main.main(["test", path, "--update"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "2 passed, 1 skipped\n"
    assert printed.err == f"policysched: note: updated {path}\n"
    text = pathlib.Path(path).read_text("utf-8")
    assert "- {name: bad, pod: web, expect: {node: n2, feasible: [n2, n4]}}\n" in text
    assert main.main(["test", path, "--update"]) == 0
    assert "updated" not in capsys.readouterr().err


def test_watch_sees_a_file_come_back(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A policy that is away for a run, as while git puts another in its place, is run again."""
    files.expecting(tmp_path, "node: n2")
    policy = tmp_path / "web.policy"
    text = policy.read_text("utf-8")
    steps = iter(["goes", "idle", "comes", "end"])

    def wait(_seconds: float) -> None:
        match next(steps):
            case "goes":
                policy.unlink()
            case "comes":
                policy.write_text(text, "utf-8")
            case "end":
                raise KeyboardInterrupt
            case _:
                pass

    def run_once() -> set[str]:
        main.main(["test", str(tmp_path)])
        return {str(policy)} if policy.exists() else set()

    with pytest.raises(KeyboardInterrupt):
        command.rerun_on_changes(run_once, [str(tmp_path)], wait)
    ends = re.findall(r"^\d (?:passed|failed).*$", capsys.readouterr().out, re.MULTILINE)
    assert ends == ["1 passed", "0 passed, 1 file not run", "1 passed"]


def test_watch_runs_again_when_a_file_changes(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The policy changes, then a file of tests comes; in between nothing runs."""
    files.expecting(tmp_path, "node: n2")
    policy = tmp_path / "web.policy"
    steps = iter(["idle", "policy", "idle", "tests", "end"])

    def wait(_seconds: float) -> None:
        match next(steps):
            case "policy":
                policy.write_text(policy.read_text("utf-8").replace("80%", "30%"), "utf-8")
            case "tests":
                (tmp_path / "more_test.yaml").write_text("tests: []\n", "utf-8")
            case "end":
                raise KeyboardInterrupt
            case _:
                pass

    def run_once() -> set[str]:
        main.main(["test", str(tmp_path)])
        return {str(policy)}

    with pytest.raises(KeyboardInterrupt):
        command.rerun_on_changes(run_once, [str(tmp_path)], wait)
    ends = re.findall(r"^\d (?:passed|failed).*$", capsys.readouterr().out, re.MULTILINE)
    assert ends == ["1 passed", "0 passed, 1 failed", "0 passed, 1 failed"]
