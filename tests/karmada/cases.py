"""Control planes made at random: clusters and bindings that both schedulers decide about."""

from __future__ import annotations

from typing import Any

from tests.conformance.generate import draw

Object = dict[str, Any]

_PROVIDERS = ("aws", "azure", "gcp", "")
_REGIONS = ("eu", "us", "asia", "af", "")
_ZONES = ("a", "b", "c")
_LABELS = {"tier": ("gold", "silver"), "env": ("prod", "test"), "rank": ("1", "5", "10", "x")}
_TAINTS = ("dedicated", "maintenance", "cluster.karmada.io/not-ready")
_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_KINDS = (("apps/v1", "Deployment"), ("batch/v1", "Job"), ("v1", "ConfigMap"))
_TIMES = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")

BINDINGS = 8
"""In every control plane."""


def control_plane(seed: str, *, has_groups: bool = False, has_components: bool = False) -> Object:
    """Return a v1 List of clusters and bindings, with groups or components if wanted."""
    d = draw.Draw(seed)
    # Go's sort is not stable on more than 12 ties, so there are never more candidates.
    clusters = [_cluster(d, f"m{i:02d}") for i in range(d.number(0 if d.chance(0.02) else 1, 12))]
    names = [cluster["metadata"]["name"] for cluster in clusters]
    bindings = [_binding(d, names, number) for number in range(BINDINGS)]
    if has_groups:
        for binding in bindings:
            binding["spec"] |= _groups(d)
    if has_components:
        for binding in bindings:
            _add_components(d, binding["spec"])
    return {"apiVersion": "v1", "kind": "List", "items": [*clusters, *bindings]}


# --- clusters ------------------------------------------------------------------------------------


def _cluster(d: draw.Draw, name: str) -> Object:
    spec: Object = {"syncMode": "Push"}
    for field, choices in (("provider", _PROVIDERS), ("region", _REGIONS)):
        if value := d.pick(choices):
            spec[field] = value
    if zones := d.some(_ZONES, 0, 2):
        spec["zones"] = zones
    if d.chance(0.25):
        spec["taints"] = d.many(1, 2, lambda: _taint(d))
    if d.chance(0.3):
        spec["resourceModels"] = _models(d)
    metadata: Object = {"name": name, "labels": _labels(d)}
    if d.chance(0.04):
        metadata |= {"deletionTimestamp": _TIMES[0], "finalizers": ["karmada.io/x"]}
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": metadata,
        "spec": spec,
        "status": _status(d),
    }


def _labels(d: draw.Draw) -> Object:
    return {key: d.pick(values) for key, values in _LABELS.items() if d.chance(0.7)}


def _taint(d: draw.Draw) -> Object:
    taint = {"key": d.pick(_TAINTS), "effect": d.pick(_EFFECTS)}
    return taint | ({"value": d.pick(("web", "db"))} if d.chance(0.5) else {})


def _models(d: draw.Draw) -> list[Object]:
    return [
        {
            "grade": grade,
            "ranges": [
                {"name": "cpu", "min": str(grade), "max": str(grade + 1)},
                {"name": "memory", "min": f"{4 * grade}Gi", "max": f"{4 * grade + 4}Gi"},
            ],
        }
        for grade in range(d.number(1, 4))
    ]


def _status(d: draw.Draw) -> Object:
    kinds = [kind for kind in _KINDS if d.chance(0.92)]
    status: Object = {
        "apiEnablements": [
            {"groupVersion": version, "resources": [{"name": kind.lower() + "s", "kind": kind}]}
            for version, kind in kinds
        ]
    }
    if d.chance(0.9):
        status["resourceSummary"] = _summary(d)
    return status


def _summary(d: draw.Draw) -> Object:
    allocatable = {"cpu": d.pick(("4", "16", "2500m", "64")), "pods": d.pick(("10", "110", "500"))}
    if d.chance(0.85):
        allocatable["memory"] = d.pick(("8Gi", "64G", "100Gi"))
    if d.chance(0.3):
        allocatable["example.com/gpu"] = d.pick(("0", "2", "8"))
    summary: Object = {"allocatable": allocatable}
    for part in ("allocated", "allocating"):
        if d.chance(0.5):
            summary[part] = {"cpu": d.pick(("100m", "1", "3")), "pods": str(d.number(0, 12))}
        if d.chance(0.2):
            summary.setdefault(part, {})["memory"] = d.pick(("1Gi", "512Mi", "9G"))
    if d.chance(0.3):
        summary["allocatableModelings"] = d.many(
            1, 4, lambda: {"grade": d.number(0, 4), "count": d.number(0, 5)}
        )
    return summary


