"""Caches the first failure of each row over consecutive stages of Filter, for identical pods.

If a row changes, only this row is merged again. Answers by topology domain are merged into a copy;
if few domains changed, only their rows are merged again. Pods of several shapes can share the
answers of a stage (`row_stages`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import asking, cycle_state
from policysched.framework.answers import derived, first_failures, status_table
from policysched.framework.filtering import domain_filters, row_stages
from policysched.kernels import verdicts as kernels

Rows: TypeAlias = npt.NDArray[np.intp]
_FEW_SLOTS = 4
"""The rows of so many domains are looked for one domain after the other."""
_NO_ROWS: Rows = np.zeros(0, np.intp)


class DomainStage:
    """A plugin that decides by domain."""

    def __init__(self, plugin: domain_filters.DomainFilterPlugin, *, keeps_state: bool) -> None:
        """Ask `plugin`; `keeps_state` tells that its state lives as long as this."""
        self._plugin = plugin
        self._keeps_state = keeps_state
        self._numbers: status_table.StatusIds | None = None

    def list_tables(
        self,
        kept_state: cycle_state.CycleState,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
    ) -> Sequence[domain_filters.DomainTable]:
        """Return the tables of the plugin; `state` is that of the cycle."""
        own = kept_state if self._keeps_state else state
        return asking.ask(self._plugin, "Filter", self._plugin.domain_tables, own, pod, snap)

    def number_answers(self, table: status_table.StatusTable) -> status_table.StatusIds:
        """Return int16: the number in `table`, always the same one, of each answer."""
        if self._numbers is None:
            answers = self._plugin.answers
            signed = [status_table.signed(self._plugin.name, answer) for answer in answers]
            self._numbers = np.array([table.intern(each) for each in signed], np.int16)
        return self._numbers


KeptStage: TypeAlias = row_stages.StageAnswers | DomainStage
"""Kept answers of some plugins, or a plugin that decides by domain."""


_Rejecting: TypeAlias = tuple[int, DomainStage, domain_filters.DomainTable, int]
"""A table that rejects a domain: the place of its stage, the stage, up to which change."""


class KeptVerdicts:
    """First failures over several stages, in order."""

    def __init__(
        self,
        stages: Sequence[KeptStage],
        kept_state: cycle_state.CycleState,
        table: status_table.StatusTable,
    ) -> None:
        """Merge `stages`, at least one, in the numbers of `table`; `kept_state` lives as long."""
        self._kept_state = kept_state
        self._table = table
        self._row_stages: list[tuple[int, row_stages.RowStage]] = []
        self._domain_stages: list[tuple[int, DomainStage]] = []
        for position, stage in enumerate(stages):
            if isinstance(stage, DomainStage):
                self._domain_stages.append((position, stage))
            else:
                self._row_stages.append((position, row_stages.RowStage(stage, table)))
        followed = [stage.answers.ids for _, stage in self._row_stages]
        self._rows = derived.Derived(derived.DerivedInputs(followed), self._merge_rows, np.int16)
        self._node_generation = self._row_generation = -1
        self._of_rows = self._with_domains = self._begin(np.zeros(0, np.int16))
        self._rejecting: list[_Rejecting] = []
        self._positions: status_table.StatusIds = np.zeros(0, np.int16)

    def find_first_failures(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> first_failures.FirstFailures:
        """Return the first failures now; the same object until they change.

        `state` is that of the cycle.
        """
        is_other = self._refresh_rows(snap)
        if self._domain_stages and self._refresh_domains(state, pod, snap, is_other=is_other):
            return self._with_domains
        return self._of_rows

    def _begin(self, ids: status_table.StatusIds) -> first_failures.FirstFailures:
        return first_failures.FirstFailures(ids, self._table)

    def _refresh_rows(self, snap: snapshot.Snapshot) -> bool:
        """Bring the answers about single rows up to date; return whether any is another one."""
        self._rows.refresh(snap)
        if snap.nodes.node_changes.generation != self._node_generation:
            self._node_generation = snap.nodes.node_changes.generation
            self._of_rows.note_changed_names()
            self._with_domains.note_changed_names()
        if self._rows.changes.generation == self._row_generation:
            return False
        self._row_generation = self._rows.changes.generation
        self._of_rows = self._begin(self._rows.values)
        return True

    def _refresh_domains(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        *,
        is_other: bool,
    ) -> bool:
        """Merge the answers by domain into those about rows; return whether any rejects.

        `is_other` tells whether those about rows changed.
        """
        rejecting = [
            (position, stage, table, table.changes.generation)
            for position, stage in self._domain_stages
            for table in stage.list_tables(self._kept_state, state, pod, snap)
            if table.rejects
        ]
        if rejecting:
            rows = None if is_other else self._find_other_rows(rejecting)
            if rows is None:
                self._with_domains = self._begin(self._of_rows.ids.copy())
                self._merge_domains(rejecting, snap.nodes.all_rows)
            elif len(rows):
                self._with_domains.ids[rows] = self._of_rows.ids[rows]
                self._merge_domains(rejecting, rows)
                self._with_domains.note_changed_ids()
        self._rejecting = rejecting
        return bool(rejecting)

    def _merge_rows(self, snap: snapshot.Snapshot, rows: Rows, out: status_table.StatusIds) -> None:
        merged: status_table.StatusIds = np.zeros(len(rows), np.int16)
        for _, stage in self._row_stages:
            merged = stage.add_ids(merged, rows)
        merged[~snap.is_alive[rows]] = first_failures.DEAD
        out[rows] = merged

    def _find_other_rows(self, rejecting: Sequence[_Rejecting]) -> Rows | None:
        """Return intp: rows of domains with other answers than the last time; None for too many."""
        found: list[Rows] = []
        before = [(table, seen) for _, _, table, seen in self._rejecting]
        if [table for table, _ in before] != [table for _, _, table, _ in rejecting]:
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
        # Which may add statuses.
        numbers = [stage.number_answers(self._table) for _, stage, _, _ in rejecting]
        if len(self._positions) != len(self._table.statuses):
            self._positions = self._number_positions()
        positions = self._positions
        for (position, _, table, _), numbered in zip(rejecting, numbers, strict=True):
            kernels.merge_domain_answers(
                rows, table.slot_of_row, table.answers, numbered, position, positions, ids
            )

    def _number_positions(self) -> status_table.StatusIds:
        """Return int16: the place of the row stage that gave each number, 0 for other numbers."""
        found: status_table.StatusIds = np.zeros(len(self._table.statuses), np.int16)
        for position, stage in reversed(self._row_stages):
            found[stage.numbers] = position
        return found
