from __future__ import annotations

import pathlib

import pytest

from policysched import errors
from policysched.policytests import running, updating
from tests.policytests import files

WRONG_AND_RIGHT = [
    ("node: n4 # why", "node: n2 # why"),
    ("feasible: [n2, n1]  # two", "feasible: [n2, n4]  # two"),
    (
        "feasible:\n    - n1 # one\n    - n2\n  pending: false",
        "feasible: [n2, n4]\n  pending: false",
    ),
    ("feasible: # two\n  - n1\n  pending: false", "feasible: [n2, n4] # two\n  pending: false"),
    ("feasible:\n  - n1\n  pending: false", "feasible: [n2, n4]\n  pending: false"),
    ("rejected: {n1: any, n3: too-hot}", "rejected: {n1: any, n3: fast-disk}"),
    ("rejected: {n1: any, n2: any} # some", "rejected: {n1: any} # some"),
    ("rejected: {n1: any}\n  exact: true", "rejected: {n1: too-hot, n3: fast-disk}\n  exact: true"),
    (
        "scores:\n    # the winner\n    n2: 1 ± 5 # points\n    n4: 500",
        "scores:\n    # the winner\n    n2: 600 ± 5 # points\n    n4: 500",
    ),
    ("rules: {quiet: {n2: {raw: 0.1 +- 1%}}}", "rules: {quiet: {n2: {raw: 0.4 +- 1%}}}"),
    ("rules: {quiet: {n2: 60, n1: 1}}", "rules: {quiet: {n2: 60}}"),
    ("message: >-\n    no\n    room\n  pending: true", "message: ''\n  pending: false"),
    ("policies: []\n  skipped: [quiet]", "policies: [web]\n  skipped: []"),
    ("{}", "{node: n2, feasible: [n2, n4]}"),
    ("", " {node: n2, feasible: [n2, n4]}"),
]


@pytest.mark.parametrize("wrong, right", WRONG_AND_RIGHT)
def test_update_writes_what_happens_and_keeps_the_rest(
    tmp_path: pathlib.Path, wrong: str, right: str
) -> None:
    """Values are replaced in place, comments and layout stay, and the result passes."""
    path = files.write(tmp_path, _test(wrong))
    done = running.run_test_suites([path], is_update=True)
    assert done.problems == {}
    text = updating.update_expectations_text(done.results[0].case.suite, done.results)
    before = pathlib.Path(path).read_text("utf-8")
    unchanged = before.index("expect:") + len("expect:")
    assert text[:unchanged] == before[:unchanged]
    assert text == files.HEAD + "tests:\n" + _indented(_test(right))
    pathlib.Path(path).write_text(text, "utf-8")
    assert [result.status for result in running.run_test_suites([path]).results] == ["pass", "pass"]


@pytest.mark.parametrize("wrong, right", WRONG_AND_RIGHT)
def test_line_ends_stay_as_they_are(tmp_path: pathlib.Path, wrong: str, right: str) -> None:
    """In a file with CRLF nothing that is written has another line end, or half of one."""
    path = pathlib.Path(files.write(tmp_path, _test(wrong)))
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    done = running.run_test_suites([str(path)], is_update=True)
    text = updating.update_expectations_text(done.results[0].case.suite, done.results)
    expected = files.HEAD + "tests:\n" + _indented(_test(right))
    assert text == expected.replace("\n", "\r\n")


def _test(expect: str) -> str:
    value = f" {expect}" if expect == "{}" else f"\n    {expect.replace(chr(10), chr(10) + '  ')}"
    if not expect or expect.startswith((" {", "{node")):
        value = f" {expect.strip()}" if expect else ""
    head = "- name: it # the first\n  pod: web\n  expect:"
    return f"{head}{value}\n- {{name: next, pod: web, expect: {{node: n2}}}} # last\n"


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


def test_several_tests_of_a_file_are_updated_at_once(tmp_path: pathlib.Path) -> None:
    """Edits do not shift each other."""
    tests = "".join(f"- {{name: t{n}, pod: web, expect: {{node: n{n}}}}}\n" for n in (1, 2, 3, 4))
    path = files.write(tmp_path, tests)
    done = running.run_test_suites([path])
    text = updating.update_expectations_text(done.results[0].case.suite, done.results)
    assert text.count("node: n2") == 4


def test_an_aliased_expectation_is_not_updated(tmp_path: pathlib.Path) -> None:
    """An update would change another test, too; values beside aliases are updated."""
    tests = """\
- {name: one, pod: web, expect: &one {node: n4}}
- {name: two, pod: web, expect: *one}
"""
    path = files.write(tmp_path, tests)
    done = running.run_test_suites([path])
    with pytest.raises(errors.InputError, match=r"web_test.yaml:\d+: an alias repeats this expect"):
        updating.update_expectations_text(done.results[0].case.suite, done.results)
    path = files.write(
        tmp_path,
        """\
- {name: one, pod: &pod {labels: {app: web}}, expect: {node: n4}}
- {name: two, pod: *pod, expect: {node: n4}}
""",
    )
    done = running.run_test_suites([path])
    text = updating.update_expectations_text(done.results[0].case.suite, done.results)
    assert text.count("node: n2") == 2
    assert text.count("*pod, expect: {node: n2}") == 1
