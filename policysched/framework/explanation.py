"""Everything that can be said about one pod: every plugin's answer on every node."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from policysched.cluster import pod_shape
from policysched.framework import score_table, status


@dataclasses.dataclass(frozen=True, slots=True)
class NodeVerdict:
    """One node: the first failure decides, `all_failures` has every one of them."""

    name: str
    first: status.Status
    all_failures: tuple[status.Status, ...]


@dataclasses.dataclass(slots=True)
class Explanation:
    """Why a pod goes where it goes, or nowhere.

    Attributes:
        gate: the PreEnqueue rejection that holds it back, if any; it is decided all the same.
        pre_filter: set when PreFilter ended it for all nodes.
        verdicts: one a node, by row order.
        feasible_count: how many nodes pass.
        scores: points of the feasible nodes, None when there is none.
        best: names of the nodes with the highest total, sorted.
        message: the FailedScheduling text, "" when the pod fits somewhere.
    """

    pod: pod_shape.PodInfo
    gate: status.Status | None
    pre_filter: status.Status | None
    verdicts: list[NodeVerdict]
    feasible_count: int
    scores: score_table.ScoreTable | None
    best: list[str]
    message: str


def verdicts(
    names: list[str],
    rows: npt.NDArray[np.intp],
    first: list[status.Status],
    answers: list[status.NodeStatuses],
) -> list[NodeVerdict]:
    """Return one verdict for each of `rows`.

    `first` has an entry for every row of the snapshot, `answers` one vector (N,) a plugin.
    """
    columns = [(a.statuses, a.ids.tolist()) for a in answers if a.ids.any()]
    found = []
    for row in rows.tolist():
        failures = tuple(statuses[ids[row]] for statuses, ids in columns if ids[row])
        found.append(NodeVerdict(names[row], first[row], failures))
    return found
