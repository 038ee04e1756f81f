"""What is said of a pod before nodes are looked at: gates, a named node, a nominated node."""

from __future__ import annotations

from tests.conformance.generate import cluster, draw

_GATES = ("example.com/quota", "example.com/image", "a")


def shape(found: cluster.Cluster) -> None:
    """Gate pods, name nodes for them, and make room scarce for nominated ones."""
    source = found.draw
    names = [node["metadata"]["name"] for node in found.nodes]
    for node in found.nodes:
        _shrink(source, node["status"]["allocatable"])
    for pod in found.pods:
        pod["spec"]["priority"] = source.pick((-5, 0, 0, 10, 10, 1000))
    for pod in found.pending:
        if source.chance(0.2):
            gates = source.some(_GATES, 1, 3)
            pod["spec"]["schedulingGates"] = [{"name": gate} for gate in gates]
        if source.chance(0.35):
            pod["status"]["nominatedNodeName"] = source.pick([*names, "gone"])
        _demand(source, pod["spec"])


def _shrink(source: draw.Draw, allocatable: cluster.Manifest) -> None:
    allocatable["cpu"] = source.pick(("1", "2", "3"))
    allocatable["pods"] = source.pick(("2", "4", "110"))


def _demand(source: draw.Draw, spec: cluster.Manifest) -> None:
    """Let pods ask for what nominated ones take away: cpu, ports, distance, an even spread."""
    container = spec["containers"][0]
    container["resources"] = {"requests": {"cpu": source.pick(("100m", "500m", "1", "1500m"))}}
    if source.chance(0.2):
        container["ports"] = [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
    if source.chance(0.2):
        selector = {"matchLabels": {"app": source.pick(cluster.POD_LABELS["app"])}}
        kind = source.pick(("podAffinity", "podAntiAffinity"))
        term = {"topologyKey": source.pick(cluster.TOPOLOGY_KEYS), "labelSelector": selector}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec.setdefault("affinity", {})[kind] = required
    if source.chance(0.2):
        selector = {"matchLabels": {"app": source.pick(cluster.POD_LABELS["app"])}}
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": source.pick((1, 2)),
                "topologyKey": source.pick(cluster.TOPOLOGY_KEYS),
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }
        ]
