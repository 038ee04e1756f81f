"""Node labels read as decimal numbers."""

from __future__ import annotations

import re

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns, interning, label_column

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
        self._table: columns.FloatArray = np.zeros(0)

    def read(self, nodes: snapshot.NodeView) -> columns.FloatArray:
        """Return float64 (n,), NaN if the label is absent or no number."""
        labels = self._labels(nodes.snapshot)
        # Id -1, an absent label, finds the last entry.
        found: columns.FloatArray = self._table[labels.ids[nodes.rows]]
        return found

    def _labels(self, snap: snapshot.Snapshot) -> label_column.LabelColumn:
        """Return the label of all nodes, with each of its values read."""
        labels = snap.nodes.get_label_column(self._key)
        if self._values is not labels.values or len(self._table) <= len(labels.values):
            self._table = _read(labels.values.values)
            self._values = labels.values
        return labels


def _read(texts: list[str]) -> columns.FloatArray:
    """Return the number of each text, and NaN at the end."""
    read = [*(parse_decimal(text) for text in texts), None]
    return np.array([np.nan if number is None else number for number in read])
