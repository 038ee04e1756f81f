"""Compute node selector terms of volumes and of storage classes.

Sources: component-helpers `storage/volume/helpers.go` (CheckNodeAffinity),
`pkg/apis/core/v1/helper` (MatchTopologySelectorTerms), csi-translation-lib
`plugins/in_tree_volume.go` (translateTopologyFromInTreeToCSI).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from policysched.cluster.objects import objects, selectors, storage_objects
from policysched.cluster.pods import node_terms
from policysched.plugins.kernels import node_rows

_ZONE = "topology.kubernetes.io/zone"
_REGION = "topology.kubernetes.io/region"
_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION = "failure-domain.beta.kubernetes.io/region"
_ZONES_DELIMITER = "__"

AWS_EBS = "kubernetes.io/aws-ebs"
GCE_PD = "kubernetes.io/gce-pd"
CINDER = "kubernetes.io/cinder"
_CSI_ZONES = {
    AWS_EBS: "topology.ebs.csi.aws.com/zone",
    GCE_PD: "topology.gke.io/zone",
    CINDER: "topology.cinder.csi.openstack.org/zone",
}
"""In-tree plugin → the topology label that its CSI driver uses instead of the zone."""


def make_reachable_node_terms(volume: storage_objects.PersistentVolume) -> node_rows.Terms:
    """Return the terms of the nodes that can access a volume; None for all nodes."""
    affinity = volume.spec.node_affinity
    return None if affinity is None else _make_selector_terms(affinity.required)


def _make_selector_terms(selector: objects.NodeSelector | None) -> node_rows.Terms:
    if selector is None:
        return None
    return tuple(
        _make_selector_term(term)
        for term in selector.node_selector_terms
        if not _is_empty_term(term)
    )


def _make_selector_term(term: objects.NodeSelectorTerm) -> node_terms.NodeTerm:
    """Convert a node selector term of a volume to its canonical form.

    kube-scheduler matches the affinity of volumes only against node labels, so valid field
    requirements are ignored.
    """
    if not all(f.operator in ("In", "NotIn") and len(f.values) == 1 for f in term.match_fields):
        return node_terms.NodeTerm(selectors.NOTHING)
    return node_terms.NodeTerm(node_terms.make_node_term(term).labels)


def _is_empty_term(term: objects.NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def make_allowed_topology_terms(storage_class: storage_objects.StorageClass) -> node_rows.Terms:
    """Return the terms of the nodes for which a class provisions volumes; None for all nodes."""
    terms = storage_class.allowed_topologies
    if not terms:
        return None
    return tuple(
        _make_allowed_topology_term(term) for term in terms if term.match_label_expressions
    )


def _make_allowed_topology_term(term: storage_objects.TopologyTerm) -> node_terms.NodeTerm:
    expressions = tuple(
        objects.SelectorRequirement(key=e.key, operator="In", values=e.values)
        for e in term.match_label_expressions
    )
    selector = objects.LabelSelector(match_expressions=expressions)
    return node_terms.NodeTerm(selectors.from_label_selector(selector))


# --- in-tree volumes that a CSI driver replaces ---------------------------------------------------


def find_in_tree_plugin(volume: storage_objects.PersistentVolume) -> str | None:
    """Return the in-tree plugin of a volume if its CSI driver uses a different zone label."""
    spec = volume.spec
    if spec.aws_elastic_block_store is not None:
        return AWS_EBS
    if spec.gce_persistent_disk is not None:
        return GCE_PD
    return CINDER if spec.cinder is not None else None


def is_in_tree_plugin_migrated(plugin: str, csi_node: storage_objects.CSINode) -> bool:
    """Return whether a CSI driver replaces an in-tree plugin on a node."""
    listed = csi_node.metadata.annotations.get(storage_objects.MIGRATED_PLUGINS, "")
    return plugin in listed.split(",")


def make_csi_reachable_terms(
    volume: storage_objects.PersistentVolume, plugin: str
) -> node_rows.Terms:
    """Return the terms of a volume for nodes on which a CSI driver replaces `plugin`."""
    key = _CSI_ZONES[plugin]
    affinity = volume.spec.node_affinity
    required = None if affinity is None else affinity.required
    zone, region = _choose_topology_label_keys(volume, required)
    if any(expression.values for expression in _list_expressions_on_key(required, zone)):
        required = _rename_label_key(required, zone, key)
    elif zone in volume.metadata.labels:
        required = _add_zone_requirements(required, key, volume.metadata.labels[zone])
    if region == _BETA_REGION:
        required = _rename_label_key(required, region, _REGION)
    return _make_selector_terms(required)


def _choose_topology_label_keys(
    volume: storage_objects.PersistentVolume, required: objects.NodeSelector | None
) -> tuple[str, str]:
    """Return the keys of the zone and region labels of a volume: current or beta."""
    if any(_list_expressions_on_key(required, _ZONE)):
        return _ZONE, _REGION
    if any(_list_expressions_on_key(required, _BETA_ZONE)):
        return _BETA_ZONE, _BETA_REGION
    if _ZONE not in volume.metadata.labels and _BETA_ZONE in volume.metadata.labels:
        return _BETA_ZONE, _BETA_REGION
    return _ZONE, _REGION


def _list_expressions_on_key(
    required: objects.NodeSelector | None, key: str
) -> Iterator[objects.SelectorRequirement]:
    for term in required.node_selector_terms if required else ():
        yield from (e for e in term.match_expressions if e.key == key)


def _rename_label_key(
    required: objects.NodeSelector | None, old_key: str, new_key: str
) -> objects.NodeSelector | None:
    """Return the selector with the key renamed in all label expressions."""
    if required is None:
        return None
    terms = tuple(
        msgspec.structs.replace(
            term,
            match_expressions=tuple(
                msgspec.structs.replace(e, key=new_key) if e.key == old_key else e
                for e in term.match_expressions
            ),
        )
        for term in required.node_selector_terms
    )
    return objects.NodeSelector(node_selector_terms=terms)


def _add_zone_requirements(
    required: objects.NodeSelector | None, key: str, label: str
) -> objects.NodeSelector | None:
    """Require the zones of a label, such as `a__b`, in each term."""
    zones = sorted({zone.strip() for zone in label.split(_ZONES_DELIMITER)} - {""})
    if not zones:
        return required
    added = objects.SelectorRequirement(key=key, operator="In", values=tuple(zones))
    terms = (required.node_selector_terms if required else ()) or (objects.NodeSelectorTerm(),)
    return objects.NodeSelector(
        node_selector_terms=tuple(
            msgspec.structs.replace(term, match_expressions=(*term.match_expressions, added))
            for term in terms
        )
    )
