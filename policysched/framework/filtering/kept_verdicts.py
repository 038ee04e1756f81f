"""What consecutive stages of Filter say together of every row, kept for equal pods.

Answers about single rows are kept (`shape_answers.KeptFilter`), some of them for pods of many
shapes, and merged again only where one of them changed. Answers by topology domain are merged into
a copy of these where a domain got another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import asking, cycle_state
from policysched.framework.answers import shape_answers, status_table
from policysched.framework.filtering import domain_filters, rejections
from policysched.kernels import verdicts as kernels

Stage: TypeAlias = shape_answers.KeptFilter | domain_filters.DomainFilterPlugin
"""Kept answers of some plugins, or a plugin that decides by domain."""
Rows: TypeAlias = npt.NDArray[np.intp]
News: TypeAlias = list[int] | None
"""Rows with other answers, with repeats, None for all."""
DEAD = -1
"""What stands for a row that is no node."""
_NOTHING: list[int] = []
_FEW_ROWS = 16
"""So many changed rows are merged one by one."""
_FEW_SLOTS = 4
"""The rows of so many domains are looked for one domain after the other."""
_NO_ROWS: Rows = np.zeros(0, np.intp)


class _RowStage:
    """The answers of a stage, kept for pods of many shapes, in the numbers of one.

    Attributes:
        numbers: those of all answers so far; the first is 0.
    """

    def __init__(
        self,
        kept: shape_answers.KeptFilter,
        state: cycle_state.CycleState,
        table: status_table.StatusTable,
    ) -> None:
        self._kept = kept
        self._state = state
        self._table = table
        self._seen_generation = -1
        self.numbers = [0]

    def refresh(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> News:
        """Bring the answers up to date; return the rows with other ones, None for all."""
        kept = self._kept
        kept.refresh(self._state, pod, snap)
        if kept.changes.generation == self._seen_generation:
            return _NOTHING
        if len(kept.table.statuses) > len(self.numbers):
            self.numbers = [self._table.intern(each) for each in kept.table.statuses]
        seen, self._seen_generation = self._seen_generation, kept.changes.generation
        return kept.changes.list_changes_since(seen)

    def at(self, row: int) -> int:
        """Return the answer about a row."""
        return self.numbers[self._kept.current.item(row)]

    @property
    def rejects(self) -> bool:
        """Whether it has ever rejected a node."""
        return len(self.numbers) > 1

    def ids(self, rows: columns.RowIndex) -> status_table.StatusIds:
        """Return int16 (n,), the answers about `rows`; not to be written to."""
        numbers: status_table.StatusIds = np.array(self.numbers, np.int16)
        return numbers.take(self._kept.current[rows])


class _DomainStage:
    """A plugin that decides by domain, with its answers in the numbers of a shape.

    Attributes:
        position: its place among all stages.
    """

    def __init__(
        self,
        plugin: domain_filters.DomainFilterPlugin,
        kept_state: cycle_state.CycleState | None,
        position: int,
        table: status_table.StatusTable,
    ) -> None:
        self.position = position
        self._plugin = plugin
        self._kept_state = kept_state
        self._table = table
        self._numbers: status_table.StatusIds | None = None

    def list_tables(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Sequence[domain_filters.AnswersByDomain]:
        """Return the tables of the plugin; `state` is that of the cycle."""
        own, method = self._kept_state or state, self._plugin.domain_tables
        return asking.ask(self._plugin, "Filter", method, own, pod, snap)

    @property
    def numbers(self) -> status_table.StatusIds:
        """Int16: the number in the shape's table of each answer."""
        if self._numbers is None:
            answers = self._plugin.answers
            signed = [status_table.signed(self._plugin.name, answer) for answer in answers]
            self._numbers = np.array([self._table.intern(each) for each in signed], np.int16)
        return self._numbers


class _Merged:
    """What all stages say together, and what follows from that alone.

    Attributes:
        ids: int16 (N,).
        feasible: intp (f,), the rows that pass, None while nobody has asked.
        rejections: what is kept of them.
    """

    __slots__ = ("feasible", "ids", "rejections")

    def __init__(self, ids: status_table.StatusIds) -> None:
        self.ids = ids
        self.feasible: npt.NDArray[np.intp] | None = None
        self.rejections = rejections.KeptRejections()


_Rejecting: TypeAlias = tuple[_DomainStage, domain_filters.AnswersByDomain, int]
"""A table that has something against a domain, and up to which change."""