# --- bindings ------------------------------------------------------------------------------------


def _binding(d: draw.Draw, clusters: list[str], number: int) -> Object:
    version, kind = d.weighted({_KINDS[0]: 8, _KINDS[1]: 2, _KINDS[2]: 1})
    is_cluster_scoped = d.chance(0.15)
    name = f"app{number}"
    resource = {"apiVersion": version, "kind": kind, "name": name, "uid": d.pick(("", "a", "b"))}
    if not is_cluster_scoped:
        resource["namespace"] = "default"
    spec: Object = {"resource": resource, "placement": _placement(d, clusters)}
    spec |= _replicas(d, kind)
    if d.chance(0.5):
        spec["clusters"] = _targets(d, clusters)
    if d.chance(0.12) and clusters:
        spec["gracefulEvictionTasks"] = [{"fromCluster": n} for n in d.some(clusters, 1, 2)]
    if d.chance(0.25):
        spec["rescheduleTriggeredAt"] = d.pick(_TIMES)
    metadata: Object = {
        "name": f"{name}-{kind.lower()}",
        "labels": {"propagationpolicy.karmada.io/permanent-id": "x"},
    }
    if is_cluster_scoped:
        return _object("ClusterResourceBinding", metadata, spec, d)
    return _object("ResourceBinding", metadata | {"namespace": "default"}, spec, d)


def _object(kind: str, metadata: Object, spec: Object, d: draw.Draw) -> Object:
    status: Object = {}
    if d.chance(0.4):
        status["schedulerObservingAffinityName"] = d.pick(("first", "second", "gone"))
    if d.chance(0.4):
        status["lastScheduledTime"] = d.pick(_TIMES)
    version = "work.karmada.io/v1alpha2"
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def _replicas(d: draw.Draw, kind: str) -> Object:
    if kind == "ConfigMap":
        return {}
    said: Object = {"replicas": d.weighted({0: 1, 1: 2, 2: 2, 5: 3, 10: 3, 37: 2, 150: 1})}
    if d.chance(0.75):
        requests = {"cpu": d.pick(("100m", "1", "2500m", "0"))}
        if d.chance(0.5):
            requests["memory"] = d.pick(("128Mi", "1G", "3Gi"))
        if d.chance(0.1):
            requests["example.com/gpu"] = "1"
        said["replicaRequirements"] = {"resourceRequest": requests} if d.chance(0.95) else {}
    return said


def _groups(d: draw.Draw) -> Object:
    groups = {
        field: d.pick(("x", "y"))
        for field in ("affinityGroup", "antiAffinityGroup")
        if d.chance(0.4)
    }
    return {"workloadAffinityGroups": groups} if groups else {}


