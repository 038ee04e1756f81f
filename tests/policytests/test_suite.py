from __future__ import annotations

import pathlib

import pytest

from policysched.policytests import running
from policysched.policytests import suite as suites
from tests.policytests import files

TESTS_AT = files.HEAD.count("\n") + 2
"""Line of the first test."""
FAULTS = [
    ("pod: wbe", "node: n2", "there is no pod `wbe` (did you mean `web`?)"),
    ("pod: web", "node: n9", "there is no node `n9` (did you mean"),
    ("pod: web", "feasible: [n2, m4]", "there is no node `m4` (did you mean `n4`?)"),
    ("pod: web", "rejected: {n1: to-hot}", "no rule or plugin `to-hot` (did you mean `too-hot`?)"),
    ("pod: web", "rejected: {n0: any}", "there is no node `n0`"),
    ("pod: web", "rules: {quite: {n2: 1}}", "no rule or plugin `quite` (did you mean `quiet`?)"),
    ("pod: web", "scores: {n2: many}", "`many` is not a number: write 7150 or 7150 ± 50"),
    ("pod: web", "skipped: [TaintToleration]", "there is no rule `TaintToleration`"),
    ("pod: web", "policies: [webs]", "there is no policy `webs` (did you mean `web`?)"),
    ("pod: web", "maxSkew: {zone: 1}", "`maxSkew` needs `replicas`"),
    ("pod: web, replicas: 2", "maxSkew: {zome: 1}", "no node has a label `zome` (did you mean"),
    ("pod: web", "exact: true", "`exact` needs `rejected`"),
    ("pod: web", "", "the test `it` expects nothing"),
    ("replicas: 2", "pending: 0", "the test `it` lacks `pod`"),
    ("pod: web, metrics: {bsy: {n1: 1}}", "node: n2", "no metric `bsy` (did you mean `busy`?)"),
    ("pod: web, metrics: {busy: {n0: 1}}", "node: n2", "there is no node `n0`"),
    ("pod: web, metrics: none", "node: n2", "`metrics` is a mapping"),
    ("pod: web, now: tomorrow", "node: n2", "`tomorrow` is not a time"),
    ("pod: web, extra: 1", "node: n2", "`tests[0]` has no field `extra` (there are `name`, `pod`"),
    ("pod: web", "nod: n2", "`tests[0].expect` has no field `nod` (did you mean `node`?)"),
    ("pod: {label: {a: b}}", "node: n2", "`tests[0].pod` has no field `label` (did you mean"),
    ("pod: web, replicas: 0", "pending: 0", "`tests[0].replicas` must be at least 1"),
    ("clusterPolicy: x, replicas: 3", "division: {a: 1}", "there is no clusterPolicy `x`"),
    ("clusterPolicy: x, pod: web", "error: ''", "`pod` is not allowed in a test of a cluster"),
    ("clusterPolicy: x", "node: n2", "`node` is not allowed in a test of a clusterPolicy"),
    ("pod: web", "division: {a: 1}", "`division` is not allowed in a test of a pod"),
    ("pod: web, resource: {kind: Job}", "node: n2", "`resource` is not allowed in a test of a"),
]


@pytest.mark.parametrize("more, expect, problem", FAULTS)
def test_what_makes_no_sense_is_told_with_its_line(
    tmp_path: pathlib.Path, more: str, expect: str, problem: str
) -> None:
    """Unknown names and fields are errors, never a test that passes."""
    path = files.expecting(tmp_path, expect, more)
    done = running.run_test_suites([path])
    assert done.results == []
    assert problem in done.problems[path]
    assert done.problems[path].startswith(f"{path}:{TESTS_AT}: ")
    assert done.get_exit_code() == 2


HEADS = [
    ("policies: [web.policy]", "policies: [none/*.policy]", 1, "`none/*.policy` matches no file"),
    ("from: n1, labels: {zone: b}", "from: n0", 5, "there is no node `n0` (did you mean"),
    ("{from: n1, labels: {zone: b}}", "{from: n4}", 7, "`n2` is `from` itself"),
    ("dedicated=web:NoSchedule", "dedicated=web", 7, "`dedicated=web` is not a taint"),
    (
        "labels: {disk: ssd",
        "conditions: {Ready: true}, labels: {disk: ssd",
        4,
        '`False` or `Unknown`, in quotes: `"True"`',
    ),
    ("labels: {disk: ssd", "cpu: 8x, labels: {disk: ssd", 4, "8x"),
    ("n3: 10%", "n5: 10%", 9, "there is no node `n5`"),
    ("busy: {", "bizy: {", 9, "there is no metric `bizy`"),
    ("requests: {cpu: 1}", "node: n7", 11, "there is no node `n7`"),
    ("requests: {cpu: 1}", "owner: web", 11, "`web` is not an owner: write Kind/name"),
    ("requests: {cpu: 1}", "claims: {d: {storage: 1X}}", 11, "is not a quantity"),
    ("now: 2026-03-02T10:00:00+01:00", "params: {a: 1}", None, "there is no param `a`"),
    ("now: 2026-03-02T10:00:00+01:00\n", "", TESTS_AT - 1, "set the time with `now`"),
    ("metrics:", "series: [{series: x}]\nmetrics:", 8, "values"),
    ("metrics:", "lint: {}\nmetrics:", 8, "expect"),
]


