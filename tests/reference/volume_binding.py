"""What VolumeBinding says of one pod and one node, and what the pod's claims would get there."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from policysched import quantity
from policysched.cluster.objects import objects, storage_objects
from tests.reference.cluster import Labels, matches_expressions, matches_selector
from tests.reference.single_node import NEVER, Answer

ERROR = "Error"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"
IN_TREE = {
    "aws_elastic_block_store": ("kubernetes.io/aws-ebs", "topology.ebs.csi.aws.com/zone"),
    "gce_persistent_disk": ("kubernetes.io/gce-pd", "topology.gke.io/zone"),
    "cinder": ("kubernetes.io/cinder", "topology.cinder.csi.openstack.org/zone"),
}
Volume = storage_objects.PersistentVolume
Claim = storage_objects.PersistentVolumeClaim


@dataclasses.dataclass
class Stored:
    """Storage objects by name; claims by namespace and name."""

    volumes: dict[str, Volume] = dataclasses.field(default_factory=dict)
    claims: dict[tuple[str, str], Claim] = dataclasses.field(default_factory=dict)
    classes: dict[str, storage_objects.StorageClass] = dataclasses.field(default_factory=dict)
    csi_nodes: dict[str, storage_objects.CSINode] = dataclasses.field(default_factory=dict)
    drivers: dict[str, storage_objects.CSIDriver] = dataclasses.field(default_factory=dict)
    capacities: dict[str, storage_objects.CSIStorageCapacity] = dataclasses.field(
        default_factory=dict
    )


@dataclasses.dataclass
class Found:
    """What the claims of a pod get on a node."""

    bindings: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    provisions: list[str] = dataclasses.field(default_factory=list)


# --- before any node ------------------------------------------------------------------------------


def claim_names(pod: objects.Pod) -> list[tuple[str, bool]]:
    """Return the claims of a pod, and whether each is of an ephemeral volume."""
    names = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            names.append((volume.persistent_volume_claim.claim_name, False))
        elif volume.ephemeral is not None:
            names.append((f"{pod.metadata.name}-{volume.name}", True))
    return names


def pre_filter(pod: objects.Pod, stored: Stored) -> Answer:
    """Return why the pod fits on no node, None if it may fit on some."""
    for name, is_ephemeral in claim_names(pod):
        problem = claim_problem(pod, name, stored, is_ephemeral=is_ephemeral)
        if problem:
            return NEVER, (problem,)
    immediate = False
    for name, _ in claim_names(pod):
        claim = stored.claims[pod.metadata.namespace, name]
        if is_bound(claim):
            continue
        storage_class = stored.classes.get(claim.class_name)
        if storage_class is not None and storage_class.volume_binding_mode is None:
            text = f'VolumeBindingMode not set for StorageClass "{claim.class_name}"'
            return ERROR, (text,)
        waits = storage_class is not None and (
            storage_class.volume_binding_mode == "WaitForFirstConsumer"
        )
        immediate = immediate or not waits or claim.spec.volume_name != ""
    if immediate:
        return NEVER, ("pod has unbound immediate PersistentVolumeClaims",)
    return None


def claim_problem(pod: objects.Pod, name: str, stored: Stored, *, is_ephemeral: bool) -> str:
    """Return why a claim cannot be used at all."""
    namespace = pod.metadata.namespace
    claim = stored.claims.get((namespace, name))
    if claim is None and is_ephemeral:
        waiting = "waiting for ephemeral volume controller to create the"
        return f'{waiting} persistentvolumeclaim "{name}"'
    if claim is None:
        return f'persistentvolumeclaim "{name}" not found'
    if claim.status.phase == "Lost":
        gone = f'bound to non-existent persistentvolume "{claim.spec.volume_name}"'
        return f'persistentvolumeclaim "{name}" {gone}'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{name}" is being deleted'
    owners = [o.uid for o in claim.metadata.owner_references if o.controller]
    if is_ephemeral and owners != [pod.metadata.uid]:
        return f"PVC {namespace}/{name} was not created for pod {pod.key} (pod is not owner)"
    return ""


def is_bound(claim: Claim) -> bool:
    """Return whether a claim has its volume for good."""
    marked = "pv.kubernetes.io/bind-completed" in claim.metadata.annotations
    return claim.spec.volume_name != "" and marked


# --- one node ------------------------------------------------------------------------------------


def filter_node(pod: objects.Pod, node: objects.Node, stored: Stored) -> tuple[Answer, Found]:
    """Return why the pod does not fit on the node, and what its claims get if it does."""
    claims = [stored.claims[pod.metadata.namespace, name] for name, _ in claim_names(pod)]
    reasons = []
    bound = check_bound([c for c in claims if is_bound(c)], node, stored)
    if bound == "conflict":
        reasons.append("node(s) didn't match PersistentVolume's node affinity")
    unbound, found = find_volumes([c for c in claims if not is_bound(c)], node, stored)
    if unbound == "conflict":
        reasons.append("node(s) didn't find available persistent volumes to bind")
    if unbound == "space":
        reasons.append("node(s) did not have enough free storage")
    if bound == "gone":
        reasons.append("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")
    return ((NEVER, tuple(reasons)) if reasons else None), found


def check_bound(claims: list[Claim], node: objects.Node, stored: Stored) -> str:
    """Return what is wrong with the first bound claim with which something is."""
    for claim in claims:
        volume = stored.volumes.get(claim.spec.volume_name)
        if volume is None:
            return "gone"
        if not reaches(migrated(volume, node, stored), node.metadata.labels):
            return "conflict"
    return ""


def reaches(volume: Volume, labels: Labels) -> bool:
    """Return whether a node with these labels can reach a volume."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    for term in affinity.required.node_selector_terms:
        if not term.match_expressions and not term.match_fields:
            continue
        if any(len(f.values) != 1 or f.operator not in ("In", "NotIn") for f in term.match_fields):
            continue
        if matches_expressions(term.match_expressions, labels):
            return True
    return False