def _add_components(d: draw.Draw, spec: Object) -> None:
    """Make most bindings workloads of several components, most of these for one cluster."""
    if d.chance(0.85):
        spec["components"] = [_component(d, f"c{i}") for i in range(d.number(1, 3))]
        if d.chance(0.7):
            spec.pop("replicas", None)
            spec.pop("replicaRequirements", None)
    if "placement" in spec and d.chance(0.8):
        one = {"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}
        others = spec["placement"].get("spreadConstraints", [])
        spec["placement"]["spreadConstraints"] = [
            one,
            *(each for each in others if each["spreadByField"] != "cluster"),
        ]


def _component(d: draw.Draw, name: str) -> Object:
    component: Object = {"name": name, "replicas": d.weighted({0: 1, 1: 4, 2: 3, 7: 1})}
    if d.chance(0.85):
        requests = {"cpu": d.pick(("100m", "1", "2500m", "0"))}
        if d.chance(0.5):
            requests["memory"] = d.pick(("128Mi", "1G", "3Gi"))
        if d.chance(0.1):
            requests["example.com/gpu"] = "1"
        component["replicaRequirements"] = {"resourceRequest": requests}
    return component


def _targets(d: draw.Draw, clusters: list[str]) -> list[Object]:
    names = d.some([*clusters, "gone"], 0, 4)
    return [
        {"name": n, "replicas": d.pick((1, 2, 3, 8, 20))} if d.chance(0.9) else {"name": n}
        for n in names
    ]


def _placement(d: draw.Draw, clusters: list[str]) -> Object:
    placement: Object = {}
    match d.weighted({"none": 3, "one": 4, "many": 3}):
        case "one":
            placement["clusterAffinity"] = _affinity(d, clusters)
        case "many":
            names = ("first", "second", "third")
            placement["clusterAffinities"] = [
                _term(d, name, clusters) for name in names[: d.number(1, 3)]
            ]
        case _:
            pass
    if d.chance(0.3):
        placement["clusterTolerations"] = d.many(1, 2, lambda: _toleration(d))
    if d.chance(0.45):
        placement["spreadConstraints"] = _constraints(d)
    if d.chance(0.85):
        placement["replicaScheduling"] = _scheduling(d, clusters)
    return placement


def _affinity(d: draw.Draw, clusters: list[str]) -> Object:
    affinity: Object = {}
    if d.chance(0.5):
        affinity["labelSelector"] = _label_selector(d)
    if d.chance(0.3):
        affinity["fieldSelector"] = {"matchExpressions": d.many(0, 2, lambda: _field(d))}
    if d.chance(0.35):
        affinity["clusterNames"] = d.some([*clusters, "gone"], 0, 8)
    if d.chance(0.2):
        affinity["exclude"] = d.some([*clusters, "gone"], 1, 2)
    return affinity


def _term(d: draw.Draw, name: str, clusters: list[str]) -> Object:
    term = _affinity(d, clusters) | {"affinityName": name}
    if d.chance(0.35):
        term["overflowAffinities"] = [
            _affinity(d, clusters) | {"affinityName": f"overflow-{i}"}
            for i in range(d.number(0, 2))
        ]
    return term


def _label_selector(d: draw.Draw) -> Object:
    if d.chance(0.5):
        key = d.pick(list(_LABELS))
        return {"matchLabels": {key: d.pick(_LABELS[key])}}
    return {"matchExpressions": d.many(0, 2, lambda: _label_requirement(d))}


def _label_requirement(d: draw.Draw) -> Object:
    key = d.pick(list(_LABELS))
    operator = d.pick(("In", "NotIn", "Exists", "DoesNotExist"))
    values = d.some(_LABELS[key], 1, 2) if operator in ("In", "NotIn") else []
    if d.chance(0.03):
        operator = "Wrong"
    return {"key": key, "operator": operator} | ({"values": values} if values else {})


def _field(d: draw.Draw) -> Object:
    key, choices = d.pick(
        (("provider", _PROVIDERS[:3]), ("region", _REGIONS[:4]), ("zone", _ZONES))
    )
    operator = d.pick(("In", "NotIn", "Exists", "DoesNotExist", "Gt"))
    values = d.some(choices, 1, 2) if operator in ("In", "NotIn") else []
    return {"key": key, "operator": operator} | ({"values": values} if values else {})


def _toleration(d: draw.Draw) -> Object:
    toleration: Object = {"operator": d.pick(("Exists", "Equal", "", "Gt"))}
    if toleration["operator"] != "Exists" or d.chance(0.7):
        toleration["key"] = d.pick(_TAINTS)
    if toleration["operator"] != "Exists":
        toleration["value"] = d.pick(("web", "db", "3", ""))
    if d.chance(0.4):
        toleration["effect"] = d.pick(_EFFECTS)
    return toleration


def _constraints(d: draw.Draw) -> list[Object]:
    fields = d.weighted(
        {
            ("cluster",): 6,
            ("region", "cluster"): 6,
            ("zone", "cluster"): 1,
            ("provider",): 1,
            ("provider", "region", "cluster"): 1,
            ("region",): 1,
        }
    )
    return [_constraint(d, field) for field in d.shuffled(fields)]


def _constraint(d: draw.Draw, field: str) -> Object:
    least = d.number(1, 3)
    most = 0 if d.chance(0.05) else d.number(least, least + 3)
    return {"spreadByField": field, "minGroups": least, "maxGroups": most}


def _scheduling(d: draw.Draw, clusters: list[str]) -> Object:
    if d.chance(0.25):
        return {"replicaSchedulingType": "Duplicated"}
    if d.chance(0.03):
        return {"replicaSchedulingType": "Divided", "replicaDivisionPreference": ""}
    if d.chance(0.35):
        return {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    scheduling: Object = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
    }
    match d.weighted({"unset": 1, "empty": 1, "static": 4, "dynamic": 5, "both": 1}):
        case "unset":
            return scheduling
        case "empty":
            preference: Object = {}
        case "static":
            preference = {"staticWeightList": _weights(d, clusters)}
        case "dynamic":
            preference = {"dynamicWeight": "AvailableReplicas"}
        case _:
            preference = {
                "staticWeightList": _weights(d, clusters),
                "dynamicWeight": "AvailableReplicas",
            }
    return scheduling | {"weightPreference": preference}


def _weights(d: draw.Draw, clusters: list[str]) -> list[Object]:
    return d.many(1, 4, lambda: {"targetCluster": _affinity(d, clusters), "weight": d.number(1, 9)})
