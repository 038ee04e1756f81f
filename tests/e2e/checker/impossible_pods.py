"""Pods that fit nowhere, whatever else is placed first, and say the same whenever they are tried.

They request nothing that others could take from them; what stands in their way are nodes, volumes
and pods that were there before (the anchors). They are of the lowest priority, so that for each of
them the victims are the same, too: none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from tests.e2e.scenes import storage_objects
from tests.realcluster import manifests

Spec = dict[str, Any]

_ANCHOR, _REPELLER, _SKEWED = "anchor", "repeller", "skewed"
_TAKEN_PORT = 9000
_CORDONED = "node-0015"
_TOLERATIONS = [{"key": "dedicated", "operator": "Equal", "value": "batch"}]
_POOL: Spec = {"nodeSelector": {"pool": "batch"}, "tolerations": _TOLERATIONS}
"""Lets pods onto the nodes of the pool, each of which has an anchor, and onto no others."""
_IN_ZONE_A: Spec = {"nodeSelector": {manifests.ZONE: "zone-a"}}
_SELECTOR = "node(s) didn't match Pod's node affinity/selector"
_SPREAD = "node(s) didn't match pod topology spread constraints"


@dataclasses.dataclass(frozen=True)
class _Impossible:
    reason: str
    spec: Spec = dataclasses.field(default_factory=dict)
    requests: Mapping[str, str] = dataclasses.field(default_factory=dict)
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    port: int = 0


def make(scheduler_name: str) -> list[dict[str, Any]]:
    """Return the pods."""
    return [_pod(name, scheduler_name, one) for name, one in _impossible().items()]


def reasons() -> dict[str, str]:
    """Return a part of the message that each pod must get, by name."""
    return {name: one.reason for name, one in _impossible().items()}


def anchors(nodes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the pods that must be on their nodes before."""
    made = []
    for number, node in enumerate(storage_objects.pool_nodes(nodes)):
        spec = {"volumes": [storage_objects.volume(storage_objects.anchor(number))]}
        made.append(_bound(f"anchor-{number}", node, _ANCHOR, spec))
        made[-1]["spec"]["containers"][0]["ports"] = [_host_port(_TAKEN_PORT)]
    names = [node["metadata"]["name"] for node in nodes]
    for zone, name in zip(manifests.ZONES, names, strict=False):
        spec = _pod_term("podAntiAffinity", "repelled", manifests.ZONE)
        made.append(_bound(f"repeller-{zone}", name, _REPELLER, spec))
    made += [_bound(f"skewed-{number}", names[0], _SKEWED, {}) for number in range(2)]
    exclusive = {"volumes": [storage_objects.volume(storage_objects.EXCLUSIVE)]}
    return [*made, _bound("exclusive-holder", names[0], _ANCHOR, exclusive)]


def _impossible() -> dict[str, _Impossible]:
    return {**_by_nodes(), **_by_pods(), **_by_volumes()}


def _by_nodes() -> dict[str, _Impossible]:
    gate = {"schedulingGates": [{"name": "test/hold"}]}
    return {
        "too-big": _Impossible("Insufficient cpu", requests={"cpu": "1k"}),
        "no-device": _Impossible("Insufficient test/fpga", requests={"test/fpga": "1"}),
        "nowhere": _Impossible(_SELECTOR, {"nodeSelector": {manifests.ZONE: "zone-x"}}),
        "no-such-node": _Impossible(
            "node(s) didn't satisfy plugin(s) [NodeAffinity]", _on_node("no-such-node")
        ),
        "cordoned": _Impossible("node(s) were unschedulable", _on_node(_CORDONED)),
        "intolerant": _Impossible(
            "node(s) had untolerated taint(s)", {"nodeSelector": {"pool": "batch"}}
        ),
        "rackless": _Impossible(f"{_SPREAD} (missing required label)", _spread("rackless", "rack")),
        "gated": _Impossible("Scheduling is blocked due to non-empty scheduling gates", gate),
    }


def _by_pods() -> dict[str, _Impossible]:
    return {
        "port-taken": _Impossible(
            "node(s) didn't have free ports for the requested pod ports", _POOL, port=_TAKEN_PORT
        ),
        "apart": _Impossible(
            "node(s) didn't match pod anti-affinity rules",
            _POOL | _pod_term("podAntiAffinity", _ANCHOR, manifests.HOSTNAME),
        ),
        "repelled": _Impossible(
            "node(s) didn't satisfy existing pods anti-affinity rules", labels={"app": "repelled"}
        ),
        "lonely": _Impossible(
            "node(s) didn't match pod affinity rules",
            _pod_term("podAffinity", "nobody", manifests.HOSTNAME),
        ),
        "skewed": _Impossible(
            _SPREAD,
            _IN_ZONE_A | _spread(_SKEWED, manifests.ZONE, nodeAffinityPolicy="Ignore"),
            labels={"app": _SKEWED},
        ),
    }


def _by_volumes() -> dict[str, _Impossible]:
    return {
        "claimless": _Impossible('persistentvolumeclaim "missing" not found', _using("missing")),
        "unbound": _Impossible(
            "pod has unbound immediate PersistentVolumeClaims", _using(storage_objects.UNBOUND)
        ),
        "torn": _Impossible(
            "node(s) didn't match PersistentVolume's node affinity",
            _IN_ZONE_A | _using(storage_objects.IN_ZONE_B),
        ),
        "zoned-out": _Impossible(
            "node(s) had no available volume zone", _IN_ZONE_A | _using(storage_objects.LABELLED)
        ),
        "attached-out": _Impossible(
            "node(s) exceed max volume count", _POOL | _using(storage_objects.SPARE)
        ),
        "excluded": _Impossible(
            "with ReadWriteOncePod access mode already in-use by another pod",
            _using(storage_objects.EXCLUSIVE),
        ),
    }


def _pod(name: str, scheduler_name: str, one: _Impossible) -> dict[str, Any]:
    made = manifests.pod(
        name,
        scheduler_name=scheduler_name,
        requests=one.requests,
        labels=one.labels,
        spec={"priorityClassName": "e2e-low", **one.spec},
    )
    if one.port:
        made["spec"]["containers"][0]["ports"] = [_host_port(one.port)]
    return made


def _bound(name: str, node: str, app: str, spec: Spec) -> dict[str, Any]:
    return manifests.pod(name, labels={"app": app}, spec={"nodeName": node, **spec})


def _host_port(port: int) -> dict[str, Any]:
    return {"containerPort": 80, "hostPort": port, "protocol": "TCP"}


def _using(claim: str) -> Spec:
    return {"volumes": [storage_objects.volume(claim)]}


def _on_node(name: str) -> Spec:
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    node_affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    return {"affinity": {"nodeAffinity": node_affinity}}


def _pod_term(kind: str, app: str, topology_key: str) -> Spec:
    term = {"topologyKey": topology_key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _spread(app: str, topology_key: str, **further: str) -> Spec:
    constraint = {
        "topologyKey": topology_key,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
        **further,
    }
    return {"topologySpreadConstraints": [constraint]}
