from __future__ import annotations

import pathlib

import pytest

from policysched.cli import main
from policysched.policytests import running, series
from tests.policytests import files
from tests.realcluster import components

POLICY = """\
metric busy: ratio = `1 - rate(idle_seconds_total[5m])` node instance refresh 15s maxAge 2m

policy web {
  for pods where app = web
  reject when busy > 80% missing allow as too-hot
  score busy prefer low normalize linear(0%, 100%) missing score 0 weight 10 as quiet
}

profile web {
  policies web
  disable all scores
}
"""
HEAD = """\
policies: [web.policy]
nodes: {n1: {}, n2: {}, n3: {}, n4: {}}
series:
  - {series: 'idle_seconds_total{instance="n1"}', values: '0+6x40'}
  - {series: 'idle_seconds_total{instance="n2"}', values: '0+30x40'}
  - {series: 'idle_seconds_total{instance="n3"}', values: '0+6x35 _x5'}
pods: {web: {labels: {app: web}}}
"""
EXPECT = """\
- name: what promtool answers
  pod: web
  expect:
    rejected: {n1: too-hot}
    feasible: [n2, n3, n4]
    node: n2
    rules: {quiet: {n2: {points: 50, raw: 50%}, n3: 0, n4: 0}}
- name: an outage
  pod: web
  metrics: outage
  expect: {feasible: [n1, n2, n3, n4]}
- name: values over it
  pod: web
  metrics: {busy: {n1: 10%, n2: _}}
  expect: {feasible: [n1, n2, n3, n4], node: n1}
"""


@pytest.fixture(scope="module")
def promtool() -> str:
    """The real promtool."""
    return str(components.binary("promtool"))


def _run(path: str, promtool: str | None) -> running.PolicyTestRun:
    return running.run_test_suites([path], prometheus_bin=promtool)


@pytest.mark.e2e
def test_series_are_evaluated_by_prometheus(tmp_path: pathlib.Path, promtool: str) -> None:
    """Rates, a target that went away, nodes without series; values of `metrics` stand over them."""
    path = files.write(tmp_path, EXPECT, HEAD, POLICY)
    done = _run(path, promtool)
    assert done.problems == {}
    assert [result.mismatches for result in done.results] == [(), (), ()]


@pytest.mark.e2e
@pytest.mark.parametrize(
    "more, node",
    [
        pytest.param("seriesAt: 8m\n", "[n1, n2, n3]", id="earlier"),
        pytest.param("seriesInterval: 30s\n", "n2", id="interval"),
    ],
)
def test_the_file_says_when(tmp_path: pathlib.Path, promtool: str, more: str, node: str) -> None:
    """`seriesAt` counts from the first value, `seriesInterval` lies between values."""
    head = HEAD.replace("0+6x40", "0+12x40").replace("0+6x35", "0+12x35") + more
    if "At" in more:
        head = head.replace("0+30x40", "0+12x40")
    path = files.write(
        tmp_path, f"- {{name: it, pod: web, expect: {{node: {node}}}}}\n", head, POLICY
    )
    done = _run(path, promtool)
    assert done.problems == {}
    assert [result.mismatches for result in done.results] == [()]


@pytest.mark.e2e
def test_a_wrong_expectation_fails(tmp_path: pathlib.Path, promtool: str) -> None:
    """What the series make of a node is compared like any value."""
    tests = "- {name: it, pod: web, expect: {rules: {quiet: {n2: {raw: 60%}}}}}\n"
    (result,) = _run(files.write(tmp_path, tests, HEAD, POLICY), promtool).results
    (mismatch,) = result.mismatches
    assert (result.status, mismatch.expected, mismatch.actual) == ("fail", "60%", "0.5")


@pytest.mark.e2e
def test_nonsense_is_told_with_its_line(tmp_path: pathlib.Path, promtool: str) -> None:
    """promtool's own words, at the line of the series."""
    head = HEAD.replace("0+30x40", "0+30xmany")
    path = files.write(tmp_path, EXPECT, head, POLICY)
    done = _run(path, promtool)
    (problem,) = [
        *done.problems.values(),
        *(each.problem for each in done.results if each.problem),
    ][:1]
    assert f"{path}:4" in problem
    assert "promtool refuses the series" in problem


@pytest.mark.parametrize("given", [None, "missing"], ids=["path", "option"])
def test_without_promtool_it_says_what_to_do(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: str | None,
) -> None:
    """A file of tests with series cannot be run then; that is an error, not a test that passes."""
    monkeypatch.setenv("PATH", str(tmp_path))
    path = files.write(tmp_path, EXPECT, HEAD, POLICY)
    option = [] if given is None else ["--prometheus-bin", str(tmp_path / given)]
    assert main.main(["test", path, *option]) == 2
    said = capsys.readouterr().out
    assert f"{path}:4: `series` need promtool, but `" in said
    assert "--prometheus-bin" in said


@pytest.mark.e2e
def test_promtool_is_found_beside_prometheus(tmp_path: pathlib.Path, promtool: str) -> None:
    """The option takes promtool, its folder, or the Prometheus beside it."""
    path = files.write(tmp_path, EXPECT, HEAD, POLICY)
    folder = pathlib.Path(promtool).parent
    for given in (folder, folder / "prometheus"):
        assert _run(path, str(given)).get_exit_code() == 0


@pytest.mark.parametrize(
    "line, labels, value",
    [
        pytest.param("{} 5E-01", {}, 0.5, id="no-labels"),
        pytest.param('{a="b", c="d"} 1E+00', {"a": "b", "c": "d"}, 1.0, id="labels"),
        pytest.param('{"a.b"="c}"} NaN', {"a.b": "c}"}, None, id="quoted"),
        pytest.param('{a="say \\"x\\", \\\\"} +Inf', {"a": 'say "x", \\'}, None, id="escapes"),
    ],
)
def test_what_promtool_prints_is_read(
    line: str, labels: dict[str, str], value: float | None
) -> None:
    """Labels may hold any sign."""
    (found,) = series._parse_promtool_answer(line, 60).series
    assert found.labels == labels
    if value is not None:
        assert found.value == value
