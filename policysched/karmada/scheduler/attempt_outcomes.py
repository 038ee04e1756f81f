"""Derive the condition, the event and the retry of an attempt from its result and its writes.

Source: Karmada v1.18.2 `pkg/scheduler/helper.go` (`getConditionByError`), `scheduler.go`
(`scheduleResourceBinding`, `legacyHandleErr`).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from policysched.karmada import errors, objects
from policysched.karmada.scheduler import patches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.karmada.steps import algorithm

QUOTA_EXCEEDED: Final = "QuotaExceeded"
_SCHEDULER_ERROR = "SchedulerError"

MESSAGE_LIMIT = 32_768
"""Maximum length in characters of a condition's message in the API (`metav1.Condition`)."""


@dataclasses.dataclass(frozen=True, slots=True)
class WriteFailure:
    """A write that the API server refused or did not receive.

    Attributes:
        text: message for conditions and events.
        is_quota: whether a federated quota over all clusters prevents the write.
        is_final: whether the binding or its namespace is being removed, so that a retry is useless.
    """

    text: str
    is_quota: bool = False
    is_final: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """The reported outcome of an attempt.

    Attributes:
        condition: the condition of the binding.
        error: message of the event, or "" for a success.
        is_retried: whether the attempt is retried without waiting for an event.
    """

    condition: objects.BindingCondition
    error: str
    is_retried: bool


def derive_attempt_outcome(
    result: algorithm.Result, failures: Sequence[WriteFailure] = ()
) -> AttemptOutcome:
    """Return the outcome of an attempt from its result and the failures of its writes."""
    if not failures:
        condition = _truncate_condition_message(patches.make_scheduled_condition(result))
        if isinstance(result, errors.PlacementFailure):
            return AttemptOutcome(condition, result.text, result.kind != "fit")
        return AttemptOutcome(condition, "", is_retried=False)
    texts = [failure.text for failure in failures]
    if isinstance(result, errors.PlacementFailure):
        text = _aggregate_errors([result.text, *texts])
        condition = _truncate_condition_message(
            patches.make_scheduled_condition(dataclasses.replace(result, text=text))
        )
        return AttemptOutcome(condition, text, is_retried=True)
    text = _aggregate_errors(texts)
    quota = next((failure for failure in failures if failure.is_quota), None)
    reason, message = (_SCHEDULER_ERROR, text) if quota is None else (QUOTA_EXCEEDED, quota.text)
    condition = objects.BindingCondition(
        type=patches.SCHEDULED, status="False", reason=reason, message=message
    )
    return AttemptOutcome(_truncate_condition_message(condition), text, is_retried=True)


def _aggregate_errors(texts: Sequence[str]) -> str:
    """Return the texts in the format of Go's aggregated errors (`apimachinery/pkg/util/errors`)."""
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def _truncate_condition_message(condition: objects.BindingCondition) -> objects.BindingCondition:
    return objects.BindingCondition(
        type=condition.type,
        status=condition.status,
        reason=condition.reason,
        message=condition.message[:MESSAGE_LIMIT],
    )
