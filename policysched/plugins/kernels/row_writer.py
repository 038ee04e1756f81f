"""Calls of kernels that write a number for each of some rows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns

_MAX_AMOUNTS = 64


class RowWriter(Protocol):
    """Knows what a pod requests, and writes a number for each row, from its amounts alone."""

    def write(
        self, rows: npt.NDArray[np.intp], nodes: columns.NodeColumns, out: npt.NDArray[Any]
    ) -> None:
        """Write `out[rows]`; `rows` is intp (m,), and `out` has N entries."""
        ...


def compute_view(
    writer: RowWriter, nodes: snapshot.NodeView, dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    """Return the numbers of the n nodes of a view, (n,) of `dtype`."""
    out = np.zeros(nodes.snapshot.size, dtype)
    writer.write(nodes.row_numbers, nodes.snapshot.nodes, out)
    return out[nodes.rows]


class SingleRow:
    """Asks a writer about one row after the other.

    Results are cached by the amounts of the node, because nodes of a pool often have the same.
    """

    def __init__(self, writer: RowWriter, dtype: npt.DTypeLike) -> None:
        """Ask `writer`, which writes numbers of `dtype`."""
        self._writer = writer
        self._out: npt.NDArray[Any] = np.zeros(0, dtype)
        self._known: dict[tuple[int, ...], int] = {}

    def compute(self, node: snapshot.NodeRow) -> int:
        """Return the number of a row."""
        found = self._known.get(node.amounts)
        if found is None:
            if len(self._known) >= _MAX_AMOUNTS:
                self._known.clear()
            found = self._known[node.amounts] = self._ask(node)
        return found

    def _ask(self, node: snapshot.NodeRow) -> int:
        if len(self._out) < node.snapshot.size:
            self._out = np.zeros(node.snapshot.size, self._out.dtype)
        self._writer.write(node.rows, node.snapshot.nodes, self._out)
        return int(self._out.item(node.row))
