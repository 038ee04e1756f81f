"""Where policysched and kube-scheduler end a test in different ways, and whose fault it is."""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.kubernetes_e2e import reports

    Outcomes = Mapping[str, reports.Outcome]


class Verdict(enum.Enum):
    """What repetitions beside kube-scheduler say of a test that failed with policysched alone."""

    POLICYSCHED_FAILS = "fails with policysched"
    BOTH_FAIL = "fails now and then with either"
    PASSES_NOW = "failed once, passes when repeated"


@dataclasses.dataclass(frozen=True)
class Difference:
    """A test that passed with kube-scheduler and failed with policysched.

    Attributes:
        test: its name.
        message: what it said.
        verdict: what came of the repetitions.
    """

    test: str
    message: str
    verdict: Verdict


def find_failed(control: Outcomes, ours: Outcomes) -> list[str]:
    """Return the names of tests that pass with kube-scheduler and not with policysched."""
    return [
        name
        for name, outcome in control.items()
        if outcome.is_passed and not _is_passed(ours, name)
    ]


def find_failed_control(control: Outcomes, ours: Outcomes) -> list[str]:
    """Return the names of tests that pass with policysched and not with kube-scheduler."""
    return find_failed(ours, control)


def judge(
    test: str,
    first: Outcomes,
    control_repeats: Sequence[Outcomes],
    our_repeats: Sequence[Outcomes],
) -> Difference:
    """Return what repetitions say of a test that failed.

    Args:
        test: its name.
        first: the outcomes of the run in which it failed with policysched.
        control_repeats: outcomes of its repetitions with kube-scheduler.
        our_repeats: outcomes of its repetitions with policysched.
    """
    message = first[test].message if test in first else "it did not run"
    if all(_is_passed(outcomes, test) for outcomes in our_repeats):
        verdict = Verdict.PASSES_NOW
    elif all(_is_passed(outcomes, test) for outcomes in control_repeats):
        verdict = Verdict.POLICYSCHED_FAILS
    else:
        verdict = Verdict.BOTH_FAIL
    return Difference(test, message, verdict)


def _is_passed(outcomes: Outcomes, test: str) -> bool:
    return test in outcomes and outcomes[test].is_passed
