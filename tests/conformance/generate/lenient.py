"""Objects that an API server does not take today, but may hold: broken selectors, missing parts."""

from __future__ import annotations

from tests.conformance.generate import cluster, draw, pod_affinity

Manifest = cluster.Manifest
_BROKEN = (
    {"key": "app", "operator": "In"},
    {"key": "app", "operator": "Exists", "values": ["a"]},
    {"key": "app", "operator": "Near", "values": ["a"]},
    {"key": "app", "operator": "NotIn", "values": ["no label value!"]},
)
"""Elements of `matchExpressions` that kube-scheduler cannot parse."""


def shape(found: cluster.Cluster) -> None:
    """Break selectors of a few pods, and leave out what the API server fills in."""
    source = found.draw
    for pod in found.pods:
        if source.chance(0.1):
            _break_affinity(source, pod)
        if source.chance(0.1):
            _break_spread(source, pod["spec"])
        for volume in pod["spec"].get("volumes", ()):
            if "persistentVolumeClaim" in volume and source.chance(0.08):
                volume["persistentVolumeClaim"]["claimName"] = ""
            if "ephemeral" in volume and source.chance(0.2):
                volume["ephemeral"]["volumeClaimTemplate"]["spec"] = {}
    for made in found.others:
        if made["kind"] == "StorageClass" and source.chance(0.2):
            made.pop("volumeBindingMode")
        if made["kind"] == "PersistentVolume" and source.chance(0.1):
            made["spec"]["nodeAffinity"] = {}


def _break_affinity(source: draw.Draw, pod: Manifest) -> None:
    """Give a pod a term that cannot be parsed, required or preferred, of either sign."""
    term = pod_affinity.term(source, pod)
    selector = source.pick(("labelSelector", "namespaceSelector"))
    term[selector] = {"matchExpressions": [source.pick(_BROKEN)]}
    terms: Manifest = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    if source.chance(0.5):
        weighted = {"weight": 10, "podAffinityTerm": term}
        terms = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
    kind = source.pick(("podAffinity", "podAntiAffinity"))
    pod["spec"].setdefault("affinity", {})[kind] = terms


def _break_spread(source: draw.Draw, spec: Manifest) -> None:
    spec["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": source.pick(cluster.TOPOLOGY_KEYS),
            "whenUnsatisfiable": source.pick(("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": {"matchExpressions": [source.pick(_BROKEN)]},
        }
    ]
