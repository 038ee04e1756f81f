from __future__ import annotations

import pathlib
from xml.etree import ElementTree

import pytest

from policysched.policytests import coverage_formats, running
from tests.policytests import files

CASES = [
    ("pod: web", 8),
    ("pod: {labels: {app: cron}}", 0),
    ("pod: web, metrics: outage", 4),
    ("pod: web, metrics: {busy: {n1: 40%, n4: 40%}}", 6),
    ("pod: web, metrics: {busy: {n1: 99%, n2: 99%, n3: 99%, n4: 99%}}", 5),
]


@pytest.mark.parametrize("more, covered", CASES)
def test_coverage_counts_both_ways_of_each_rule(
    tmp_path: pathlib.Path, more: str, covered: int
) -> None:
    """Filters reject and pass, scores score and differ, tolerations are granted: nine branches."""
    done = running.run_test_suites([files.expecting(tmp_path, "exact: false", more)])
    taken = {
        f"{rule.name.partition('/')[2]} {branch}"
        for rule in done.coverage.rules
        for branch, count in rule.branches.items()
        if count
    }
    assert done.coverage.branch_counts == (len(taken), 9)
    assert "by-day rejected" not in taken
    assert len(taken) == covered, taken


def test_a_file_that_is_named_in_several_ways_counts_once(tmp_path: pathlib.Path) -> None:
    """By a link, by its place beside the tests, or in full: its rules are the same rules."""
    folder = tmp_path / "real"
    folder.mkdir()
    path = files.expecting(folder, "exact: false")
    (tmp_path / "link").symlink_to(folder)
    once = running.run_test_suites([path]).coverage
    linked = str(tmp_path / "link" / "web_test.yaml")
    twice = running.run_test_suites(
        [path, linked, str(folder / ".." / "real" / "web_test.yaml")]
    ).coverage
    assert twice.branch_counts == once.branch_counts
    assert {rule.file for rule in twice.rules} == {rule.file for rule in once.rules}
    assert coverage_formats.render_lcov(twice).count("SF:") == 1


def test_what_is_missing_is_told_in_words(tmp_path: pathlib.Path) -> None:
    """By rule."""
    done = running.run_test_suites([files.expecting(tmp_path, "node: n2")])
    missing = {
        rule.name: rule.missing_outcomes for rule in done.coverage.rules if rule.missing_outcomes
    }
    assert missing == {"web/by-day": ["never rejected a node"]}


@pytest.mark.parametrize("threshold, code", [(88.0, 0), (88.9, 1), (None, 0)])
def test_coverage_below_the_threshold_exits_1(
    tmp_path: pathlib.Path, threshold: float | None, code: int
) -> None:
    """Eight of nine branches are 88.9 %, a little less than the threshold of 88.9."""
    done = running.run_test_suites([files.expecting(tmp_path, "node: n2")])
    assert done.get_exit_code(threshold) == code


def test_lcov_has_a_line_a_rule_and_its_branches(tmp_path: pathlib.Path) -> None:
    """As geninfo(1) describes it."""
    done = running.run_test_suites([files.expecting(tmp_path, "node: n2")])
    assert coverage_formats.render_lcov(done.coverage).splitlines() == [
        "TN:policysched",
        f"SF:{tmp_path}/web.policy",
        *("BRDA:6,0,0,1", "BRDA:6,0,1,3", "BRDA:7,0,0,1", "BRDA:7,0,1,3"),
        *("BRDA:8,0,0,1", "BRDA:8,0,1,1", "BRDA:9,0,0,1"),
        *("BRDA:10,0,0,0", "BRDA:10,0,1,4"),
        *("BRF:9", "BRH:8"),
        *(f"DA:{line},1" for line in (6, 7, 8, 9, 10)),
        *("LF:5", "LH:5", "end_of_record"),
    ]


def test_cobertura_says_the_same(tmp_path: pathlib.Path) -> None:
    """As XML."""
    done = running.run_test_suites([files.expecting(tmp_path, "node: n2")])
    root = ElementTree.fromstring(coverage_formats.render_cobertura(done.coverage))  # noqa: S314 - our own
    assert (root.get("line-rate"), root.get("branch-rate")) == ("1.0000", "0.8889")
    lines = {line.get("number"): line.get("condition-coverage") for line in root.iter("line")}
    assert lines == {
        **dict.fromkeys(("6", "7", "8"), "100% (2/2)"),
        "9": "100% (1/1)",
        "10": "50% (1/2)",
    }


def test_rules_about_preemption_keep_pods_and_leave_others(tmp_path: pathlib.Path) -> None:
    """`protect` counts for pods of all policies; `preempt never` can only keep."""
    policy = """
    policy web {
      for pods where app = web
      preempt pods where tier = batch as only-batch
      preempt never during "00:00-00:01" as never
    }
    policy notebooks { for pods where app = notebook protect from preemption as keep }
    """
    head = """
policies: [web.policy]
now: 2026-03-02T10:00:00+01:00
nodes: {n1: {cpu: 2}, n2: {cpu: 2}}
pods:
  notebook: {labels: {app: notebook, tier: batch}, requests: {cpu: 2}, node: n1}
  api: {labels: {app: api}, requests: {cpu: 2}, node: n2}
  web: {labels: {app: web}, requests: {cpu: 1}, priority: 100}
"""
    path = files.write(tmp_path, "- {name: it, pod: web, expect: {node: null}}\n", head, policy)
    done = running.run_test_suites([path])
    assert done.problems == {}
    taken = {rule.name: dict(rule.branches) for rule in done.coverage.rules}
    assert taken == {
        "web/only-batch": {"kept": 1, "left": 1},
        "web/never": {"kept": 0},
        "notebooks/keep": {"kept": 1, "left": 1},
    }
