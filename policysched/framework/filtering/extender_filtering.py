"""Combine the result of Filter with the rejections of HTTP extenders."""

from __future__ import annotations

from policysched.cluster import snapshot
from policysched.framework import extender_answers, status
from policysched.framework.answers import first_failures

_WITHOUT_REASON = status.Status(
    status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE, plugin=extender_answers.EXTENDER
)
"""About a node that an extender left out of its answer without a text."""


def reject_nodes(
    answers: extender_answers.ExtenderAnswers,
    failures: first_failures.FirstFailures,
    snap: snapshot.Snapshot,
) -> first_failures.FirstFailures:
    """Return the result of Filter with the rejections in `answers`."""
    if answers.accepted is None:
        return failures
    rejected = _find_rejected_rows(answers, answers.accepted, failures, snap)
    if not rejected:
        return failures
    table = failures.table.copy()  # texts of extenders are not kept for equal pods
    ids = failures.ids.copy()
    for row, answer in rejected.items():
        ids[row] = table.intern(answer)
    return first_failures.FirstFailures(ids, table)


def _find_rejected_rows(
    answers: extender_answers.ExtenderAnswers,
    accepted: frozenset[str],
    failures: first_failures.FirstFailures,
    snap: snapshot.Snapshot,
) -> dict[int, status.Status]:
    """Return the rejections by row; a text replaces the reason of a plugin, as in the original."""
    names = snap.nodes.names
    rejected = {
        row: _WITHOUT_REASON
        for row in failures.get_feasible_rows().tolist()
        if names[row] not in accepted
    }
    for name, answer in answers.rejections.items():
        row = snap.nodes.row_of.get(name)
        if row is not None and snap.is_alive[row] and name not in accepted:
            rejected[row] = answer
    return rejected


def find_error(
    answers: extender_answers.ExtenderAnswers, failures: first_failures.FirstFailures
) -> status.Status | None:
    """Return the error of an extender, if any node passed Filter; None without an error."""
    if not answers.error or not len(failures.get_feasible_rows()):
        return None
    return status.Status(status.Code.ERROR, (answers.error,), extender_answers.EXTENDER)
