"""Host ports: NodePorts."""

from __future__ import annotations

from tests.conformance.generate import cluster, draw

_PORTS = (80, 443, 8080)
_ADDRESSES = ("", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::", "::1")  # noqa: S104 - a manifest's
_PROTOCOLS = ("TCP", "TCP", "UDP", "SCTP")


def shape(found: cluster.Cluster) -> None:
    """Let containers, init containers and pods on the host's network claim ports."""
    source = found.draw
    for pod in found.pods:
        spec = pod["spec"]
        spec["hostNetwork"] = source.chance(0.15)
        for container in spec["containers"]:
            if source.chance(0.6):
                container["ports"] = source.many(1, 3, lambda: _port(source))
        if source.chance(0.2):
            spec["initContainers"] = [_init_container(source)]


def _port(source: draw.Draw) -> cluster.Manifest:
    made: cluster.Manifest = {"containerPort": source.pick(_PORTS)}
    if source.chance(0.85):
        made["hostPort"] = source.pick(_PORTS)
    address = source.pick(_ADDRESSES)
    if address:
        made["hostIP"] = address
    made["protocol"] = source.pick(_PROTOCOLS)
    return made


def _init_container(source: draw.Draw) -> cluster.Manifest:
    made = {"name": "i0", "image": "app:v1", "resources": {}, "ports": [_port(source)]}
    if source.chance(0.6):
        made["restartPolicy"] = "Always"
    return made
