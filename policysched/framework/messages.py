"""The texts that users read when a pod does not fit (`framework/types.go`, FitError)."""

from __future__ import annotations

from collections import Counter

import numpy as np

from policysched.cluster import columns
from policysched.framework import interface

NO_NODES = "no nodes available to schedule pods"
"""`pkg/scheduler/scheduler.go`, ErrNoNodesAvailable."""


def fit_error(diagnosis: interface.Diagnosis, is_alive: columns.BoolArray, node_count: int) -> str:
    """Return `0/N nodes are available: …` with how many nodes each reason excludes."""
    text = f"0/{node_count} nodes are available:"
    if diagnosis.pre_filter is not None:
        text += f" {', '.join(diagnosis.pre_filter.reasons)}."
    else:
        histogram = reason_histogram(diagnosis, is_alive)
        if histogram:
            text += f" {', '.join(histogram)}."
    if diagnosis.post_filter_message:
        text += f" {diagnosis.post_filter_message}"
    return text


def reason_histogram(diagnosis: interface.Diagnosis, is_alive: columns.BoolArray) -> list[str]:
    """Return `COUNT REASON` for each distinct reason, sorted as text."""
    nodes_by_status = np.bincount(diagnosis.ids[is_alive], minlength=len(diagnosis.statuses))
    counts: Counter[str] = Counter()
    for answer, node_count in zip(diagnosis.statuses, nodes_by_status.tolist(), strict=True):
        for reason in answer.reasons:
            counts[reason] += node_count
    return sorted(f"{count} {reason}" for reason, count in counts.items() if count)
