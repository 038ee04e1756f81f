"""How much each rule does in the cluster of the page, which has no history of decisions."""

from __future__ import annotations

import dataclasses
from typing import Any

from policysched import clock as clocks
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, profile, runtime
from policysched.observability.live_page import pod_verdicts, rules_page
from policysched.offline import sessions

_MOST_SECONDS = 3.0


def make_rule_effects(decider: sessions.PodDecider, clock: clocks.Clock) -> dict[str, Any]:
    """Return the pods on which each rule acts now, and the nodes that it rejects for pending ones.

    Pods that are equal for scheduling are decided once; within three seconds, so `decided` may be
    fewer than the pending pods.
    """
    groups = _group_pods(decider)
    effects = {
        name: _count_scopes(groups, decider, prof)
        for name, prof in decider.profiles.by_name.items()
    }
    decided = _count_rejections(groups, effects, decider, clock)
    return {
        "pending": sum(each.pending for each in groups.values()),
        "decided": decided,
        "profiles": effects,
    }


@dataclasses.dataclass(slots=True)
class _EqualPods:
    """The pods of a profile with the same shape.

    Attributes:
        example: one of them; a pending one if there is one.
    """

    framework: runtime.Framework
    example: pod_shape.PodInfo
    placed: int = 0
    pending: int = 0

    @property
    def profile_name(self) -> str:
        return self.framework.profile.scheduler_name


def _group_pods(
    decider: sessions.PodDecider,
) -> dict[tuple[str, pod_shape.PodShape], _EqualPods]:
    groups: dict[tuple[str, pod_shape.PodShape], _EqualPods] = {}
    pending = [(info, True) for info in decider.cluster.pending]
    for info, is_pending in [
        *pending,
        *((each, False) for each in decider.cluster.placed.values()),
    ]:
        framework = decider.choice.choose_framework(info)
        if framework is None:
            continue
        key = framework.profile.scheduler_name, info.shape
        group = groups.setdefault(key, _EqualPods(framework, info))
        group.pending += is_pending
        group.placed += not is_pending
    return groups


def _count_scopes(
    groups: dict[tuple[str, pod_shape.PodShape], _EqualPods],
    decider: sessions.PodDecider,
    prof: profile.Profile,
) -> dict[str, dict[str, int]]:
    """Return the pods of a profile on which each of its rules acts, by the name of the rule."""
    snap = decider.cluster.cache.snapshot()
    counted = {
        name: {"placed": 0, "pending": 0, "rejectedNodes": 0, "rejectedPods": 0}
        for name in (head.name for head in rules_page.list_rules(prof))
    }
    scopes = rules_page.list_scopes(prof)
    for (name, shape), group in groups.items():
        if name != prof.scheduler_name:
            continue
        state = cycle_state.CycleState()
        acting = {head.name for head, each in scopes if each.applies_to(state, shape, snap)}
        for rule in acting:
            counted[rule]["placed"] += group.placed
            counted[rule]["pending"] += group.pending
    return counted


def _count_rejections(
    groups: dict[tuple[str, pod_shape.PodShape], _EqualPods],
    effects: dict[str, dict[str, dict[str, int]]],
    decider: sessions.PodDecider,
    clock: clocks.Clock,
) -> int:
    """Add the rejections of pending pods to `effects`; return how many pods were decided."""
    end_seconds = clock.monotonic_seconds() + _MOST_SECONDS
    snap = decider.cluster.cache.snapshot()
    decided = 0
    for group in groups.values():
        if group.pending == 0 or clock.monotonic_seconds() > end_seconds:
            continue
        decided += group.pending
        found = group.framework.explain_pod(group.example, snap)
        for step in pod_verdicts.make_funnel(group.framework, found, snap.node_count):
            counted = effects[group.profile_name].get(step["by"])
            if counted is not None:
                counted["rejectedNodes"] += group.pending * step["rejectsInAll"]
                counted["rejectedPods"] += group.pending
    return decided
