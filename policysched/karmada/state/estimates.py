"""Use the available replicas that the estimators of member clusters report for a binding.

A decision has no I/O: if a decision needs an estimator that has not been queried, the decision
ends with a question, and is made again with the answers.

Source: Karmada v1.18.2 `pkg/estimator/client/accurate.go`, `pkg/scheduler/core/util.go`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from policysched.karmada import objects

Answers: TypeAlias = "Mapping[str, int | None]"
"""Available replicas, keyed by cluster; None if the estimator did not answer."""

NO_OPINION: Final = -1
"""The answer of an estimator that does not limit a cluster; Karmada's `UnauthenticReplica`."""


@dataclasses.dataclass(frozen=True, slots=True)
class EstimateRequest:
    """A question to estimators: how many replicas of a binding fit on their clusters.

    Attributes:
        spec: the spec of the binding.
        clusters: names of the clusters whose estimators have not been queried yet.
        counts_sets: whether to count whole sets of the binding's components.
    """

    spec: objects.BindingSpec
    clusters: tuple[str, ...]
    counts_sets: bool = False


class EstimatesMissing(Exception):  # noqa: N818 - not an error: the decision waits
    """A decision needs answers of estimators that have not been queried.

    Attributes:
        question: the question to ask.
    """

    def __init__(self, question: EstimateRequest) -> None:
        super().__init__(f"{len(question.clusters)} estimators have not been queried")
        self.question = question


def cap_available_replicas(
    rooms: Sequence[int],
    asked: Mapping[str, int],
    answers: Answers,
    about: EstimateRequest,
) -> Sequence[int]:
    """Return the available replicas, each limited by the estimator's answer.

    If any estimator did not answer, all answers are ignored, as in Karmada.

    Args:
        rooms: the available replicas from the status of clusters.
        asked: indices in `rooms` of the feasible clusters, keyed by cluster.
        answers: the answers so far.
        about: the question to the estimators that have not been queried.

    Raises:
        EstimatesMissing: some estimators have not been queried.
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
