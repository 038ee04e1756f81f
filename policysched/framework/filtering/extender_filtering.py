"""Combine the result of Filter with the rejections of HTTP extenders."""

from __future__ import annotations

import numpy as np

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
    table = failures.table.copy()  # texts of extenders are not kept for equal pods
    row_of = snap.nodes.row_of
    is_accepted = np.zeros(len(failures.ids), bool)
    is_accepted[[row_of[name] for name in answers.accepted if name in row_of]] = True
    ids = failures.ids.copy()
    ids[(ids == 0) & ~is_accepted] = table.intern(_WITHOUT_REASON)
    for name in answers.rejections.keys() - answers.accepted:
        row = row_of.get(name)
        if row is not None and ids[row] != first_failures.DEAD:
            # Also if a plugin rejected the node: kube-scheduler replaces the reason.
            ids[row] = table.intern(answers.rejections[name])
    return first_failures.FirstFailures(ids, table)
