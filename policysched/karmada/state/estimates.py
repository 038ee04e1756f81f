"""What the estimators of member clusters say of a binding, beside what clusters say of themselves.

A decision is free of I/O: where it needs what no estimator has been asked yet, it ends with a
question, and is made again when there are answers.

Source: Karmada v1.18.2 `pkg/estimator/client/accurate.go`, `pkg/scheduler/core/util.go`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from policysched.karmada import objects

Answers: TypeAlias = "Mapping[str, int | None]"
"""Replicas by cluster, None where its estimator gave no answer."""

NO_OPINION: Final = -1
"""An answer that says nothing; Karmada's `UnauthenticReplica`."""


@dataclasses.dataclass(frozen=True, slots=True)
class EstimateRequest:
    """How many replicas of a binding have room, in these clusters' own view.

    Attributes:
        spec: that of the binding.
        clusters: names of those whose estimators have not been asked yet.
        counts_sets: whether it is about whole sets of the components of the binding.
    """

    spec: objects.BindingSpec
    clusters: tuple[str, ...]
    counts_sets: bool = False


class EstimatesMissing(Exception):  # noqa: N818 - the decision waits, nothing is wrong
    """A decision needs answers to go on.

    Attributes:
        question: to ask.
    """

    def __init__(self, question: EstimateRequest) -> None:
        super().__init__(f"{len(question.clusters)} estimators have not been asked")
        self.question = question


def cap_available_replicas(
    rooms: Sequence[int],
    asked: Mapping[str, int],
    answers: Answers,
    about: EstimateRequest,
) -> Sequence[int]:
    """Return the rooms, none of them more than its estimator says.

    One estimator without an answer silences all of them, as in Karmada.

    Args:
        rooms: what clusters say of themselves.
        asked: places in `rooms` of those clusters that the binding may go to, by name.
        answers: what is known by now.
        about: what is asked of those that have not been asked.

    Raises:
        Unanswered: some have not been asked.
    """
    if any(answers.get(name, NO_OPINION) is None for name in asked):
        return rooms
    missing = tuple(name for name in asked if name not in answers)
    if missing:
        raise EstimatesMissing(dataclasses.replace(about, clusters=missing))
    limited = list(rooms)
    for name, place in asked.items():
        said = answers[name]
        if said is not None and said != NO_OPINION:
            limited[place] = min(limited[place], said)
    return limited
