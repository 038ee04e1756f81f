"""What e2e.test says about its tests: the JUnit report that it writes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Mapping

_TEST = "[It] "
_PASSED = "passed"
_NOT_RUN = ("skipped", "pending")


class ReportError(Exception):
    """There is no report, or it is not complete, or no test ran."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How one test ended.

    Attributes:
        status: `passed`, `failed`, `timedout`, `panicked` and the like, as Ginkgo calls it.
        duration_seconds: from the start to the end of the test.
        message: the first line of what a failed test says.
    """

    status: str
    duration_seconds: float
    message: str = ""

    @property
    def is_passed(self) -> bool:
        """Whether the test passed."""
        return self.status == _PASSED


def read(path: pathlib.Path) -> Mapping[str, Outcome]:
    """Return the outcomes of the tests that ran, by name.

    Raises:
        ReportError: there is no report, or it is not complete, or no test ran.
    """
    try:
        report = ElementTree.parse(path)  # noqa: S314 - e2e.test on this machine wrote it
    except (OSError, ElementTree.ParseError) as error:
        raise ReportError(f"{path} is no report: {error}") from error
    outcomes = {
        case.attrib["name"].removeprefix(_TEST): _read_outcome(case)
        for case in report.iter("testcase")
        if case.attrib["name"].startswith(_TEST) and case.attrib["status"] not in _NOT_RUN
    }
    if not outcomes:
        raise ReportError(f"no test ran, says {path}")
    return outcomes


def _read_outcome(case: ElementTree.Element) -> Outcome:
    text = case.findtext("failure") or case.findtext("error") or ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return Outcome(case.attrib["status"], float(case.attrib["time"]), lines[0] if lines else "")
