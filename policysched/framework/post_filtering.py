"""PostFilter: what becomes of a pod that no node takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Protocol

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import asking, cycle_state, extender_answers, interface, status


class PreemptionPlugin(interface.PostFilterPlugin, Protocol):
    """Makes room by evicting pods, and lets HTTP extenders choose among the candidates."""

    def find_victims(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        diagnosis: interface.Diagnosis,
    ) -> extender_answers.VictimsByNode:
        """Return all candidates; the cycle passes on those that extenders leave in `diagnosis`."""
        ...


def make_room(
    plugins: Iterable[interface.PostFilterPlugin],
    state: cycle_state.CycleState,
    pod: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
    diagnosis: interface.Diagnosis,
) -> interface.PostFilterResult:
    """Ask PostFilter plugins to make room.

    The first success, error or unresolvable rejection ends it; what plain rejections say is joined
    (runtime/framework.go, RunPostFilterPlugins).
    """
    rejected = interface.PostFilterResult(status.unschedulable(""))
    write = None
    for plugin in plugins:
        method = plugin.post_filter
        result = asking.ask(plugin, "PostFilter", method, state, pod, snap, diagnosis)
        answer = result.status
        signed = dataclasses.replace(answer, plugin=plugin.name)
        write = result.write or write
        if answer.is_success:
            return dataclasses.replace(result, status=signed, write=write)
        if not answer.is_rejection:
            failed = dataclasses.replace(signed, code=status.Code.ERROR)
            return interface.PostFilterResult(failed, write=write)
        if answer.code is status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return dataclasses.replace(result, status=signed, write=write)
        reasons = (*rejected.status.reasons, *answer.reasons)
        first = rejected.status.plugin or plugin.name
        kept = rejected if result.nominated_node_name is None else result
        rejection = status.unschedulable(first, *reasons)
        rejected = dataclasses.replace(kept, status=rejection, write=write)
    return rejected


def may_make_room(
    plugins: Iterable[interface.PostFilterPlugin],
    pod: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
) -> bool:
    """Return whether PostFilter plugins may have an effect.

    DefaultPreemption evicts pods of lower priority only; third-party plugins can have any effect.
    """
    lowest = snap.placed.lowest_priority
    has_lower = lowest is not None and lowest < pod.shape.priority
    return any(has_lower or asking.is_third_party(plugin) for plugin in plugins)
