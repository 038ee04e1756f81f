"""Node labels read as decimal numbers."""

from __future__ import annotations

import re

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import interning, label_column
from policysched.compiler import column

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


def parse_decimal(text: str) -> float | None:
    """Return the number that a label value spells, None if it is not a finite decimal number.

    Neither exponents (`1e3` is a commit or a model more often than a thousand) nor units.
    """
    if _DECIMAL.fullmatch(text) is None:
        return None
    number = float(text)
    return number if np.isfinite(number) else None


class LabelNumbers:
    """One label of all nodes; a number is read once per distinct value."""

    def __init__(self, key: str) -> None:
        """Read the label `key`."""
        self._key = key
        self._values: interning.Interner[str] | None = None
        self._table = column.Numbers(np.zeros(0), np.zeros(0, np.bool_))

    def on(self, nodes: snapshot.NodeView) -> column.Numbers:
        """Return (n,) numbers, missing where the label is absent or no number."""
        labels = self._labels(nodes.snapshot)
        # Id -1, an absent label, finds the last entry.
        return column.at_rows(self._table, labels.ids[nodes.rows].astype(np.intp))

    def at(self, node: snapshot.NodeRow) -> float | None:
        """Return the number of one node, None where the label is absent or no number."""
        number = self._labels(node.snapshot).ids.item(node.row)
        values, is_valid = self._table
        return values.item(number) if is_valid[number] else None

    def _labels(self, snap: snapshot.Snapshot) -> label_column.LabelColumn:
        """Return the label of all nodes, with each of its values read."""
        labels = snap.nodes.get_label_column(self._key)
        if self._values is not labels.values or len(self._table.values) <= len(labels.values):
            self._table = _read(labels.values.values)
            self._values = labels.values
        return labels


def _read(texts: list[str]) -> column.Numbers:
    read = [*(parse_decimal(text) for text in texts), None]
    values = np.array([0.0 if number is None else number for number in read])
    return column.Numbers(values, np.array([number is not None for number in read]))