@pytest.mark.parametrize("before, after, line, problem", HEADS)
def test_what_makes_no_sense_in_the_inputs_is_told(
    tmp_path: pathlib.Path, before: str, after: str, line: int | None, problem: str
) -> None:
    """Inputs of all tests are checked before any test runs."""
    assert before in files.HEAD
    head = files.HEAD.replace(before, after, 1)
    path = files.write(tmp_path, "- {name: it, pod: web, expect: {node: n2}}\n", head)
    done = running.run_test_suites([path])
    assert done.results == []
    assert problem in done.problems[path]
    if line is not None:
        assert done.problems[path].startswith(f"{path}:{line}")


def test_all_faults_of_a_file_are_told_at_once(tmp_path: pathlib.Path) -> None:
    """Each with its line."""
    tests = """\
    - {name: one, pod: web, expect: {node: n8}}
    - {name: two, pod: web, expect: {node: n9}}
    """
    path = files.write(tmp_path, tests)
    said = running.run_test_suites([path]).problems[path]
    assert [line.split(": ")[0] for line in said.splitlines()] == [
        f"{path}:{TESTS_AT}",
        f"{path}:{TESTS_AT + 1}",
    ]


def test_a_file_that_makes_no_sense_hides_no_other(tmp_path: pathlib.Path) -> None:
    """The tests of other files run all the same, and the exit code tells of it."""
    (tmp_path / "wrong_test.yaml").write_text("tests: 1\n", "utf-8")
    files.expecting(tmp_path, "node: n2")
    done = running.run_test_suites([str(tmp_path)])
    assert [result.status for result in done.results] == ["pass"]
    assert done.problems == {
        str(tmp_path / "wrong_test.yaml"): f"{tmp_path}/wrong_test.yaml:1: `tests` must be a list"
    }
    assert done.get_exit_code() == 2


def test_folders_are_searched_for_files_of_tests(tmp_path: pathlib.Path) -> None:
    """By their names, below them too, hidden ones left out; a file that is named is one."""
    for name in ("b_test.yaml", "deep/a_test.yml", "fixture.yaml", ".git/c_test.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    named = str(tmp_path / "fixture.yaml")
    found = suites.discover_test_files([str(tmp_path), named, named])
    assert [str(pathlib.Path(each).relative_to(tmp_path)) for each in found] == [
        "b_test.yaml",
        "deep/a_test.yml",
        "fixture.yaml",
    ]


def test_every_file_that_is_read_is_known(tmp_path: pathlib.Path) -> None:
    """`--watch` follows them: policies in folders, and also a cluster that cannot be read."""
    (tmp_path / "cluster.yaml").write_text("kind: Unknown", "utf-8")
    head = files.HEAD.replace("[web.policy]", "['.', '*.policy']") + "cluster: cluster.yaml\n"
    path = files.write(tmp_path, "- {name: it, pod: web, expect: {node: n2}}\n", head)
    done = running.run_test_suites([path])
    assert list(done.problems) == [path]
    names = ("", "cluster.yaml", "web.policy", "web_test.yaml")
    assert done.inputs == {str(tmp_path / name) for name in names}


def test_a_rule_is_named_in_full_where_its_name_is_not_clear(tmp_path: pathlib.Path) -> None:
    """Two policies have a rule `too-hot`."""
    other = files.POLICY.split("policy web", maxsplit=1)[1].split("profile")[0]
    policy = files.POLICY.replace("policies web", "policies web, web2")
    path = files.write(
        tmp_path,
        "- {name: it, pod: web, expect: {rejected: {n1: too-hot}}}\n",
        policy=f"{policy}\npolicy web2{other}",
    )
    said = running.run_test_suites([path]).problems[path]
    assert said.endswith("several rules are named `too-hot`: write `web/too-hot` or `web2/too-hot`")
