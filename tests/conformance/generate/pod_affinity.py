"""Pods near pods and away from pods: InterPodAffinity."""

from __future__ import annotations

from tests.conformance.generate import cluster, conditions, draw

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def shape(found: cluster.Cluster) -> None:
    """Give placed and pending pods terms; sometimes change what placed pods' terms weigh."""
    source = found.draw
    if source.chance(0.5):
        cluster.complete_topologies(found)
    few = source.chance(0.3)
    for pod in found.pods:
        if not few or source.chance(0.25):
            _attract(source, pod)
    if source.chance(0.3):
        found.plugin_config["InterPodAffinity"] = {
            "hardPodAffinityWeight": source.pick((0, 1, 5, 100)),
            "ignorePreferredTermsOfExistingPods": source.chance(0.5),
        }


def _attract(source: draw.Draw, pod: cluster.Manifest) -> None:
    for kind, required, preferred in (
        ("podAffinity", 0.3, 0.35),
        ("podAntiAffinity", 0.25, 0.3),
    ):
        terms: cluster.Manifest = {}
        if source.chance(required):
            terms[_REQUIRED] = source.many(1, 2, lambda: term(source, pod))
        if source.chance(preferred):
            terms[_PREFERRED] = source.many(1, 3, lambda: _weighted(source, pod))
        if terms:
            pod["spec"].setdefault("affinity", {})[kind] = terms


def term(source: draw.Draw, pod: cluster.Manifest) -> cluster.Manifest:
    """Return a term; often it matches the pod that has it."""
    made: cluster.Manifest = {"topologyKey": source.pick(cluster.TOPOLOGY_KEYS)}
    selector = conditions.label_selector(source)
    labels = pod["metadata"]["labels"]
    if labels and source.chance(0.3):
        key = source.pick(sorted(labels))
        selector = {"matchLabels": {key: labels[key]}}
    if selector is not None:
        made["labelSelector"] = selector
        _match_keys(source, made)
    if source.chance(0.25):
        made["namespaces"] = source.some((*cluster.NAMESPACES, "gone"), 1, 2)
    if source.chance(0.25):
        made["namespaceSelector"] = conditions.namespace_selector(source)
    return made


def _weighted(source: draw.Draw, pod: cluster.Manifest) -> cluster.Manifest:
    weight = source.pick((1, 2, 10, 50, 100))
    return {"weight": weight, "podAffinityTerm": term(source, pod)}


def _match_keys(source: draw.Draw, made: cluster.Manifest) -> None:
    """Let the term match the pod's own value of a label, or every other value."""
    used = {e["key"] for e in made["labelSelector"].get("matchExpressions", ())}
    used |= set(made["labelSelector"].get("matchLabels", ()))
    free = [key for key in ("version", "tier") if key not in used]
    if free and source.chance(0.25):
        made[source.pick(("matchLabelKeys", "mismatchLabelKeys"))] = [source.pick(free)]
