"""What a policy adds to the demands of a pod, in Kubernetes' own terms."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Objects: TypeAlias = Sequence[Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class Demands:
    """What the spec of a pod, or a policy for it, demands of its place.

    Attributes:
        source: who demands it, for messages.
        node_selectors: NodeSelectors, all of which must hold.
        tolerations: what it tolerates.
        affinity: required PodAffinityTerms.
        anti_affinity: required PodAffinityTerms that repel.
        spread: topology spread constraints; those that only prefer are not looked at.
        rejects: whether the pod must not be on the node for any other reason.
    """

    source: str
    node_selectors: Objects = ()
    tolerations: Objects = ()
    affinity: Objects = ()
    anti_affinity: Objects = ()
    spread: Objects = ()
    rejects: Callable[[Mapping[str, Any], Mapping[str, Any]], bool] | None = None


@dataclasses.dataclass(frozen=True)
class PolicyTwin:
    """A policy written down a second time, by hand and without the policy language.

    Attributes:
        name: the policy's name.
        selects: whether it is for the pod.
        demands: what it demands for such a pod.
    """

    name: str
    selects: Callable[[Mapping[str, Any]], bool]
    demands: Demands


def demands_of(pod: Mapping[str, Any], policies: Sequence[PolicyTwin]) -> list[Demands]:
    """Return the demands of a pod's own spec, then those of the policies that select it."""
    return [_own(pod), *(policy.demands for policy in policies if policy.selects(pod))]


def _own(pod: Mapping[str, Any]) -> Demands:
    spec = pod["spec"]
    affinity = spec.get("affinity") or {}
    return Demands(
        "its spec",
        node_selectors=[one] if (one := _required(affinity, "nodeAffinity")) else [],
        tolerations=spec.get("tolerations") or [],
        affinity=_required(affinity, "podAffinity") or [],
        anti_affinity=_required(affinity, "podAntiAffinity") or [],
        spread=spec.get("topologySpreadConstraints") or [],
    )


def _required(affinity: Mapping[str, Any], kind: str) -> Any:
    return (affinity.get(kind) or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
