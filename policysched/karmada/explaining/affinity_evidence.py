"""Why the affinity of a placement does not select a cluster, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched import spelling
from policysched.cluster.objects import objects as node_objects
from policysched.karmada import cluster_matching
from policysched.karmada import objects as karmada_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from policysched.karmada import objects

_SHOWN = 5
_SIGNS = {"In": "=", "NotIn": "!="}


def describe_mismatch(
    cluster: objects.Cluster, affinities: Sequence[objects.ClusterAffinity]
) -> str:
    """Return which parts of each affinity the cluster does not match."""
    texts = (", and ".join(_list_mismatches(cluster, each)) for each in affinities)
    return "; or ".join(dict.fromkeys(text for text in texts if text))


def _list_mismatches(cluster: objects.Cluster, affinity: objects.ClusterAffinity) -> Iterator[str]:
    """Yield one text for each part that does not match, as `matches_cluster_affinity` has them."""
    name = cluster.metadata.name
    if name in affinity.exclude:
        yield f"excludes {name}"
    if affinity.cluster_names and name not in affinity.cluster_names:
        yield f"wants {_join(affinity.cluster_names)}"
    for each in _list_requirements(affinity.label_selector):
        selector = node_objects.LabelSelector(match_expressions=(each,))
        if not _matches(cluster, karmada_objects.ClusterAffinity(label_selector=selector)):
            yield _compare(each, [cluster.metadata.labels.get(each.key, "")], "label")
    for each in affinity.field_selector.match_expressions if affinity.field_selector else ():
        field = karmada_objects.FieldSelector((each,))
        if not _matches(cluster, karmada_objects.ClusterAffinity(field_selector=field)):
            yield _compare(each, _list_field_values(cluster, each.key), "field")


def _matches(cluster: objects.Cluster, affinity: objects.ClusterAffinity) -> bool:
    return cluster_matching.matches_cluster_affinity(cluster, affinity)


def _list_requirements(
    selector: node_objects.LabelSelector | None,
) -> list[node_objects.SelectorRequirement]:
    if selector is None:
        return []
    labels = selector.match_labels.items()
    equal = [node_objects.SelectorRequirement(key, "In", (value,)) for key, value in labels]
    return [*equal, *selector.match_expressions]


def _list_field_values(cluster: objects.Cluster, key: str) -> Sequence[str]:
    spec = cluster.spec
    if key == "zone":
        return spec.zones
    return [{"provider": spec.provider, "region": spec.region}.get(key, "")]


def _compare(wanted: node_objects.SelectorRequirement, has: Sequence[str], kind: str) -> str:
    own = _join([each for each in has if each]) or f"no such {kind}"
    sign = _SIGNS.get(wanted.operator)
    text = f"{sign} {_join(wanted.values)}" if sign else wanted.operator
    return f"wants {wanted.key} {text}, the cluster has {own}"


def _join(names: Iterable[str]) -> str:
    return spelling.join_some_names(list(names), _SHOWN)
