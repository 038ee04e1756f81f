"""Pods that are being resized in place: what was granted differs from what is asked for."""

from __future__ import annotations

from tests.conformance.generate import cluster, draw

_CPU = ("0", "50m", "500m", "2")
_MEMORY = ("0", "32Mi", "512Mi", "2Gi")


def resize(source: draw.Draw, pod: cluster.Manifest) -> None:
    """Give a running pod statuses of containers as a kubelet reports them."""
    spec, status = pod["spec"], pod["status"]
    status["containerStatuses"] = _statuses(source, spec["containers"])
    if spec.get("initContainers"):
        status["initContainerStatuses"] = _statuses(source, spec["initContainers"])
    if source.chance(0.35):
        reason = source.pick(("Infeasible", "Deferred"))
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    if spec.get("resources") and source.chance(0.7):
        status["resources"] = {"requests": _granted(source)}
        status["allocatedResources"] = _granted(source)


def _statuses(source: draw.Draw, containers: list[cluster.Manifest]) -> list[cluster.Manifest]:
    made = []
    for container in containers:
        status: cluster.Manifest = {"name": container["name"]}
        if source.chance(0.8):
            status["resources"] = {"requests": _granted(source)} if source.chance(0.9) else {}
        if source.chance(0.7):
            status["allocatedResources"] = _granted(source)
        if source.chance(0.9):
            made.append(status)
    return made


def _granted(source: draw.Draw) -> cluster.Manifest:
    made = {}
    if source.chance(0.8):
        made["cpu"] = source.pick(_CPU)
    if source.chance(0.8):
        made["memory"] = source.pick(_MEMORY)
    return made