def migrated(volume: Volume, node: objects.Node, stored: Stored) -> Volume:
    """Return an in-tree volume as the CSI driver sees it, where one stands in on the node."""
    csi_node = stored.csi_nodes.get(node.name)
    if csi_node is None:
        return volume
    listed = csi_node.metadata.annotations.get("storage.alpha.kubernetes.io/migrated-plugins", "")
    for field, (plugin, key) in IN_TREE.items():
        if getattr(volume.spec, field) is not None and plugin in listed.split(","):
            return with_csi_zones(volume, key)
    return volume


def with_csi_zones(volume: Volume, key: str) -> Volume:
    """Return a volume whose zone is a label of the driver."""
    given: Sequence[objects.NodeSelectorTerm] = ()
    if volume.spec.node_affinity is not None and volume.spec.node_affinity.required is not None:
        given = volume.spec.node_affinity.required.node_selector_terms
    terms = [[(e.key, e.operator, e.values) for e in t.match_expressions] for t in given]
    keys = {e[0] for term in terms for e in term}
    labels = volume.metadata.labels
    is_old = ZONE not in keys and (OLD_ZONE in keys or (ZONE not in labels and OLD_ZONE in labels))
    zone = OLD_ZONE if is_old else ZONE
    if any(e[0] == zone and e[2] for term in terms for e in term):
        terms = [[(key if e[0] == zone else e[0], *e[1:]) for e in term] for term in terms]
    elif zone in labels:
        zones = tuple(sorted({z.strip() for z in labels[zone].split("__")} - {""}))
        if zones:
            terms = [[*term, (key, "In", zones)] for term in terms or [[]]]
    if is_old:
        terms = [[(REGION if e[0] == OLD_REGION else e[0], *e[1:]) for e in t] for t in terms]
    selector = objects.NodeSelector(
        node_selector_terms=tuple(
            objects.NodeSelectorTerm(
                match_expressions=tuple(
                    objects.SelectorRequirement(key=k, operator=o, values=v) for k, o, v in term
                ),
                match_fields=given[index].match_fields if given else (),
            )
            for index, term in enumerate(terms)
        )
    )
    affinity = storage_objects.VolumeNodeAffinity(required=selector) if terms else None
    if not terms:
        affinity = volume.spec.node_affinity
    return Volume(
        metadata=volume.metadata,
        spec=storage_objects.PersistentVolumeSpec(node_affinity=affinity),
    )


