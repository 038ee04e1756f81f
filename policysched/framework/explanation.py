"""Everything that can be said about one pod: every plugin's answer on every node."""

from __future__ import annotations

import dataclasses

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import cycles, status
from policysched.framework.answers import first_failures, status_table
from policysched.framework.filtering import filtering, pre_filter_outcome
from policysched.framework.scoring import score_table


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
        gate: the PreEnqueue rejection that holds it back, if any; the verdicts ignore it.
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


def same_verdict(snap: snapshot.Snapshot, answer: status.Status) -> list[NodeVerdict]:
    """Return that `answer`, with which PreFilter ended a cycle, holds for each node, by row."""
    names = snap.nodes.names
    return [NodeVerdict(names[row], answer, ()) for row in np.flatnonzero(snap.is_alive).tolist()]


def verdicts(
    cycle: cycles.Cycle,
    outcome: pre_filter_outcome.PreFilterOutcome,
    failures: first_failures.FirstFailures,
    runner: filtering.FilterRunner,
) -> list[NodeVerdict]:
    """Return one verdict for each node, by row, with its first failure and all others."""
    names = cycle.snap.nodes.names
    firsts, statuses = failures.ids.tolist(), failures.statuses
    every = [
        ([status_table.signed(plugin.name, s) for s in answers.statuses], answers.ids.tolist())
        for plugin, answers in runner.explain(cycle, outcome)
        if answers.ids.any()
    ]
    found = []
    for row in np.flatnonzero(cycle.snap.is_alive).tolist():
        of_row = tuple(said[numbers[row]] for said, numbers in every if numbers[row])
        found.append(NodeVerdict(names[row], statuses[firsts[row]], of_row))
    return found