class KeptVerdicts:
    """First failures over several stages, in order."""

    def __init__(
        self,
        stages: Sequence[tuple[Stage, cycle_state.CycleState | None]],
        table: status_table.StatusTable,
    ) -> None:
        """Merge `stages`, at least one, in the numbers of `table`.

        With each stage comes the state that lives as long; None for that of the cycle.
        """
        self._row_stages: list[tuple[int, _RowStage]] = []
        self._domain_stages: list[_DomainStage] = []
        for position, (stage, state) in enumerate(stages):
            if isinstance(stage, shape_answers.KeptFilter):
                assert state is not None, "kept"  # noqa: S101 - for the type checker
                self._row_stages.append((position, _RowStage(stage, state, table)))
            else:
                self._domain_stages.append(_DomainStage(stage, state, position, table))
        self._table = table
        self._node_generation = -1
        self._of_rows = self._now = _Merged(np.zeros(0, np.int16))
        self._with_domains = self._of_rows
        self._rejecting: list[_Rejecting] = []
        self._positions: status_table.StatusIds = np.zeros(0, np.int16)

    def ids(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> status_table.StatusIds:
        """Return int16 (N,), current, `DEAD` where there is no node; not to be written to.

        `state` is that of the cycle.
        """
        is_other = self._refresh_rows(pod, snap)
        self._now = self._of_rows
        if self._domain_stages:
            self._refresh_domains(state, pod, snap, is_other=is_other)
        return self._now.ids

    def feasible_rows(self, ids: status_table.StatusIds) -> npt.NDArray[np.intp]:
        """Return intp (f,): the rows that pass by `ids`.

        For what `ids` returned it is the same object as before while it is the same rows.
        """
        now = self._now
        if ids is not now.ids:
            return _passing(ids)
        if now.feasible is None:
            now.feasible = _passing(ids)
        return now.feasible

    def rejections(self, ids: status_table.StatusIds) -> rejections.KeptRejections | None:
        """Return what is kept of the rejections in `ids`, None unless `ids` returned these."""
        return self._now.rejections if ids is self._now.ids else None

    def _refresh_rows(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> bool:
        """Bring the answers about single rows up to date; return whether any is another one."""
        rows: News = []
        for _, stage in self._row_stages:
            news = stage.refresh(pod, snap)
            rows = None if news is None or rows is None else rows + news if news else rows
        if snap.nodes.node_changes.generation != self._node_generation:  # some come or die
            news = snap.nodes.node_changes.list_changes_since(self._node_generation)
            self._node_generation = snap.nodes.node_changes.generation
            rows = None if news is None or rows is None else rows + news
            self._of_rows.rejections.forget()  # other names
            self._with_domains.rejections.forget()
        if rows is None or len(self._of_rows.ids) != snap.size:
            self._of_rows = _Merged(self._merge_rows(slice(0, snap.size), snap))
        elif not rows:
            return False
        elif len(rows) > _FEW_ROWS:
            at = np.array(rows, np.intp)
            self._of_rows.ids[at] = self._merge_rows(at, snap)
            self._of_rows.feasible = None
            self._of_rows.rejections.forget()
        else:
            is_other = False
            for row in rows:
                is_other |= self._patch(row, snap)
            return is_other
        return True

    def _refresh_domains(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        *,
        is_other: bool,
    ) -> None:
        """Merge the answers by domain, if any rejects, into those about rows; `is_other`: these."""
        rejecting = [
            (stage, table, table.changes.generation)
            for stage in self._domain_stages
            for table in stage.list_tables(state, pod, snap)
            if table.rejects
        ]
        if rejecting:
            rows = None if is_other else self._find_other_rows(rejecting)
            if rows is None:
                self._with_domains = _Merged(self._of_rows.ids.copy())
                self._merge_domains(rejecting, np.arange(snap.size))
            elif len(rows):
                self._with_domains.ids[rows] = self._of_rows.ids[rows]
                self._merge_domains(rejecting, rows)
                self._with_domains.feasible = None
                self._with_domains.rejections.forget()
            self._now = self._with_domains
        self._rejecting = rejecting

    def _merge_rows(
        self, rows: columns.RowIndex, snap: snapshot.Snapshot
    ) -> status_table.StatusIds:
        is_alive = snap.is_alive[rows]
        merged: status_table.StatusIds = np.zeros(len(is_alive), np.int16)
        for _, stage in self._row_stages:
            if stage.rejects:
                merged = status_table.first_of(merged, stage.ids(rows))
        merged[~is_alive] = DEAD
        return merged

    def _patch(self, row: int, snap: snapshot.Snapshot) -> bool:
        """Merge the answers about one row; return whether it is another one."""
        found = DEAD
        if snap.is_alive[row]:
            found = next((answer for _, stage in self._row_stages if (answer := stage.at(row))), 0)
        merged = self._of_rows
        before = merged.ids.item(row)
        if found == before:
            return False
        merged.ids[row] = found
        merged.rejections.forget()
        if not (found and before):
            merged.feasible = None
        return True

    def _find_other_rows(self, rejecting: Sequence[_Rejecting]) -> Rows | None:
        """Return intp: rows of domains with other answers than the last time; None for too many."""
        found: list[Rows] = []
        before = [(table, seen) for _, table, seen in self._rejecting]
        if [table for table, _ in before] != [table for _, table, _ in rejecting]:
            return None
        for table, seen in before:
            slots = table.changes.list_changes_since(seen)
            if slots is None or len(slots) > _FEW_SLOTS:
                return None
            found += [(table.slot_of_row == slot).nonzero()[0] for slot in slots]
        if len(found) == 1:  # mostly
            return found[0]
        return np.concatenate(found) if found else _NO_ROWS

    def _merge_domains(self, rejecting: Sequence[_Rejecting], rows: Rows) -> None:
        """Merge the answers of tables about `rows`, intp (m,), into those about single rows."""
        ids = self._with_domains.ids
        numbers = [stage.numbers for stage, _, _ in rejecting]  # which may add statuses
        if len(self._positions) != len(self._table.statuses):
            self._positions = self._number_positions()
        positions = self._positions
        for (stage, table, _), numbered in zip(rejecting, numbers, strict=True):
            kernels.merge_domain_answers(
                rows, table.slot_of_row, table.answers, numbered, stage.position, positions, ids
            )

    def _number_positions(self) -> status_table.StatusIds:
        """Return int16: the place of the row stage that gave each number, 0 for other numbers."""
        found: status_table.StatusIds = np.zeros(len(self._table.statuses), np.int16)
        for position, stage in reversed(self._row_stages):
            found[stage.numbers] = position
        return found


def _passing(ids: status_table.StatusIds) -> npt.NDArray[np.intp]:
    rows: npt.NDArray[np.intp] = (ids == 0).nonzero()[0]  # `flatnonzero` without its checks
    return rows
