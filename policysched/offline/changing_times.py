"""Finds the times of a pod, `waiting` and `podAge`, that will change answers of rejecting rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.compiler.rules import reject
from policysched.framework import runtime, status


def list_changing_times(
    framework: runtime.Framework,
    info: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
    answers: Iterable[status.Status],
) -> Iterator[tuple[status.RuleRef, str]]:
    """Yield each rule in `answers` with a time that will change its answer, as text.

    `answers` are rejections of nodes.
    """
    if not framework.time_bounds.is_of_pods:
        return
    rejecting = {answer.rule for answer in answers}
    for plugin in framework.profile.plugins:
        if isinstance(plugin, reject.Reject) and plugin.rule_ref in rejecting:
            for text in plugin.describe_pod_times(info, snap):
                yield plugin.rule_ref, text
