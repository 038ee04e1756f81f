"""The table at the end of `make kubernetes-e2e`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tests.kubernetes_e2e import clusters, comparison

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.kubernetes_e2e import e2e_sets, runs


@dataclasses.dataclass(frozen=True)
class Result:
    """What came of one set.

    Attributes:
        e2e_set: which.
        runs: by scheduler; one that is missing did not run.
        differences: tests that failed with policysched alone.
    """

    e2e_set: e2e_sets.E2eSet
    runs: Mapping[str, runs.Run]
    differences: Sequence[comparison.Difference] = ()

    @property
    def is_control_broken(self) -> bool:
        """Whether kube-scheduler passed so few tests that the cluster must be at fault."""
        control = self.runs.get(clusters.KUBE_SCHEDULER)
        return control is not None and control.passed < self.e2e_set.least_passed

    @property
    def is_ours_to_blame(self) -> bool:
        """Whether a test fails with policysched that passes with kube-scheduler."""
        return any(one.verdict is comparison.Verdict.POLICYSCHED_FAILS for one in self.differences)


def format_table(results: Sequence[Result], missing: Sequence[e2e_sets.E2eSet]) -> Iterator[str]:
    """Yield the lines of a table of all sets, and what to know about single tests.

    Args:
        results: of the sets that ran.
        missing: sets that did not run, for policysched lacks a feature.
    """
    yield (
        f"{'set':16}{'tests':>6}{'kube-scheduler':>16}{'policysched':>13}"
        f"{'minutes':>14}  differences"
    )
    for result in results:
        yield _format_row(result)
    for e2e_set in missing:
        yield f"{e2e_set.name:16}{'':6}{'':16}{'missing':>13}{'':14}  {e2e_set.missing}"
    for result in results:
        yield from _format_notes(result)


def _format_row(result: Result) -> str:
    tests = len({name for run in result.runs.values() for name in run.outcomes})
    passed = [_format_passed(result, scheduler) for scheduler in clusters.SCHEDULERS]
    minutes = " / ".join(f"{run.duration_seconds / 60:.1f}" for run in result.runs.values())
    blamed = sum(one.verdict is comparison.Verdict.POLICYSCHED_FAILS for one in result.differences)
    return (
        f"{result.e2e_set.name:16}{tests:>6}{passed[0]:>16}{passed[1]:>13}{minutes:>14}  {blamed}"
    )


def _format_passed(result: Result, scheduler: str) -> str:
    run = result.runs.get(scheduler)
    return "-" if run is None else str(run.passed)


def _format_notes(result: Result) -> Iterator[str]:
    name, least_passed = result.e2e_set.name, result.e2e_set.least_passed
    if result.is_control_broken:
        yield f"{name}: the cluster is at fault: kube-scheduler passes {least_passed} tests or more"
    for difference in result.differences:
        yield f"{name}: {difference.verdict.value}: {difference.test}"
        yield f"    {difference.message}"
    for test in _find_failed_control(result):
        yield f"{name}: failed with kube-scheduler alone: {test}"


def _find_failed_control(result: Result) -> Sequence[str]:
    if set(result.runs) != set(clusters.SCHEDULERS):
        return ()
    control, ours = (result.runs[scheduler].outcomes for scheduler in clusters.SCHEDULERS)
    return comparison.find_failed_control(control, ours)
