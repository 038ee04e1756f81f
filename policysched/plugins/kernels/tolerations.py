"""Which taints a pod tolerates, decided once for each distinct set of taints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from policysched import int64
from policysched.cluster import snapshot
from policysched.cluster.columns import columns, interning
from policysched.cluster.objects import objects

Tolerations: TypeAlias = tuple[objects.Toleration, ...]
Taints: TypeAlias = tuple[objects.Taint, ...]

PREFER_NO_SCHEDULE = "PreferNoSchedule"
_DECIMAL = re.compile(r"0|-?[1-9][0-9]*")
_REPELLING = ("NoSchedule", "NoExecute")


def tolerates(tolerations: Iterable[objects.Toleration], taint: objects.Taint) -> bool:
    """Return whether one of `tolerations` tolerates `taint`.

    Gt and Lt compare numbers (KEP-5471, alpha in 1.36): an API server that does not serve them
    refuses pods that have them, so there is nothing to switch on here. Policies may grant them
    anywhere.

    Source: `k8s.io/api/core/v1/toleration.go`, ToleratesTaint.
    """
    return any(_tolerates(t, taint) for t in tolerations)


def _tolerates(toleration: objects.Toleration, taint: objects.Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    if toleration.operator in ("Gt", "Lt"):
        return _compares(toleration, taint)
    return toleration.operator == "Exists"


def _compares(toleration: objects.Toleration, taint: objects.Taint) -> bool:
    """Return whether the taint's value is above (Gt) or below (Lt) that of the toleration."""
    actual, wanted = _number(taint.value), _number(toleration.value)
    if actual is None or wanted is None:
        return False
    return actual > wanted if toleration.operator == "Gt" else actual < wanted


def _number(text: str) -> int | None:
    """Return the int64 that a person would write so: without plus sign and leading zeros."""
    return int64.parse_int64(text) if _DECIMAL.fullmatch(text) else None


def repels(taints: Taints, tolerations: Tolerations) -> bool:
    """Return whether a NoSchedule or NoExecute taint is not tolerated."""
    return any(t.effect in _REPELLING and not tolerates(tolerations, t) for t in taints)


def untolerated_preferences(taints: Taints, tolerations: Tolerations) -> int:
    """Return how many PreferNoSchedule taints are not tolerated."""
    preferences = (t for t in taints if t.effect == PREFER_NO_SCHEDULE)
    return sum(not tolerates(tolerations, t) for t in preferences)


class TaintSetTable:
    """A number for each distinct set of taints in the cluster, filled in as sets appear."""

    def __init__(self, decide: Callable[[Taints, Tolerations], int], own: Tolerations) -> None:
        """Decide with `decide(taints, own)`."""
        self._decide = decide
        self._own = own
        self._sets: interning.Interner[Taints] | None = None
        self._answers: columns.IntArray = np.zeros(0, np.int64)

    def at(self, nodes: snapshot.NodeView) -> columns.IntArray:
        """Return int64 (n,): the number of each node's taints."""
        sets = nodes.snapshot.nodes.taint_sets
        if sets is not self._sets:
            self._sets, self._answers = sets, self._answers[:0]
        known = len(self._answers)
        if known < len(sets):
            fresh = [self._decide(taints, self._own) for taints in sets.values[known:]]
            self._answers = np.append(self._answers, np.array(fresh, np.int64))
        answers: columns.IntArray = self._answers[nodes.taint_set_ids]
        return answers
