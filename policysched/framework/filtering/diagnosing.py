"""What a cycle without a feasible node says about itself."""

from __future__ import annotations

import numpy as np

from policysched.framework import interface, status
from policysched.framework.answers import status_table
from policysched.framework.filtering import filtering, pre_filter_outcome


def filter_error(cycle: filtering.Cycle, ids: status_table.StatusIds) -> status.Status | None:
    """Return the error of the first node, by name, on which a Filter plugin met one.

    kube-scheduler asks about nodes in parallel and tells of any one.
    """
    table = cycle.answers.table
    if not table.errors:
        return None
    failed = np.flatnonzero(np.isin(ids, table.errors))
    if len(failed) == 0:
        return None
    row = min(failed.tolist(), key=cycle.snap.nodes.names.__getitem__)
    return table.statuses[int(ids[row])]


def diagnose(
    cycle: filtering.Cycle,
    outcome: pre_filter_outcome.PreFilterOutcome,
    ids: status_table.StatusIds | None,
) -> interface.Diagnosis:
    """Return why no node is feasible; without `ids`, int16 (N,), PreFilter ended the cycle."""
    statuses = cycle.answers.table.statuses
    if ids is None:
        ids = np.zeros(cycle.snap.size, np.int16)
    diagnosis = interface.Diagnosis(
        ids, list(statuses), pre_filter=outcome.rejection, unasked=outcome.unasked
    )
    seen = {statuses[i] for i in np.unique(ids) if i > 0}
    if outcome.rejection is not None:
        seen.add(outcome.rejection)
    diagnosis.unschedulable_plugins = {s.plugin for s in seen if s.plugin} | outcome.narrowing
    diagnosis.pending_plugins = {s.plugin for s in seen if s.code is status.Code.PENDING}
    return diagnosis
