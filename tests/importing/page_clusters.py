"""Clusters on which the pods and policies of docs/from-kubernetes.md make a difference."""

from __future__ import annotations

import copy
from typing import Any

from tests.conformance.generate import draw, normalise
from tests.importing import deciding

Manifest = dict[str, Any]

CARRIER = {"app": "web", "tenant": "a"}
"""Labels of all pods that the page is about; they are in the namespace `shop`."""
ZONE = "topology.kubernetes.io/zone"
_VERSION = "pod-template-hash"
_NODE_LABELS: dict[str, tuple[str, ...]] = {
    ZONE: ("a", "a", "b", "b", "c"),
    "disktype": ("ssd", "ssd", "nvme", "hdd"),
    "pool": ("web", "web", "batch"),
    "cores": ("4", "8", "16", "many"),
    "gpu": ("a100",),
}
_TAINTS = (
    {"key": "dedicated", "value": "web", "effect": "NoSchedule"},
    {"key": "dedicated", "value": "batch", "effect": "NoSchedule"},
    {"key": "maintenance", "value": "", "effect": "PreferNoSchedule"},
    {"key": "sla", "value": "950", "effect": "NoSchedule"},
)
_PRIORITY = {"web": 1000, "batch": 500}


def draw_cluster(seed: str) -> list[Manifest]:
    """Return namespaces, nodes, placed pods, and pending ones; carriers have no rules yet."""
    source = draw.Draw(seed)
    nodes = [_node(source, f"n{number}") for number in range(source.number(5, 8))]
    names = [node["metadata"]["name"] for node in nodes]
    placed = [_placed(source, f"p{number}", names) for number in range(source.number(5, 14))]
    pending = [
        _pod("web", "shop", "web", {_VERSION: "v2", "tenant": "a"}),
        _pod("redis", "shop", "redis", {}),
        _pod("batch", "shop", "batch", {"tenant": "b"}),
        _pod("noisy", "data", "batch", {"role": "noisy"}),
    ]
    return [*_namespaces(source), *nodes, *placed, *pending]


def with_spec(cluster: list[Manifest], spec: Manifest) -> list[Manifest]:
    """Return the cluster with the fields of `spec` in all carriers, as an API server stores it."""
    changed = copy.deepcopy(cluster)
    for item in filter(is_carrier, changed):
        item["spec"] |= copy.deepcopy(spec)
        normalise.pod(item)
    return changed


def is_carrier(item: Manifest) -> bool:
    """Return whether an object is a pod that the page is about."""
    metadata = item["metadata"]
    app = metadata.get("labels", {}).get("app")
    return (item["kind"], metadata.get("namespace"), app) == ("Pod", "shop", "web")


def _namespaces(source: draw.Draw) -> list[Manifest]:
    teams = {"shop": "store", "data": source.pick(("store", "lab"))}
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"team": team}},
        }
        for name, team in teams.items()
    ]


def _node(source: draw.Draw, name: str) -> Manifest:
    labels = {key: source.pick(v) for key, v in _NODE_LABELS.items() if source.chance(0.85)}
    made = deciding.node(name, labels, cpu="2")
    taints = [taint for taint in _TAINTS if source.chance(0.12)]
    made["spec"] = {"taints": taints, "unschedulable": source.chance(0.1)}
    return made


def _placed(source: draw.Draw, name: str, nodes: list[str]) -> Manifest:
    app = source.pick(("web", "web", "redis", "batch"))
    labels = {_VERSION: source.pick(("v1", "v2", "v2"))}
    labels |= {"tenant": source.pick(("a", "b"))} if source.chance(0.5) else {}
    labels |= {"role": "noisy"} if source.chance(0.2) else {}
    namespace = source.pick(("shop", "shop", "data"))
    return _pod(name, namespace, app, labels, nodeName=source.pick(nodes))


def _pod(name: str, namespace: str, app: str, labels: dict[str, str], **spec: Any) -> Manifest:
    priority = _PRIORITY.get(app, 0) if "nodeName" not in spec else 0
    made = deciding.pod(name, {"app": app} | labels, priority=priority, **spec)
    made["metadata"] |= {"namespace": namespace, "uid": f"{namespace}/{name}"}
    return made
