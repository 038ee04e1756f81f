"""Node selectors and node affinity: NodeAffinity, NodeName."""

from __future__ import annotations

from tests.conformance.generate import cluster, conditions, draw


def shape(found: cluster.Cluster) -> None:
    """Give pods selectors and affinity, and now and then the profile an affinity for all pods."""
    source = found.draw
    names = [node["metadata"]["name"] for node in found.nodes]
    for pod in found.pods:
        _select(source, pod["spec"], names)
    if source.chance(0.25):
        found.plugin_config["NodeAffinity"] = {"addedAffinity": _added(source, names)}


def _select(source: draw.Draw, spec: cluster.Manifest, names: list[str]) -> None:
    if source.chance(0.2):
        keys = source.some(tuple(cluster.NODE_LABELS), 1, 2)
        spec["nodeSelector"] = {key: source.pick(cluster.NODE_LABELS[key]) for key in keys}
    affinity: cluster.Manifest = {}
    if source.chance(0.55):
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = _required(source, names)
    if source.chance(0.6):
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = _preferred(source, names)
    if affinity or source.chance(0.05):
        spec.setdefault("affinity", {})["nodeAffinity"] = affinity


def _required(source: draw.Draw, names: list[str]) -> cluster.Manifest:
    """Return terms; some name nodes only, some contradict themselves, some cannot be parsed."""
    if source.chance(0.15):
        terms = source.many(1, 3, lambda: _by_name(source, names))
    else:
        terms = source.many(1, 3, lambda: conditions.node_term(source, names))
    if source.chance(0.06):
        terms.append(_unparsable(source))
    return {"nodeSelectorTerms": source.shuffled(terms)}


def _by_name(source: draw.Draw, names: list[str]) -> cluster.Manifest:
    fields = [
        {"key": "metadata.name", "operator": "In", "values": [source.pick([*names, "gone"])]}
        for _ in range(source.weighted({1: 4, 2: 2}))
    ]
    if source.chance(0.2):
        return {"matchFields": fields, "matchExpressions": [conditions.node_expression(source)]}
    return {"matchFields": fields}


def _unparsable(source: draw.Draw) -> cluster.Manifest:
    """Return a term that the API server lets pass and that matches nothing."""
    expression = source.pick(
        (
            {"key": "generation", "operator": "Gt", "values": ["many"]},
            {"key": "generation", "operator": "Lt", "values": ["99999999999999999999"]},
            {"key": "disk", "operator": "In", "values": ["no label value!"]},
        )
    )
    return {"matchExpressions": [expression]}


def _preferred(source: draw.Draw, names: list[str]) -> list[cluster.Manifest]:
    def term() -> cluster.Manifest:
        weight = source.pick((1, 2, 10, 50, 99, 100))
        is_broken = source.chance(0.01)
        preference = _unparsable(source) if is_broken else conditions.node_term(source, names)
        return {"weight": weight, "preference": preference}

    return source.many(1, 4, term)


def _added(source: draw.Draw, names: list[str]) -> cluster.Manifest:
    made: cluster.Manifest = {}
    if source.chance(0.7):
        terms = source.many(1, 2, lambda: _nonempty(source, names))
        made["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if not made or source.chance(0.5):
        made["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": source.pick((1, 30, 100)), "preference": _nonempty(source, names)}
        ]
    return made


def _nonempty(source: draw.Draw, names: list[str]) -> cluster.Manifest:
    term = conditions.node_term(source, names)
    return term or {"matchExpressions": [conditions.node_expression(source)]}
