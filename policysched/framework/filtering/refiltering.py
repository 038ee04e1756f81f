"""Filter asked again about some nodes as they are at this moment, within a what-if question.

Cached answers of Filter are not used, because a what-if question changes the pods on nodes. Cached
state of plugins is used. PreFilter runs again for plugins that read ANYTHING, except those with
`filter_apart`. Answers about single rows may be cached (`row_answers`).

Nominated pods are considered as kube-scheduler does (`runtime/framework.go`,
RunFilterPluginsWithNominatedPods): a pod must fit beside those that have precedence over it, and
also without them, as nobody knows whether they will come.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot, what_if
from policysched.cluster.pods import pod_shape
from policysched.framework import apart, asking, cycle_state, cycles, interface, row_answers, status
from policysched.framework.answers import first_failures, shape_answers, status_table
from policysched.framework.filtering import filtering, pre_filter_outcome

Rows: TypeAlias = npt.NDArray[np.intp]


class Refilter:
    """Filter for the pod of one cycle, on any rows, as often as asked.

    Attributes:
        is_apart: see `apart.Refilter`.
    """

    def __init__(
        self,
        cycle: cycles.Cycle,
        outcome: pre_filter_outcome.PreFilterOutcome,
        runner: filtering.FilterRunner,
    ) -> None:
        """Leave out what PreFilter skipped in `outcome`, whatever it would say now."""
        self._cycle = cycle
        self._recent = runner.recent_row_answers
        self._filters = [
            (number, plugin)
            for number, plugin in outcome.plan.list_filters()
            if number not in outcome.skipped
        ]
        self._apart = {
            number: cast("apart.ApartFilterPlugin", plugin)
            for number, plugin in self._filters
            if asking.shortcut(plugin, "filter_apart")
        }
        self._pre_filters = [
            (number, plugin)
            for number, plugin in outcome.plan.pre_filters
            if not shape_answers.keeps_answers(plugin)
            and number not in outcome.skipped
            and number not in self._apart
        ]
        self.is_apart = all(
            number in self._apart or shape_answers.keeps_answers(plugin)
            for number, plugin in self._filters
        )
        self._follows_rows = all(
            _reads_row_alone(plugin) and number not in self._apart
            for number, plugin in self._filters
        )
        self._others = _with_precedence(cycle)
        self._remembered: cycle_state.CycleState | None = None

    def begin(self) -> None:
        """Take note of how everything is, once."""
        if self._remembered is None:
            cycle = self._cycle
            self._remembered = cycle_state.CycleState(cycle.state.tolerations)
            for plugin in self._apart.values():
                plugin.remember(self._remembered, cycle.pod, cycle.snap)

    def nominated_on(self, row: int) -> Sequence[pod_shape.PodInfo]:
        """Return the pods nominated to a row that have precedence over the pod of the cycle."""
        return self._others.get(row, ())

    def kept(self, what: str) -> row_answers.RowAnswers[Any] | None:
        """Return where answers about single rows may be kept; see `apart.Refilter`."""
        answers = self._cycle.answers
        if not self._follows_rows or answers.state.valid_until is not None:
            return None
        asked = tuple([number for number, _ in self._filters])
        return self._recent.of(answers, f"{what} by {asked}")

    def filter(self, rows: Rows) -> status.NodeStatuses:
        """Return the first failure on each of `rows`, intp (n,)."""
        self.begin()
        ids = self._filter_rows(rows)
        return status.NodeStatuses(self._beside_nominated(ids, rows), self._table.statuses)

    def beside_nominated(
        self, ids: status_table.StatusIds, outcome: pre_filter_outcome.PreFilterOutcome
    ) -> status_table.StatusIds:
        """Return int16 (N,) `ids`, corrected where pods with precedence are nominated.

        Nodes that PreFilter ruled out in `outcome` stay ruled out by that.
        """
        chosen = outcome.node_names
        names = self._cycle.snap.nodes.names
        rows = [r for r in self._others if chosen is None or names[r] in chosen]
        if not rows:
            return ids
        corrected = ids.copy()
        kept = self.kept("beside nominated pods")
        if kept is not None:
            corrected[rows] = self._kept_beside_nominated(kept, ids, rows)
        else:
            self.begin()
            corrected[rows] = self._beside_nominated(ids[rows], np.array(rows, np.intp))
        return corrected

    def _kept_beside_nominated(
        self,
        kept: row_answers.RowAnswers[int],
        ids: status_table.StatusIds,
        rows: Sequence[int],
    ) -> list[int]:
        """Return what `_beside_nominated` does for `rows`, on which there are nominated pods."""
        snap, others = self._cycle.snap, self._others
        found = {row: kept.get(row, snap, others[row]) for row in rows}
        missing = [row for row, beside in found.items() if beside is None]
        if missing:
            self.begin()
            asked = self._filter_rows_beside(np.array(missing, np.intp)).tolist()
            for row, beside in zip(missing, asked, strict=True):
                kept.put(row, snap, others[row], beside)
                found[row] = beside
        return [found[row] or ids.item(row) for row in rows]

    @property
    def _table(self) -> status_table.StatusTable:
        return self._cycle.answers.table

    def _beside_nominated(self, ids: status_table.StatusIds, rows: Rows) -> status_table.StatusIds:
        """Return `ids` of `rows`, which hold without nominated pods, corrected by those."""
        concerned = [i for i, row in enumerate(rows.tolist()) if row in self._others]
        if not concerned:
            return ids
        corrected = ids.copy()
        for positions in [concerned] if self.is_apart else [[i] for i in concerned]:
            beside = self._filter_rows_beside(rows[positions])
            corrected[positions] = np.where(beside == 0, ids[positions], beside)
        return corrected

    def _filter_rows_beside(self, rows: Rows) -> status_table.StatusIds:
        with what_if.WhatIf(self._cycle.snap) as world:
            world.add_pods([(info, row) for row in rows.tolist() for info in self._others[row]])
            return self._filter_rows(rows)

    def _filter_rows(self, rows: Rows) -> status_table.StatusIds:
        """Return int16 (n,): the first failure on each of `rows`, 0 for none."""
        cycle = self._cycle
        state = cycle_state.CycleState(cycle.state.tolerations)
        silent, rejected = self._prepare(state)
        nodes = cycle.snap.view_rows(rows)
        ids: status_table.StatusIds = np.zeros(len(rows), np.int16)
        for number, plugin in self._filters:
            if number in rejected:
                ids[ids == 0] = rejected[number]
            elif number not in silent:
                answers = self._ask(number, plugin, state, nodes)
                if answers.ids.any():
                    ids = np.where(ids == 0, self._table.translate(plugin.name, answers), ids)
            if ids.all():
                break
        return ids

    def _ask(
        self,
        number: int,
        plugin: interface.FilterPlugin,
        state: cycle_state.CycleState,
        nodes: snapshot.NodeView,
    ) -> status.NodeStatuses:
        cycle = self._cycle
        told_apart = self._apart.get(number)
        if told_apart is not None and self._remembered is not None:
            method = told_apart.filter_apart
            return asking.ask(plugin, "Filter", method, self._remembered, cycle.pod, nodes)
        own = cycle.answers.state if shape_answers.keeps_answers(plugin) else state
        return asking.ask_filter(plugin, own, cycle.pod, nodes)

    def _prepare(self, state: cycle_state.CycleState) -> tuple[set[int], dict[int, int]]:
        """Run PreFilter on `state`; return the numbers of plugins that skip, and rejections.

        The nodes that a plugin would choose now are ignored: the cycle has chosen them.
        """
        cycle = self._cycle
        silent: set[int] = set()
        rejected: dict[int, int] = {}
        for number, plugin in self._pre_filters:
            method = plugin.pre_filter
            answer = asking.ask(plugin, "PreFilter", method, state, cycle.pod, cycle.snap).status
            if answer.is_skip:
                silent.add(number)
            elif not answer.is_success:
                rejected[number] = self._table.intern(status_table.signed(plugin.name, answer))
        return silent, rejected


def _reads_row_alone(plugin: interface.FilterPlugin) -> bool:
    """Return whether answers follow from a node and its pods, whatever else there is."""
    own = interface.Reads.NODE | interface.Reads.USAGE | interface.Reads.AMOUNTS
    return shape_answers.keeps_answers(plugin) and plugin.reads in own


@dataclasses.dataclass(frozen=True, slots=True)
class OwnNomination:
    """What Filter says of the node to which the pod is nominated."""

    row: int
    status_id: int

    @property
    def fits(self) -> bool:
        """Whether the pod can go there."""
        return self.status_id == 0

    def merge_into(
        self,
        ids: status_table.StatusIds,
        cycle: cycles.Cycle,
        outcome: pre_filter_outcome.PreFilterOutcome,
    ) -> status_table.StatusIds:
        """Return int16 (N,) `ids` with this, if PreFilter ruled the node out: it was looked at."""
        chosen = outcome.node_names
        is_error = self.status_id in cycle.answers.table.errors
        if chosen is None or cycle.snap.nodes.names[self.row] in chosen or is_error:
            return ids
        corrected = ids.copy()
        corrected[self.row] = self.status_id
        return corrected


def own_nomination(
    cycle: cycles.Cycle,
    outcome: pre_filter_outcome.PreFilterOutcome,
    runner: filtering.FilterRunner,
) -> OwnNomination | None:
    """Try the pod's nominated node alone, if it has one: room was made for it there.

    Whether PreFilter chose other nodes does not matter (`schedule_one.go`, evaluateNominatedNode).
    """
    snap = cycle.snap
    name = cycle.pod.pod.status.nominated_node_name
    row = snap.find_row(name) if name else None
    if row is None:
        return None
    answers = Refilter(cycle, outcome, runner).filter(np.array([row], np.intp))
    return OwnNomination(row, int(answers.ids[0]))


def filter_all_rows(
    cycle: cycles.Cycle,
    outcome: pre_filter_outcome.PreFilterOutcome,
    own: OwnNomination | None,
    runner: filtering.FilterRunner,
) -> first_failures.FirstFailures:
    """Return the first failure on each row, beside nominated pods.

    `own` is what is known of the pod's nominated node.
    """
    failures = runner.filter(cycle, outcome)
    ids = failures.ids
    if len(cycle.snap.nominated):
        ids = Refilter(cycle, outcome, runner).beside_nominated(ids, outcome)
    if own is not None:
        ids = own.merge_into(ids, cycle, outcome)
    if ids is failures.ids:
        return failures
    return first_failures.FirstFailures(ids, failures.table)


def _with_precedence(cycle: cycles.Cycle) -> dict[int, Sequence[pod_shape.PodInfo]]:
    """Return, for each row on which pods with precedence are nominated, those pods."""
    snap = cycle.snap
    found: dict[int, Sequence[pod_shape.PodInfo]] = {}
    for node_name, others in snap.nominated.list_nominated_pods_with_precedence(cycle.pod):
        row = snap.find_row(node_name)
        if row is not None:
            found[row] = others
    return found


if TYPE_CHECKING:
    _contract: type[apart.Refilter] = Refilter
