"""Describe comparisons of elapsed times: `waiting 4m < 10m, decided again at …`."""

from __future__ import annotations

import math
from collections.abc import Iterator

from policysched import amounts, clock
from policysched.cluster import elapsed_time, snapshot
from policysched.cluster.pods import pod_shape
from policysched.lang.checked import checked_expr, comparisons, elapsed_times
from policysched.lang.words import vocabulary
from policysched.plugins.shared import node_rejection_texts


def describe_comparison(
    compare: checked_expr.Compare, pod: pod_shape.PodInfo, node: snapshot.NodeView
) -> str | None:
    """Return the elapsed time, the constant, and when the answer changes.

    Return None if no elapsed time is compared. `node` has only one row.
    """
    bound = elapsed_times.find_time_bound(compare)
    if bound is None:
        return None
    metadata = node_rejection_texts.get_only_node(node).metadata
    created = elapsed_time.find_creation_seconds(metadata)
    start = _find_start(bound.kind, pod, node.snapshot, created)
    return _describe(compare, bound, start, node.snapshot)


def describe_pod_times(
    condition: checked_expr.TypedExpr, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
) -> list[str]:
    """Return the comparisons of times of the pod whose answers will change."""
    return list(dict.fromkeys(_list_changing_times(condition, pod, snap)))


def _list_changing_times(
    condition: checked_expr.TypedExpr, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
) -> Iterator[str]:
    for each in checked_expr.walk_expressions(condition):
        bound = elapsed_times.find_time_bound(each)
        if bound is None or bound.kind == "nodeAge" or not isinstance(each, checked_expr.Compare):
            continue
        start = _find_start(bound.kind, pod, snap, None)
        if start is not None and start + bound.seconds > snap.now_seconds:
            yield _describe(each, bound, start, snap)


def _find_start(
    kind: vocabulary.ElapsedKind,
    pod: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
    node_creation_seconds: int | None,
) -> int | None:
    """Return when a time began, in seconds since 1970; None if that is unknown."""
    if kind == "nodeAge":
        return node_creation_seconds
    if kind == "podAge":
        return elapsed_time.find_creation_seconds(pod.pod.metadata)
    started = pod.first_try_seconds
    return math.floor(snap.now_seconds) if started is None else started


def _describe(
    compare: checked_expr.Compare,
    bound: elapsed_times.TimeBound,
    start: int | None,
    snap: snapshot.Snapshot,
) -> str:
    _, comparator, seconds = comparisons.split_constant_comparison(compare)
    elapsed = 0 if start is None else max(0, math.floor(snap.now_seconds) - start)
    if not comparisons.SIGNS[comparator](elapsed, seconds or 0.0):
        comparator = comparisons.NEGATED[comparator]
    passed, constant = amounts.format_duration(elapsed), amounts.format_duration(seconds or 0.0)
    text = f"{bound.kind} {passed} {comparator} {constant}"
    if start is None or elapsed >= bound.seconds:
        return text
    moment = clock.find_utc_time(start + bound.seconds)
    return text if moment is None else f"{text}, decided again at {moment:%Y-%m-%dT%H:%M:%SZ}"
