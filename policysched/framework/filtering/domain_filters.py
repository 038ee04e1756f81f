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


class DomainTable:
    """What the nodes of each domain get by one condition.

    Attributes:
        slot_of_row: intp (N,), the domain of each row, 1 to D, or 0 for none.
        answers: int16 (D + 1,), 0 where the condition has nothing against nodes. Written to by
            methods alone.
        changes: domains that got another answer.
        rejects: whether any answer is not 0.
    """

    def __init__(self, slot_of_row: npt.NDArray[np.intp], domain_count: int) -> None:
        """Start with nothing against any node."""
        self.slot_of_row = slot_of_row
        self.answers: status_table.StatusIds = np.zeros(domain_count + 1, np.int16)
        self.changes = change_log.ChangeLog[int]()
        self.rejects = False
        self._rejecting = 0

    def set(self, slot: int, answer: int) -> None:
        """Set what one domain gets."""
        before = self.answers.item(slot)
        if answer != before:
            self.answers[slot] = answer
            self._rejecting += (answer != 0) - (before != 0)
            self.rejects = self._rejecting > 0
            self.changes.note_changed_item(slot)

    def replace(self, answers: status_table.StatusIds) -> None:
        """Set what all domains get, int16 (D + 1,)."""
        others = (answers != self.answers).nonzero()[0]  # `flatnonzero` without its checks
        if len(others):
            self.answers = answers
            self._rejecting = int(np.count_nonzero(answers))
            self.rejects = self._rejecting > 0
            self.changes.note_changed_items(others.tolist())


class DomainFilterPlugin(interface.FilterPlugin, Protocol):
    """One that knows what it says of every domain; a node gets the first answer that is not 0."""

    @property
    def answers(self) -> Sequence[status.Status]:
        """What it says, by number; the first is SUCCESS."""
        ...

    def domain_tables(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Sequence[DomainTable]:
        """Return what Filter says now; the same objects as long as these can be updated.

        Asked in every cycle, unless PreFilter skips.
        """
        ...


def has_domain_tables(plugin: interface.Plugin) -> TypeGuard[DomainFilterPlugin]:
    """Return whether a plugin of this package is one of those."""
    return hasattr(plugin, "domain_tables") and not asking.is_third_party(plugin)
