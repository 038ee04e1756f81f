"""What all PreFilter plugins said together of a pod."""

from __future__ import annotations

import dataclasses

import numpy as np

from policysched.cluster import snapshot
from policysched.framework import interface, status
from policysched.framework.answers import status_table
from policysched.framework.filtering import filter_plan


@dataclasses.dataclass(slots=True)
class PreFilterOutcome:
    """What all PreFilter plugins said together.

    Attributes:
        plan: of the pod.
        rejection: set when no node is to be looked at: why, or the error that ended the cycle.
        skipped: numbers of plugins whose Filter is left out.
        node_names: the nodes to be filtered, None for all.
        narrowing: names of the plugins that narrowed them.
        unasked: names of the plugins that were not asked, as one before them ended it.
    """

    plan: filter_plan.FilterPlan
    rejection: status.Status | None = None
    skipped: set[int] = dataclasses.field(default_factory=set)
    node_names: frozenset[str] | None = None
    narrowing: set[str] = dataclasses.field(default_factory=set)
    unasked: frozenset[str] = frozenset()

    def add(self, plugin_name: str, result: interface.PreFilterResult) -> bool:
        """Add the answer of a plugin; return False if it ends PreFilter."""
        answer = result.status
        if answer.is_success:
            return result.node_names is None or self._narrow(plugin_name, result.node_names)
        if answer.code in (status.Code.UNSCHEDULABLE, status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE):
            self.rejection = dataclasses.replace(answer, plugin=plugin_name)
            if answer.code is status.Code.UNSCHEDULABLE:
                return True
            self.narrowing.clear()
        else:
            doing = f'running PreFilter plugin "{plugin_name}"'
            self.rejection = status.error(plugin_name, doing, answer)
        return False

    def _narrow(self, plugin_name: str, names: frozenset[str]) -> bool:
        """Intersect the nodes to be filtered with `names`; return False if none is left."""
        self.narrowing.add(plugin_name)
        self.node_names = names if self.node_names is None else self.node_names & names
        if self.node_names:
            return True
        reason = f"node(s) didn't satisfy plugin {plugin_name}"
        if len(self.narrowing) > 1:
            plugins = _go_list(self.narrowing)
            reason = f"node(s) didn't satisfy plugin(s) {plugins} simultaneously"
        self.rejection = status.Status(status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))
        return False

    def exclude_other_nodes(
        self,
        ids: status_table.StatusIds,
        snap: snapshot.Snapshot,
        table: status_table.StatusTable,
    ) -> None:
        """Reject the nodes that PreFilter did not choose in `ids`, int16 (N,).

        Do nothing if it chose all nodes.
        """
        if self.node_names is None:
            return
        reason = f"node(s) didn't satisfy plugin(s) {_go_list(self.narrowing)}"
        answer = status.Status(status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))
        row_of = snap.nodes.row_of
        wanted = [row_of[name] for name in self.node_names if name in row_of]
        ids[~np.isin(snap.nodes.all_rows, wanted)] = table.intern(answer)


def _go_list(names: set[str]) -> str:
    """Spell a list of strings as Go's `%v` does, as kube-scheduler's messages have it."""
    return f"[{' '.join(sorted(names))}]"
