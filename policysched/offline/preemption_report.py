"""What policies forbid preemption for a pod that fits on no node: the kept pods, by rule."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, runtime

_MOST_NAMED = 5


@dataclasses.dataclass(slots=True)
class RuleLimit:
    """What one rule forbids.

    Attributes:
        rule: full name of the rule.
        pods: `namespace/name` of the pods of lower priority that the pod must not evict.
        nodes: names of the nodes of these pods, or of the nodes that a rule with `preemption never`
            rejects.
    """

    rule: str
    pods: list[str] = dataclasses.field(default_factory=list)
    nodes: list[str] = dataclasses.field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the limit in the form of the schemas of `explain` and `simulate`."""
        return {
            "rule": self.rule,
            "pods": len(self.pods),
            "nodes": len(self.nodes),
            "some": self.pods[:_MOST_NAMED],
        }


@dataclasses.dataclass(frozen=True, slots=True)
class PreemptionFacts:
    """What preemption may do for a pod.

    Attributes:
        limits: what each rule forbids, keyed by its name.
        lesser: `namespace/name` of all placed pods of lower priority.
    """

    limits: dict[str, RuleLimit] = dataclasses.field(default_factory=dict)
    lesser: list[str] = dataclasses.field(default_factory=list)

    def find_keeping_rules(self, pod: str) -> list[str]:
        """Return the names of the rules by which a placed pod must not be evicted."""
        return [name for name, limit in self.limits.items() if pod in limit.pods]


def find_preemption_facts(
    framework: runtime.Framework, info: pod_shape.PodInfo, snap: snapshot.Snapshot
) -> PreemptionFacts:
    """Return what the policies of all profiles forbid a pod now."""
    facts = PreemptionFacts()
    of_profile = framework.profile.preemption_limits
    limits = None if of_profile is None else of_profile.find_limits(info.shape, snap)
    rows = np.flatnonzero(snap.is_alive)
    for row in rows.tolist():
        for placed in snap.placed.get_pods(row):
            if placed.shape.priority >= info.shape.priority:
                continue
            facts.lesser.append(placed.key)
            for rule in () if limits is None else limits.find_keeping_rules(placed.shape):
                limit = facts.limits.setdefault(rule, RuleLimit(rule))
                limit.pods.append(placed.key)
                if snap.nodes.names[row] not in limit.nodes[-1:]:
                    limit.nodes.append(snap.nodes.names[row])
    if limits is not None:
        state = cycle_state.CycleState(framework.profile.tolerations(info.shape, snap))
        for rule, is_closed in limits.find_closed_rows(state, info, snap, rows):
            names = [snap.nodes.names[row] for row in rows[is_closed].tolist()]
            if names:
                facts.limits[rule] = RuleLimit(rule, nodes=names)
    return facts
