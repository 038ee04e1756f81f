"""Which failures are policysched's."""

from __future__ import annotations

import pytest

from tests.kubernetes_e2e import comparison
from tests.kubernetes_e2e.outcomes import make_outcomes

_PASSED = make_outcomes(a="passed")
_FAILED = make_outcomes(a="failed")


def test_what_fails_with_policysched_alone_is_found() -> None:
    """A test that fails with both is the cluster's; one that did not run has failed."""
    control = make_outcomes(a="passed", b="passed", c="failed", d="passed", e="failed")
    ours = make_outcomes(a="passed", b="timedout", c="failed", e="passed")
    assert comparison.find_failed(control, ours) == ["b", "d"]
    assert comparison.find_failed_control(control, ours) == ["e"]


@pytest.mark.parametrize(
    "control, ours, verdict",
    [
        ([_PASSED, _PASSED], [_FAILED, _FAILED], comparison.Verdict.POLICYSCHED_FAILS),
        ([_PASSED, _PASSED], [_PASSED, _FAILED], comparison.Verdict.POLICYSCHED_FAILS),
        ([_PASSED, _PASSED], [_PASSED, {}], comparison.Verdict.POLICYSCHED_FAILS),
        ([_PASSED, _FAILED], [_FAILED, _FAILED], comparison.Verdict.BOTH_FAIL),
        ([_PASSED, _PASSED], [_PASSED, _PASSED], comparison.Verdict.PASSES_NOW),
        ([_FAILED, _FAILED], [_PASSED, _PASSED], comparison.Verdict.PASSES_NOW),
    ],
)
def test_repetitions_decide(
    control: list[comparison.Outcomes],
    ours: list[comparison.Outcomes],
    verdict: comparison.Verdict,
) -> None:
    """policysched is at fault if it fails again, and kube-scheduler never does."""
    difference = comparison.judge("a", _FAILED, control, ours)
    assert difference == comparison.Difference("a", "a is wrong", verdict)


def test_a_test_that_did_not_run_says_so() -> None:
    """There is no message of it to show."""
    assert comparison.judge("a", {}, [_PASSED], [_FAILED]).message == "it did not run"
