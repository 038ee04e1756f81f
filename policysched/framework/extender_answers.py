"""What HTTP extenders answered about one pod, as input of its scheduling cycle.

The cycle is synchronous, and the cluster can change while extenders are asked. So they are asked
first, about the nodes that pass Filter then. The cycle evaluates all nodes afterwards, and combines
the results with these answers (docs/decisions/0041-ask-extenders-before-the-cycle.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import events, status

EXTENDER = "Extender"
"""Stands for all extenders among the plugins that rejected a pod (framework/types.go)."""

_ANY_CHANGE = events.ActionType.ALL
EVENTS: Sequence[events.ClusterEventWithHint] = tuple(
    events.ClusterEventWithHint(events.ClusterEvent(resource, _ANY_CHANGE))
    for resource in (
        events.EventResource.POD,
        events.EventResource.UNSCHEDULED_POD,
        events.EventResource.NODE,
        events.EventResource.PERSISTENT_VOLUME,
        events.EventResource.PERSISTENT_VOLUME_CLAIM,
        events.EventResource.STORAGE_CLASS,
        events.EventResource.CSI_NODE,
        events.EventResource.CSI_DRIVER,
        events.EventResource.CSI_STORAGE_CAPACITY,
        events.EventResource.RESOURCE_CLAIM,
        events.EventResource.DEVICE_CLASS,
    )
)
"""What can change the answer of an extender (runtime/framework.go, defaultEnqueueExtension)."""


@dataclasses.dataclass(frozen=True, slots=True)
class NodeVictims:
    """The pods that preemption would evict from a node.

    Attributes:
        pods: the most important one first.
        violations: how many of them a disruption budget protects.
    """

    pods: tuple[pod_shape.PodInfo, ...]
    violations: int


@dataclasses.dataclass(frozen=True, slots=True)
class AskedExtender:
    """An extender that was asked about a pod.

    Attributes:
        url: names it; without credentials.
        problem: why an answer was not used; "" if the last answer to each kind of call was.
    """

    url: str
    problem: str = ""


VictimsByNode: TypeAlias = Mapping[str, NodeVictims]


@dataclasses.dataclass(frozen=True, slots=True)
class ExtenderAnswers:
    """The answers of all extenders about one pod.

    Attributes:
        asked: the extenders, in the order in which they are asked.
        error: why the attempt ends without a node, so that nothing else counts; "" for no error.
        accepted: names of the nodes that all extenders accepted; None if all nodes are possible.
        rejections: by node name, the rejections for which an extender gave a text.
        points: by node name, the points of all extenders together.
        victims: if no node is possible, the only candidates for preemption; None if extenders do
            not restrict them.
        preemption_error: if no node is possible, why no pod is evicted; "" for no error.
    """

    asked: tuple[AskedExtender, ...] = ()
    error: str = ""
    accepted: frozenset[str] | None = None
    rejections: Mapping[str, status.Status] = dataclasses.field(default_factory=dict)
    points: Mapping[str, int] = dataclasses.field(default_factory=dict)
    victims: VictimsByNode | None = None
    preemption_error: str = ""


def drop_gone_victims(victims: VictimsByNode, snap: snapshot.Snapshot) -> dict[str, NodeVictims]:
    """Return the candidates without pods that have left their nodes."""
    remaining: dict[str, NodeVictims] = {}
    for name, node in victims.items():
        row = snap.find_row(name)
        if row is None:
            continue
        placed = {pod.uid for pod in snap.placed.get_pods(row)}
        pods = tuple(pod for pod in node.pods if pod.uid in placed)
        if pods:
            remaining[name] = NodeVictims(pods, node.violations)
    return remaining
