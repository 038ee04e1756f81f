"""The inputs of policy programs: what rules read of nodes besides amounts and numbers of pods.

An input is float64 for each row: NaN if it is missing, and 1 or 0 for a condition. `InputTable`
keeps all inputs of a profile for the rows of the cluster, and updates the rows that changed.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Hashable, Iterable
from typing import Protocol

import numpy as np

from policysched.cluster import change_log, snapshot
from policysched.cluster.columns import columns
from policysched.compiler.metrics import added_load, metric_samples
from policysched.compiler.nodes import label_numbers, node_masks

_NEVER = datetime.datetime.max.replace(tzinfo=datetime.UTC)
_BEFORE_ALL = datetime.datetime.min.replace(tzinfo=datetime.UTC)


class Input(Protocol):
    """A number or a condition of nodes."""

    def compute(self, nodes: snapshot.NodeView) -> columns.FloatArray:
        """Return float64 (n,) for the nodes of a view."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class LabelNumberInput:
    """A node label read as a decimal number."""

    numbers: label_numbers.LabelNumbers

    def compute(self, nodes: snapshot.NodeView) -> columns.FloatArray:
        """Return the numbers."""
        return self.numbers.read(nodes)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeMatchInput:
    """Whether a selector matches the node."""

    mask: node_masks.NodeMask

    def compute(self, nodes: snapshot.NodeView) -> columns.FloatArray:
        """Return 1 for the nodes that match, and 0 for the others."""
        return self.mask.mask(nodes).astype(np.float64)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeLabelIdInput:
    """A node label, as the number of its value in the column of the label."""

    key: str

    def compute(self, nodes: snapshot.NodeView) -> columns.FloatArray:
        """Return the numbers, -1 for nodes without the label."""
        labels = nodes.snapshot.nodes.get_label_column(self.key)
        return labels.ids[nodes.rows].astype(np.float64)


@dataclasses.dataclass(frozen=True, slots=True)
class MetricInput:
    """The valid samples of a metric."""

    samples: metric_samples.MetricSamples

    def compute(self, nodes: snapshot.NodeView) -> columns.FloatArray:
        """Return the values that count at the time of the snapshot."""
        return self.samples.current(nodes.snapshot).values[nodes.rows]


@dataclasses.dataclass(frozen=True, slots=True)
class AddedLoadInput:
    """What recently placed pods add to a metric."""

    added: added_load.AddedLoad

    def compute(self, nodes: snapshot.NodeView) -> columns.FloatArray:
        """Return the added load."""
        return self.added.compute(nodes)


class InputTable:
    """All inputs of the programs of a profile.

    Attributes:
        inputs: J inputs, by number.
        values: float64 (J, L), current after `refresh`; L is at least N.
        version: increases whenever nodes, metrics or the time may have changed an input.
    """

    def __init__(self) -> None:
        """Start without inputs."""
        self.inputs: list[Input] = []
        self.version = 0
        self.values: columns.FloatArray = np.zeros((0, 0))
        self._numbers: dict[Hashable, int] = {}
        self._nodes: columns.NodeColumns | None = None
        self._metrics_generation = self._node_generation = -1
        self._samples: dict[int, metric_samples.MetricSamples] = {}
        self._label_ids: list[int] = []
        self._added: dict[int, added_load.AddedLoad] = {}
        self._usage_changes = change_log.ChangeLogCursor()
        self._latest = _BEFORE_ALL
        self._valid_until = _NEVER

    def add(self, key: Hashable, new: Input) -> int:
        """Return the number of the input `key`, which is `new` if the table has none."""
        if key not in self._numbers:
            number = self._numbers[key] = len(self.inputs)
            self.inputs.append(new)
            if isinstance(new, MetricInput):
                self._samples[number] = new.samples
            if isinstance(new, AddedLoadInput):
                self._added[number] = new.added
            if isinstance(new, NodeLabelIdInput):
                self._label_ids.append(number)
            self._nodes = None
        return self._numbers[key]

    def refresh(self, snap: snapshot.Snapshot) -> int:
        """Bring all values up to date, and return `version`."""
        nodes = snap.nodes
        is_same = (
            nodes is self._nodes
            and nodes.node_changes.generation == self._node_generation
            and snap.metrics.generation == self._metrics_generation
            and self._latest <= snap.now < self._valid_until
        )
        if not is_same:
            self._renew(snap)
        if self._added:
            self._renew_added_load(snap)
        self._latest = snap.now
        return self.version

    def _renew(self, snap: snapshot.Snapshot) -> None:
        """Update what follows from nodes, metrics and time."""
        log = snap.nodes.node_changes
        changed = log.list_changes_since(self._node_generation)
        is_known = snap.nodes is self._nodes and self._latest <= snap.now
        self._nodes = None  # starts again if an input raises
        all_rows = slice(0, snap.size)
        if not is_known or changed is None or snap.size > self.values.shape[1]:
            length = max(snap.size, self.values.shape[1])
            self.values = np.full((len(self.inputs), length), np.nan)
            self._usage_changes = change_log.ChangeLogCursor()
            self._write(range(len(self.inputs)), all_rows, snap)
        else:
            if changed:
                self._write(range(len(self.inputs)), np.unique(changed), snap)
                # A column of labels that was made anew numbers the values of all nodes anew.
                self._write(self._label_ids, all_rows, snap)
            self._write(self._samples, all_rows, snap)
        self._valid_until = self._find_end_of_validity(snap)
        self._metrics_generation = snap.metrics.generation
        self._node_generation = log.generation
        self._nodes = snap.nodes
        self.version += 1

    def _renew_added_load(self, snap: snapshot.Snapshot) -> None:
        used = self._usage_changes.read_changes(snap.nodes.usage_changes)
        if used == []:
            return
        self._nodes = None  # starts again if an input raises
        if used is None:
            self._write(self._added, slice(0, snap.size), snap)
        for row in set(used or ()):
            for number, added in self._added.items():
                self.values[number, row] = added.compute_row(snap, row)
        self._nodes = snap.nodes

    def compute(self, nodes: snapshot.NodeView) -> columns.FloatArray:
        """Return float64 (J, n) for the nodes of a view, without the values of this table."""
        found = np.empty((len(self.inputs), len(nodes)))
        for number, each in enumerate(self.inputs):
            found[number] = each.compute(nodes)
        return found

    def _write(
        self, written: Iterable[int], rows: columns.RowIndex, snap: snapshot.Snapshot
    ) -> None:
        view = snap.view_all_rows() if isinstance(rows, slice) else snap.view_rows(rows)
        for number in written:
            self.values[number, rows] = self.inputs[number].compute(view)

    def _find_end_of_validity(self, snap: snapshot.Snapshot) -> datetime.datetime:
        """Return when the first sample that an input reads becomes stale."""
        ends = (samples.current(snap).valid_until for samples in self._samples.values())
        return min((end for end in ends if end is not None), default=_NEVER)
