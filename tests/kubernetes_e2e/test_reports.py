"""The JUnit report of e2e.test: what ran, and how it ended."""

from __future__ import annotations

import pathlib

import pytest

from tests.kubernetes_e2e import reports

_REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="6"><testsuite name="Kubernetes e2e suite">
  <testcase name="[SynchronizedBeforeSuite]" classname="s" status="passed" time="0.5"></testcase>
  <testcase name="[It] binds a pod" classname="s" status="passed" time="2.5"></testcase>
  <testcase name="[It] is not in the focus" classname="s" status="skipped" time="0">
    <skipped message="skipped"></skipped></testcase>
  <testcase name="[It] preempts" classname="s" status="failed" time="61">
    <failure type="failed">
      timed out
      after 60 s</failure><system-err>a long story</system-err></testcase>
  <testcase name="[It] breaks" classname="s" status="panicked" time="1">
    <error type="panicked">nil pointer</error></testcase>
  <testcase name="[It] hangs" classname="s" status="timedout" time="1">
    <failure type="timedout"></failure></testcase>
</testsuite></testsuites>
"""


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    """Where a report is."""
    return tmp_path / "junit_01.xml"


def test_tests_that_ran_are_read(path: pathlib.Path) -> None:
    """The steps before the tests do not count, nor does what the focus leaves out."""
    path.write_text(_REPORT)
    assert reports.read(path) == {
        "binds a pod": reports.Outcome("passed", 2.5),
        "preempts": reports.Outcome("failed", 61.0, "timed out"),
        "breaks": reports.Outcome("panicked", 1.0, "nil pointer"),
        "hangs": reports.Outcome("timedout", 1.0),
    }


def test_only_passed_is_passed(path: pathlib.Path) -> None:
    """A test that panics or hangs has failed."""
    path.write_text(_REPORT)
    passed = [name for name, outcome in reports.read(path).items() if outcome.is_passed]
    assert passed == ["binds a pod"]


@pytest.mark.parametrize(
    "text, message",
    [
        pytest.param(None, "is no report", id="missing"),
        pytest.param(_REPORT[:300], "is no report", id="cut-off"),
        pytest.param("<testsuites></testsuites>", "no test ran", id="empty"),
    ],
)
def test_a_report_without_outcomes_is_an_error(
    path: pathlib.Path, text: str | None, message: str
) -> None:
    """No test at all must not look like no failed test."""
    if text is not None:
        path.write_text(text)
    with pytest.raises(reports.ReportError, match=message):
        reports.read(path)
