"""The texts that users read when a pod does not fit (`framework/types.go`, FitError)."""

from __future__ import annotations

from collections import Counter

import numpy as np

from policysched.cluster.columns import columns
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


def brief_fit_error(
    diagnosis: interface.Diagnosis, is_alive: columns.BoolArray, node_count: int, limit_bytes: int
) -> str:
    """Return a fit error with as many reasons as there is room for, those of the most nodes first.

    What PostFilter says comes last; it, or a single long reason, may make the text too long all
    the same.
    """
    counts = _node_counts(diagnosis, is_alive)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ranked = [f"{count} {reason}" for reason, count in ordered if count]
    tail = f" {diagnosis.post_filter_message}" if diagnosis.post_filter_message else ""
    tail_bytes = min(len(tail.encode()), limit_bytes // 4)
    for shown in range(min(len(ranked), limit_bytes) - 1, 0, -1):
        rest = len(ranked) - shown
        more = f"{rest} more reason{'' if rest == 1 else 's'}"
        text = f"0/{node_count} nodes are available: {', '.join(ranked[:shown])} and {more}."
        if len(text.encode()) + tail_bytes <= limit_bytes:
            return text + tail
    return fit_error(diagnosis, is_alive, node_count)


def reason_histogram(diagnosis: interface.Diagnosis, is_alive: columns.BoolArray) -> list[str]:
    """Return `COUNT REASON` for each distinct reason, sorted as text."""
    counts = _node_counts(diagnosis, is_alive)
    return sorted(f"{count} {reason}" for reason, count in counts.items() if count)


def _node_counts(diagnosis: interface.Diagnosis, is_alive: columns.BoolArray) -> Counter[str]:
    """Return on how many nodes there is each reason; 0 for those of former cycles."""
    nodes_by_status = np.bincount(diagnosis.ids[is_alive], minlength=len(diagnosis.statuses))
    counts: Counter[str] = Counter()
    for answer, node_count in zip(diagnosis.statuses, nodes_by_status.tolist(), strict=True):
        for reason in answer.reasons:
            counts[reason] += node_count
    return counts