def find_volumes(claims: list[Claim], node: objects.Node, stored: Stored) -> tuple[str, Found]:
    """Return what is wrong with the claims that have no volume yet, else what they get."""
    found = Found()
    to_provision, to_match = [], []
    for claim in claims:
        selected = claim.metadata.annotations.get("volume.kubernetes.io/selected-node")
        if selected is None:
            to_match.append(claim)
        elif selected != node.name:
            return "conflict", found
        else:
            to_provision.append(claim)
    taken: set[str] = set()
    for claim in sorted(to_match, key=size):
        volume = match(claim, node, taken, stored)
        if volume is None:
            to_provision.append(claim)
        else:
            taken.add(volume.metadata.name)
            found.bindings.append((volume.metadata.name, claim.metadata.name))
    for claim in to_provision:
        problem = provision_problem(claim, node, stored)
        if problem:
            return problem, found
        found.provisions.append(claim.metadata.name)
    return "", found


def size(item: Volume | Claim) -> float:
    """Return how large a volume is, or a claim wants it to be."""
    if isinstance(item, Volume):
        return float(quantity.parse_quantity(str(item.spec.capacity.get("storage", 0))))
    return float(quantity.parse_quantity(str(item.spec.resources.requests.get("storage", 0))))


def match(claim: Claim, node: objects.Node, taken: set[str], stored: Stored) -> Volume | None:
    """Return the existing volume that a claim gets."""
    best: Volume | None = None
    for _, volume in sorted(stored.volumes.items()):
        if volume.metadata.name in taken or not suits(volume, claim):
            continue
        can_reach = reaches(volume, node.metadata.labels)
        reference = volume.spec.claim_ref
        if reference is not None and is_for(reference, claim):
            return volume if can_reach else None
        if not can_reach or not is_free(volume, claim):
            continue
        if best is None or size(volume) < size(best):
            best = volume
    return best


def suits(volume: Volume, claim: Claim) -> bool:
    """Return whether a volume is what a claim asks for, promised to it or not."""
    attributes = volume.spec.volume_attributes_class_name or ""
    return (
        volume.class_name == claim.class_name
        and size(volume) >= size(claim)
        and volume.metadata.deletion_timestamp is None
        and (volume.spec.volume_mode or "Filesystem") == (claim.spec.volume_mode or "Filesystem")
        and attributes == (claim.spec.volume_attributes_class_name or "")
    )


def is_free(volume: Volume, claim: Claim) -> bool:
    """Return whether a claim may take a volume that is promised to nobody."""
    if volume.spec.claim_ref is not None or volume.status.phase != "Available":
        return False
    selector = claim.spec.selector
    if selector is not None and not matches_selector(selector, volume.metadata.labels):
        return False
    return all(mode in volume.spec.access_modes for mode in claim.spec.access_modes)


def is_for(reference: storage_objects.ClaimReference, claim: Claim) -> bool:
    """Return whether a claimRef is about a claim."""
    meta = claim.metadata
    names_match = (reference.namespace, reference.name) == (meta.namespace, meta.name)
    return names_match and reference.uid in ("", meta.uid)


def provision_problem(claim: Claim, node: objects.Node, stored: Stored) -> str:
    """Return why no volume can be made for a claim."""
    storage_class = stored.classes[claim.class_name]
    provisioner = storage_class.provisioner
    if provisioner in ("", "kubernetes.io/no-provisioner"):
        return "conflict"
    terms = storage_class.allowed_topologies
    if terms and not any(allows(term, node.metadata.labels) for term in terms):
        return "conflict"
    driver = stored.drivers.get(provisioner)
    if driver is None or not driver.spec.storage_capacity:
        return ""
    if "storage" not in claim.spec.resources.requests:
        return ""
    for capacity in stored.capacities.values():
        limit = capacity.maximum_volume_size or capacity.capacity
        if capacity.storage_class_name != claim.class_name or limit is None:
            continue
        if quantity.parse_whole_units(limit) < quantity.parse_whole_units(
            claim.spec.resources.requests["storage"]
        ):
            continue
        if matches_selector(capacity.node_topology, node.metadata.labels):
            return ""
    return "space"


def allows(term: storage_objects.TopologyTerm, labels: Labels) -> bool:
    """Return whether a term allows nodes with these labels; an empty one allows none."""
    expressions = term.match_label_expressions
    return bool(expressions) and all(labels.get(e.key) in e.values for e in expressions)
