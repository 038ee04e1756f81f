"""Taints and tolerations: NodeUnschedulable, TaintToleration."""

from __future__ import annotations

from tests.conformance.generate import cluster, draw

_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_KEYS = ("dedicated", "gpu", "level", _UNSCHEDULABLE)
_VALUES = ("", "a", "b", "5")


def shape(found: cluster.Cluster) -> None:
    """Taint nodes, cordon some, and let pods tolerate."""
    source = found.draw
    for node in found.nodes:
        if source.chance(0.75):
            node["spec"]["taints"] = _taints(source)
        if source.chance(0.15):
            _cordon(source, node)
    for pod in found.pods:
        if source.chance(0.85):
            pod["spec"]["tolerations"] = source.many(1, 5, lambda: _toleration(source))


def _taints(source: draw.Draw) -> list[cluster.Manifest]:
    """Return taints, each key and effect once."""
    made = source.many(1, 4, lambda: _taint(source))
    return list({(taint["key"], taint["effect"]): taint for taint in made}.values())


def _taint(source: draw.Draw) -> cluster.Manifest:
    effect = source.weighted({"NoSchedule": 2, "NoExecute": 1, "PreferNoSchedule": 3})
    made = {"key": source.pick(_KEYS), "effect": effect}
    value = source.pick(_VALUES)
    return {**made, "value": value} if value else made


def _cordon(source: draw.Draw, node: cluster.Manifest) -> None:
    """Cordon a node; the taint that goes with it mostly has come already."""
    node["spec"]["unschedulable"] = True
    if source.chance(0.6):
        taints = [t for t in node["spec"].get("taints", []) if t["key"] != _UNSCHEDULABLE]
        node["spec"]["taints"] = [*taints, {"key": _UNSCHEDULABLE, "effect": "NoSchedule"}]


def _toleration(source: draw.Draw) -> cluster.Manifest:
    if source.chance(0.08):
        made: cluster.Manifest = {"operator": "Exists"}
    else:
        made = {"key": source.pick(_KEYS)}
        operator = source.pick(("Equal", "Exists", ""))
        if operator:
            made["operator"] = operator
        value = source.pick(_VALUES)
        if operator != "Exists" and value:
            made["value"] = value
    if source.chance(0.6):
        made["effect"] = source.pick(_EFFECTS)
    if made.get("effect") == "NoExecute" and source.chance(0.5):
        made["tolerationSeconds"] = 300
    return made
