"""What is told of an attempt, and whether it is tried again."""

from __future__ import annotations

import pytest

from policysched.karmada import errors, objects
from policysched.karmada.scheduler import attempt_outcomes
from policysched.karmada.steps import algorithm

_TARGETS = (objects.TargetCluster(name="m1", replicas=2),)
_FIT = errors.PlacementFailure("fit", "0/1 clusters are available: 1 x.")
_BROKEN = attempt_outcomes.WriteFailure("etcd is away")
_QUOTA = attempt_outcomes.WriteFailure("quota x is used up", is_quota=True)


@pytest.mark.parametrize(
    "result, failures, expected",
    [
        (_TARGETS, [], ("Success", "", False)),
        (_FIT, [], ("NoClusterFit", _FIT.text, False)),
        (errors.PlacementFailure("unschedulable", "short"), [], ("Unschedulable", "short", True)),
        (errors.PlacementFailure("other", "odd"), [], ("SchedulerError", "odd", True)),
        (_TARGETS, [_BROKEN], ("SchedulerError", "etcd is away", True)),
        (_TARGETS, [_BROKEN, _BROKEN], ("SchedulerError", "etcd is away", True)),
        (
            _TARGETS,
            [_BROKEN, attempt_outcomes.WriteFailure("and again")],
            ("SchedulerError", "[etcd is away, and again]", True),
        ),
        (_TARGETS, [_QUOTA], ("QuotaExceeded", "quota x is used up", True)),
        (_FIT, [_BROKEN], ("NoClusterFit", f"[{_FIT.text}, etcd is away]", True)),
    ],
    ids=[
        "placed",
        "no-fit",
        "no-room",
        "odd",
        "write-failed",
        "failed-twice-alike",
        "failed-twice",
        "quota",
        "no-fit-and-write-failed",
    ],
)
def test_reasons_texts_and_retries(
    result: algorithm.Result,
    failures: list[attempt_outcomes.WriteFailure],
    expected: tuple[str, str, bool],
) -> None:
    """Only success and `fit` wait for a change; a write that failed is tried again."""
    verdict = attempt_outcomes.derive_attempt_outcome(result, failures)
    assert (verdict.condition.reason, verdict.error, verdict.is_retried) == expected
    assert verdict.condition.status == ("True" if expected[0] == "Success" else "False")
    assert verdict.condition.message == (
        verdict.error or "Binding has been scheduled successfully."
    )


def test_a_message_fits_into_a_condition() -> None:
    """The API refuses longer ones, which would keep the binding from ever being told."""
    verdict = attempt_outcomes.derive_attempt_outcome(
        errors.PlacementFailure("other", "x" * 100_000)
    )
    assert len(verdict.condition.message) == attempt_outcomes.MESSAGE_LIMIT
