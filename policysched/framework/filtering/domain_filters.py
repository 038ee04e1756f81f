"""The contract of Filter plugins that decide about nodes by their topology domains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log, snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import asking, cycle_state, interface, status
from policysched.framework.answers import status_table


class AnswersByDomain(Protocol):
    """What a plugin says of the nodes of each domain of one topology key.

    Attributes:
        slot_of_row: intp (N,), the domain of each row, 1 to D, or 0 for none.
        answers: int16 (D + 1,), the number of the answer about each; 0 passes.
        changes: domains that got another answer.
        rejects: whether any answer is not 0.
    """

    slot_of_row: npt.NDArray[np.intp]
    answers: status_table.StatusIds
    changes: change_log.ChangeLog[int]
    rejects: bool


class DomainFilterPlugin(interface.FilterPlugin, Protocol):
    """One that knows what it says of every domain; a node gets the first answer that is not 0."""

    @property
    def answers(self) -> Sequence[status.Status]:
        """What it says, by number; the first is SUCCESS."""
        ...

    def domain_tables(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Sequence[AnswersByDomain]:
        """Return what Filter says now; the same objects as long as these can be updated.

        Asked in every cycle, unless PreFilter skips.
        """
        ...


def has_domain_tables(plugin: interface.Plugin) -> TypeGuard[DomainFilterPlugin]:
    """Return whether a plugin of this package is one of those."""
    return hasattr(plugin, "domain_tables") and not asking.is_third_party(plugin)
