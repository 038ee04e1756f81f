"""Numbers of the nodes of a view, by what writes numbers by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.framework import interface


def compute_view(
    writer: interface.RowWriter, nodes: snapshot.NodeView, dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    """Return the numbers of the n nodes of a view, (n,) of `dtype`."""
    out: npt.NDArray[Any] = np.empty(nodes.snapshot.size, dtype)
    writer.write(nodes.snapshot, nodes.row_numbers, out)
    return out[nodes.rows]
