"""Match member clusters against a ClusterAffinity.

Source: Karmada v1.18.2 `pkg/util/selector.go` (`ClusterMatches`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.cluster.objects import selectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.cluster.objects import objects as node_objects
    from policysched.karmada import objects

_ZONE = "zone"


def matches_cluster_affinity(cluster: objects.Cluster, affinity: objects.ClusterAffinity) -> bool:
    """Return whether the affinity selects the cluster."""
    name = cluster.metadata.name
    if name in affinity.exclude:
        return False
    if affinity.label_selector is not None:
        selector = selectors.from_label_selector(affinity.label_selector)
        if not selector.matches(cluster.metadata.labels):
            return False
    fields = affinity.field_selector
    if fields is not None and not _matches_fields(cluster.spec, fields.match_expressions):
        return False
    return not affinity.cluster_names or name in affinity.cluster_names


def _matches_fields(
    spec: objects.ClusterSpec, expressions: Sequence[node_objects.SelectorRequirement]
) -> bool:
    """Return whether the provider, region and zones satisfy all requirements."""
    zones_match = all(_matches_zones(e, spec.zones) for e in expressions if e.key == _ZONE)
    others = [selectors.from_requirement(e) for e in expressions if e.key != _ZONE]
    fields = {"provider": spec.provider, "region": spec.region}
    return zones_match and all(
        # A requirement that Kubernetes would reject matches nothing; "" means an absent field.
        r is not None and r.matches_value(fields.get(r.key) or None)
        for r in others
    )


def _matches_zones(expression: node_objects.SelectorRequirement, zones: Sequence[str]) -> bool:
    """Return whether the zones satisfy a requirement, as in Karmada."""
    overlap = any(zone in expression.values for zone in zones)
    match expression.operator:
        case "In":
            return overlap
        case "NotIn":
            return not overlap
        case "Exists":
            return bool(zones)
        case "DoesNotExist":
            return not zones
        case _:
            return False
