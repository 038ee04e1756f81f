"""The plain cluster that every family begins with: nodes, namespaces, placed and pending pods.

Value domains are small, so that labels, ports, images and names coincide by chance.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeAlias

from tests.conformance.generate import draw as draws

Manifest: TypeAlias = dict[str, Any]
"""An object, or a part of one, as JSON has it."""

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
TOPOLOGY_KEYS = (HOSTNAME, ZONE, REGION, "rack")
ZONES = ("us-east1-a", "us-east1-b", "us-west1-a")
"""As GCE names them: drivers find the region in the name."""
REGIONS = ("us-east1", "us-west1")
NAMESPACES = ("default", "prod", "dev")
POD_LABELS = {
    "app": ("a", "b", "c"),
    "tier": ("web", "db"),
    "version": ("1", "2"),
}
NODE_LABELS = {
    ZONE: (*ZONES, ""),
    REGION: REGIONS,
    "rack": ("k1", "k2"),
    "disk": ("ssd", "hdd", ""),
    "generation": ("1", "2", "10", "007", "x", ""),
}
_MISSING = {ZONE: 0.15, REGION: 0.3, "rack": 0.4, "disk": 0.4, "generation": 0.3}


@dataclasses.dataclass(frozen=True)
class Size:
    """How many of everything, from and to."""

    nodes: tuple[int, int] = (1, 10)
    placed: tuple[int, int] = (0, 20)
    pending: tuple[int, int] = (1, 6)


@dataclasses.dataclass
class Cluster:
    """A cluster in the making.

    Attributes:
        others: objects that are neither nodes nor pods.
        plugin_config: arguments of plugins, by their names.
        weights: weights of plugins that differ from the default.
        disabled: plugins that the profile does without.
    """

    draw: draws.Draw
    nodes: list[Manifest]
    placed: list[Manifest]
    pending: list[Manifest]
    others: list[Manifest]
    plugin_config: dict[str, Manifest] = dataclasses.field(default_factory=dict)
    weights: dict[str, int] = dataclasses.field(default_factory=dict)
    disabled: list[str] = dataclasses.field(default_factory=list)

    @property
    def pods(self) -> list[Manifest]:
        """All pods."""
        return self.placed + self.pending


def complete_topologies(found: Cluster) -> None:
    """Give every node the labels of all topologies, so that rules about them can hold."""
    for node in found.nodes:
        labels = node["metadata"]["labels"]
        labels.setdefault(HOSTNAME, node["metadata"]["name"])
        for key in TOPOLOGY_KEYS[1:]:
            labels.setdefault(key, found.draw.pick(NODE_LABELS[key]))


def make(draw: draws.Draw, size: Size) -> Cluster:
    """Return a plain cluster."""
    nodes = [node(draw, f"n{number}") for number in range(draw.number(*size.nodes))]
    placed = [_placed(draw, f"placed-{n}", nodes) for n in range(draw.number(*size.placed))]
    pending = [pod(draw, f"pending-{n}") for n in range(draw.number(*size.pending))]
    return Cluster(draw, draw.shuffled(nodes), placed, pending, _namespaces(draw))


def leave_out(found: Cluster) -> None:
    """Leave out of some objects what they need not have; name another scheduler for some pods."""
    for made in found.nodes:
        _leave_out_of_node(found.draw, made)
    draw = found.draw
    for pod in found.pods:
        if draw.chance(0.03):
            pod["metadata"].pop("labels")
        if pod["spec"]["priority"] == 0 and draw.chance(0.2):
            pod["spec"].pop("priority")
        if pod["status"] == {"phase": "Pending"} and draw.chance(0.05):
            pod.pop("status")
        if draw.chance(0.03):
            pod["spec"]["schedulerName"] = "another-scheduler"


def _leave_out_of_node(draw: draws.Draw, made: Manifest) -> None:
    if draw.chance(0.02):
        made["metadata"].pop("labels")
    if not made["spec"] and draw.chance(0.3):
        made.pop("spec")
    if draw.chance(0.1):
        made["status"].pop("capacity")
    if draw.chance(0.01):
        made["status"] = {}
    if draw.chance(0.01):
        made.pop("status")


def node(draw: draws.Draw, name: str) -> Manifest:
    """Return a node with labels and ample room."""
    labels = {
        key: draw.pick(values)
        for key, values in NODE_LABELS.items()
        if not draw.chance(_MISSING[key])
    }
    if not draw.chance(0.08):
        labels[HOSTNAME] = name if not draw.chance(0.05) else draw.pick(("n0", "n1", ""))
    allocatable = {
        "cpu": draw.pick(("2", "4", "8", "7900m")),
        "memory": draw.pick(("4Gi", "8Gi", "16Gi", "7500M")),
        "ephemeral-storage": "100Gi",
        "pods": "110",
    }
    metadata: Manifest = {"name": name, "uid": f"node-{name}", "labels": labels}
    if draw.chance(0.02):
        metadata["deletionTimestamp"] = "2026-01-10T00:00:00Z"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": {},
        "status": {"allocatable": allocatable, "capacity": dict(allocatable)},
    }


def pod(draw: draws.Draw, name: str) -> Manifest:
    """Return a pending pod with labels and small requests."""
    namespace = draw.weighted({"default": 6, "prod": 3, "dev": 1})
    labels = {key: draw.pick(values) for key, values in POD_LABELS.items() if draw.chance(0.8)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}/{name}",
            "labels": labels,
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "priority": 0,
            "containers": [container(draw, "c0")],
        },
        "status": {"phase": "Pending"},
    }


def container(draw: draws.Draw, name: str) -> Manifest:
    """Return a container with small requests, or with none."""
    requests: Manifest = {}
    if draw.chance(0.6):
        requests["cpu"] = draw.pick(("100m", "250m", "0.5", "1"))
    if draw.chance(0.6):
        requests["memory"] = draw.pick(("64Mi", "256Mi", "500M", "1Gi"))
    return {"name": name, "image": "app:v1", "resources": {"requests": requests}}


def place(draw: draws.Draw, manifest: Manifest, node_name: str) -> Manifest:
    """Return the pod, running on a node since some time of one of a few days."""
    manifest["spec"]["nodeName"] = node_name
    manifest["status"] = {"phase": "Running", "startTime": start_time(draw)}
    return manifest


def start_time(draw: draws.Draw) -> str:
    """Return the start time of a pod."""
    return f"2026-01-{draw.number(1, 9):02}T{draw.number(0, 3):02}:00:00Z"


def _placed(draw: draws.Draw, name: str, nodes: list[Manifest]) -> Manifest:
    node_name = draw.pick(nodes)["metadata"]["name"]
    made = place(draw, pod(draw, name), "gone" if draw.chance(0.01) else node_name)
    if draw.chance(0.05):
        made["metadata"]["deletionTimestamp"] = "2026-01-10T00:00:00Z"
    if draw.chance(0.04):
        made["status"]["phase"] = draw.pick(("Succeeded", "Failed"))
    return made


def _namespaces(draw: draws.Draw) -> list[Manifest]:
    """Return the namespaces: with a team or not, and now and then one that nobody knows of."""
    made = []
    for name in NAMESPACES:
        labels = {"kubernetes.io/metadata.name": name}
        if draw.chance(0.7):
            labels["team"] = draw.pick(("x", "y"))
        if not draw.chance(0.05):
            metadata = {"name": name, "labels": labels}
            made.append({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    return made
