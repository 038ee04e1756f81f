"""Spreading over topologies: PodTopologySpread, its default constraints included."""

from __future__ import annotations

from tests.conformance.generate import cluster, conditions, draw

_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_OWNERS = (
    ("Service", "v1"),
    ("ReplicaSet", "apps/v1"),
    ("ReplicationController", "v1"),
    ("StatefulSet", "apps/v1"),
)


def shape(found: cluster.Cluster) -> None:
    """Give pods constraints of their own, or owners whose selectors default ones take."""
    source = found.draw
    if source.chance(0.6):
        cluster.complete_topologies(found)
    for pod in found.pods:
        if source.chance(0.7):
            pod["spec"]["topologySpreadConstraints"] = constraints(source)
    if source.chance(0.5):
        _own(found)
    if source.chance(0.35):
        found.plugin_config["PodTopologySpread"] = _args(source)
    if source.chance(0.4):
        _exclude_nodes(found)


def constraints(source: draw.Draw) -> list[cluster.Manifest]:
    """Return constraints, each topology key and action once."""
    made = source.many(1, source.pick((1, 1, 3)), lambda: _constraint(source))
    return list({(c["topologyKey"], c["whenUnsatisfiable"]): c for c in made}.values())


def _constraint(source: draw.Draw) -> cluster.Manifest:
    made: cluster.Manifest = {
        "maxSkew": source.pick((1, 1, 2, 3, 10)),
        "topologyKey": source.pick(cluster.TOPOLOGY_KEYS),
        "whenUnsatisfiable": source.pick(_ACTIONS),
    }
    selector = conditions.label_selector(source)
    if source.chance(0.4):
        selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    if selector is not None:
        made["labelSelector"] = selector
    if made["whenUnsatisfiable"] == "DoNotSchedule" and source.chance(0.35):
        made["minDomains"] = source.pick((1, 2, 3, 4))
    if source.chance(0.35):
        made["nodeAffinityPolicy"] = source.pick(("Honor", "Ignore"))
    if source.chance(0.35):
        made["nodeTaintsPolicy"] = source.pick(("Honor", "Ignore"))
    if source.chance(0.25) and selector is not None:
        made["matchLabelKeys"] = source.some(("version", "absent-from-pods", "tier"), 1, 2)
    return made


def _own(found: cluster.Cluster) -> None:
    """Add services and controllers, and let pods name some of them as their owners."""
    source = found.draw
    for number in range(source.number(1, 5)):
        kind, version = source.pick(_OWNERS)
        selector = {
            key: source.pick(cluster.POD_LABELS[key])
            for key in source.some(tuple(cluster.POD_LABELS), 1, 2)
        }
        is_plain = kind in ("Service", "ReplicationController")
        name = f"owner-{number}"
        spec: cluster.Manifest = {"selector": selector if is_plain else {"matchLabels": selector}}
        if not is_plain and source.chance(0.2):
            spec = {"selector": conditions.label_selector(source, absent=0)}
        if kind == "Service" and source.chance(0.1):
            spec = {}
        metadata = {"name": name, "namespace": source.pick(cluster.NAMESPACES[:2]), "uid": name}
        found.others.append(
            {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
        )
        reference = {"apiVersion": version, "kind": kind, "name": name, "uid": name}
        _refer(found, reference)


def _refer(found: cluster.Cluster, reference: cluster.Manifest) -> None:
    if reference["kind"] == "Service":
        return
    for pod in found.pods:
        if found.draw.chance(0.3):
            owner = {**reference, "controller": found.draw.chance(0.9)}
            pod["metadata"]["ownerReferences"] = [owner]


def _args(source: draw.Draw) -> cluster.Manifest:
    if source.chance(0.2):
        return {"defaultingType": "System"}
    made = source.many(0, 3, lambda: _default(source))
    unique = {(c["topologyKey"], c["whenUnsatisfiable"]): c for c in made}
    return {"defaultingType": "List", "defaultConstraints": list(unique.values())}


def _default(source: draw.Draw) -> cluster.Manifest:
    return {
        "maxSkew": source.pick((1, 2, 5)),
        "topologyKey": source.pick(cluster.TOPOLOGY_KEYS),
        "whenUnsatisfiable": source.pick(_ACTIONS),
    }


def _exclude_nodes(found: cluster.Cluster) -> None:
    """Give inclusion policies something to decide: taints, node selectors, node affinity."""
    source = found.draw
    for node in found.nodes:
        if source.chance(0.4):
            effect = source.pick(("NoSchedule", "NoExecute", "PreferNoSchedule"))
            node["spec"]["taints"] = [{"key": "dedicated", "value": "a", "effect": effect}]
        if source.chance(0.1):
            node["spec"]["unschedulable"] = True
    names = [node["metadata"]["name"] for node in found.nodes]
    for pod in found.pods:
        if source.chance(0.3):
            pod["spec"]["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        if source.chance(0.3):
            pod["spec"]["nodeSelector"] = {"disk": source.pick(("ssd", "hdd"))}
        elif source.chance(0.3):
            terms = source.many(1, 2, lambda: conditions.node_term(source, names))
            required = {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
            }
            pod["spec"].setdefault("affinity", {})["nodeAffinity"] = required
