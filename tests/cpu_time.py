"""A report of the tests that `make quick` should leave out: over two seconds of CPU, and no mark.

The build does not fail for them: machines differ. CPU time of this process and of the processes
that it waited for; what a test leaves running does not count, nor does its teardown, which may be
the end of a server that all tests used.
"""

from __future__ import annotations

import itertools
import resource
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

_LONG_SECONDS: Final = 2.0
_MARKS: Final = ("e2e", "slow")
_PROPERTY: Final = "cpu_seconds"
_START_SECONDS: Final = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Note when a test begins."""
    item.stash[_START_SECONDS] = _read_cpu_seconds()
    yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the time of a test without a mark into its report, which comes from a worker."""
    report = yield
    # The keywords of a report do not tell marks from names of folders, such as tests/e2e.
    if call.when == "call" and not any(item.get_closest_marker(mark) for mark in _MARKS):
        used_seconds = _read_cpu_seconds() - item.stash[_START_SECONDS]
        report.user_properties.append((_PROPERTY, used_seconds))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the long tests that have no mark, the longest first."""
    seconds_by_test: dict[str, float] = {}
    for report in itertools.chain(*terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            used_seconds = float(str(dict(report.user_properties).get(_PROPERTY, 0)))
            if used_seconds > _LONG_SECONDS:
                seconds_by_test[report.nodeid] = used_seconds
    if seconds_by_test:
        terminalreporter.section(f"over {_LONG_SECONDS:g} s of CPU and not marked `slow`")
        for test, seconds in sorted(seconds_by_test.items(), key=lambda one: -one[1]):
            terminalreporter.line(f"{seconds:6.1f}  {test}")


def _read_cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
