"""What a cycle without a feasible node says about itself."""

from __future__ import annotations

import numpy as np

from policysched.framework import cycles, interface, status
from policysched.framework.filtering import pre_filter_outcome


def diagnose(
    cycle: cycles.Cycle, outcome: pre_filter_outcome.PreFilterOutcome
) -> interface.Diagnosis:
    """Return why no node is feasible; `outcome` has the reason if PreFilter ended the cycle."""
    failures = cycle.failures
    statuses = cycle.answers.table.statuses if failures is None else failures.statuses
    ids = np.zeros(cycle.snap.size, np.int16) if failures is None else failures.ids.copy()
    diagnosis = interface.Diagnosis(
        ids, list(statuses), pre_filter=outcome.rejection, unasked=outcome.unasked
    )
    seen = {statuses[i] for i in np.unique(ids) if i > 0}
    if outcome.rejection is not None:
        seen.add(outcome.rejection)
    diagnosis.unschedulable_plugins = {s.plugin for s in seen if s.plugin} | outcome.narrowing
    diagnosis.pending_plugins = {s.plugin for s in seen if s.code is status.Code.PENDING}
    return diagnosis
