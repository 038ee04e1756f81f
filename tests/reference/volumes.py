"""What VolumeRestrictions, NodeVolumeLimits and VolumeZone say of one pod and one node.

A PreFilter that rejects says so of every node here; one that skips passes every node.
"""

from __future__ import annotations

from policysched.cluster.objects import objects, storage_objects
from tests.reference.cluster import Cluster
from tests.reference.single_node import NEVER, NOT_NOW, Answer
from tests.reference.stored import Stored

ERROR = "Error"
ZONE_KEYS = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)


def claim_names(pod: objects.Pod) -> list[str]:
    """Return the claims that a pod names."""
    sources = [v.persistent_volume_claim for v in pod.spec.volumes]
    return [source.claim_name for source in sources if source is not None]


# --- VolumeRestrictions --------------------------------------------------------------------------


def share_no_disk(one: objects.Volume, other: objects.Volume) -> bool:
    """Return whether pods with these two volumes can be on one node."""
    if one.gce_persistent_disk and other.gce_persistent_disk:
        a, b = one.gce_persistent_disk, other.gce_persistent_disk
        if a.pd_name == b.pd_name and not (a.read_only and b.read_only):
            return False
    if one.aws_elastic_block_store and other.aws_elastic_block_store:
        return one.aws_elastic_block_store.volume_id != other.aws_elastic_block_store.volume_id
    if one.iscsi and other.iscsi:
        same_target = one.iscsi.iqn == other.iscsi.iqn
        return not same_target or (one.iscsi.read_only and other.iscsi.read_only)
    if one.rbd and other.rbd:
        same_monitor = set(one.rbd.monitors) & set(other.rbd.monitors)
        same_image = (one.rbd.pool, one.rbd.image) == (other.rbd.pool, other.rbd.image)
        if same_monitor and same_image and not (one.rbd.read_only and other.rbd.read_only):
            return False
    return True


def exclusive_claims(pod: objects.Pod, stored: Stored) -> set[str]:
    """Return the names of the pod's claims that are for one pod alone."""
    found = {name: stored.claims[pod.metadata.namespace, name] for name in claim_names(pod)}
    return {n for n, claim in found.items() if "ReadWriteOncePod" in claim.spec.access_modes}


def exclusive_claims_in_use(pod: objects.Pod, cluster: Cluster, stored: Stored) -> int:
    """Return how many of them some pod uses."""
    others = [p for p, _ in cluster.placed() if p.metadata.namespace == pod.metadata.namespace]
    used = {name for other in others for name in claim_names(other)}
    return len(used & exclusive_claims(pod, stored))


def volume_restrictions(
    pod: objects.Pod, node: objects.Node, cluster: Cluster, stored: Stored
) -> Answer:
    """VolumeRestrictions."""
    for name in claim_names(pod):
        if (pod.metadata.namespace, name) not in stored.claims:
            return NEVER, (f'persistentvolumeclaim "{name}" not found',)
    in_use = exclusive_claims_in_use(pod, cluster, stored)
    return disks_and_claims(pod, cluster.pods_on(node), is_in_use=in_use > 0)


def volume_restrictions_without(
    gone: list[objects.Pod], pod: objects.Pod, node: objects.Node, cluster: Cluster, stored: Stored
) -> Answer:
    """VolumeRestrictions if some pods of the node went, as kube-scheduler counts claims then.

    Each volume that names such a claim, of whatever namespace, is one use less; two pods that use
    the claim have counted once.
    """
    in_use = exclusive_claims_in_use(pod, cluster, stored)
    names = [name for other in gone for name in claim_names(other)]
    in_use -= len([name for name in names if name in exclusive_claims(pod, stored)])
    left = [other for other in cluster.pods_on(node) if other not in gone]
    return disks_and_claims(pod, left, is_in_use=in_use > 0)


def disks_and_claims(pod: objects.Pod, others: list[objects.Pod], *, is_in_use: bool) -> Answer:
    """Return what is wrong with a node that has other pods."""
    for other in others:
        for theirs in other.spec.volumes:
            if not all(share_no_disk(own, theirs) for own in pod.spec.volumes):
                return NOT_NOW, ("node(s) had no available disk",)
    if is_in_use:
        text = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        return NOT_NOW, (text + "already in-use by another pod",)
    return None


# --- VolumeZone ----------------------------------------------------------------------------------


def allowed_zones(volume: storage_objects.PersistentVolume) -> list[tuple[str, set[str]]]:
    """Return the zone and region labels of a volume, with the values that nodes may have."""
    found = []
    for key in ZONE_KEYS:
        if key in volume.metadata.labels:
            values = {part.strip() for part in volume.metadata.labels[key].split("__")}
            if "" not in values:
                found.append((key, values))
    return found


def unbound(claim: storage_objects.PersistentVolumeClaim, stored: Stored) -> str | None:
    """Return what is wrong with a claim without a volume, None when it waits for the pod."""
    name = claim.metadata.annotations.get("volume.beta.kubernetes.io/storage-class")
    if name is None:
        name = claim.spec.storage_class_name
    if not name:
        return "PersistentVolumeClaim had no pv name and storageClass name"
    if name not in stored.classes:
        return f'storageclass.storage.k8s.io "{name}" not found'
    mode = stored.classes[name].volume_binding_mode
    if mode is None:
        return f'VolumeBindingMode not set for StorageClass "{name}"'
    return None if mode == "WaitForFirstConsumer" else "PersistentVolume had no name"


def volume_zone(pod: objects.Pod, node: objects.Node, stored: Stored) -> Answer:
    """VolumeZone."""
    wanted = []
    for name in claim_names(pod):
        claim = stored.claims.get((pod.metadata.namespace, name))
        if claim is None:
            return NEVER, (f'persistentvolumeclaim "{name}" not found',)
        if not claim.spec.volume_name:
            problem = unbound(claim, stored)
            if problem:
                return NEVER, (problem,)
        elif claim.spec.volume_name not in stored.volumes:
            return NEVER, (f'persistentvolume "{claim.spec.volume_name}" not found',)
        else:
            wanted += allowed_zones(stored.volumes[claim.spec.volume_name])
    labels = node.metadata.labels
    if not any(key in labels for key in ZONE_KEYS):
        return None
    for key, values in wanted:
        newer = key.replace("failure-domain.beta", "topology")
        if labels.get(key, labels.get(newer)) not in values:
            return NEVER, ("node(s) had no available volume zone",)
    return None


# --- NodeVolumeLimits ----------------------------------------------------------------------------


class CannotTell(Exception):  # noqa: N818 - an answer, not an error of the reference
    """What a pod's volumes are cannot be told."""


class NoClaim(CannotTell):
    """A claim does not exist."""


def inline_volume(volume: objects.Volume) -> tuple[str, str] | None:
    """Return (driver, handle) of a disk that a pod mounts without a claim, if it counts."""
    if volume.gce_persistent_disk:
        name = volume.gce_persistent_disk.pd_name
        return "pd.csi.storage.gke.io", f"projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{name}"
    if volume.aws_elastic_block_store:
        volume_id = volume.aws_elastic_block_store.volume_id
        if not volume_id.startswith("aws://"):
            return "ebs.csi.aws.com", volume_id
        last = volume_id.removeprefix("aws://").partition("/")[2].strip("/")
        if last.startswith("vol-") and "/" not in last:
            return "ebs.csi.aws.com", last
        text = "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume"
        text = f"converting volume({volume.name}) from inline to csi: {text} ({volume_id})"
        raise CannotTell(text)
    return None


def claimed_volume(
    claim: storage_objects.PersistentVolumeClaim, stored: Stored, *, has_csi_node: bool
) -> tuple[str, str] | None:
    """Return (driver, handle) of a claim's volume, if it counts."""
    volume = stored.volumes.get(claim.spec.volume_name)
    if volume is None:
        wanted = stored.classes.get(claim.spec.storage_class_name or "")
        if wanted is None:
            return None
        to_be_made = f"made for {claim.metadata.namespace}/{claim.metadata.name}"
        if wanted.provisioner == "kubernetes.io/gce-pd":
            return ("pd.csi.storage.gke.io", to_be_made) if has_csi_node else None
        return wanted.provisioner, to_be_made
    if volume.spec.csi:
        csi = volume.spec.csi
        return (csi.driver, csi.volume_handle) if csi.driver and csi.volume_handle else None
    if volume.spec.gce_persistent_disk and has_csi_node:
        name = volume.spec.gce_persistent_disk.pd_name
        zone = volume.metadata.labels.get("topology.kubernetes.io/zone", "UNSPECIFIED")
        return "pd.csi.storage.gke.io", f"projects/UNSPECIFIED/zones/{zone}/disks/{name}"
    return None


def attachable(
    pod: objects.Pod, stored: Stored, *, has_csi_node: bool, is_new: bool
) -> set[tuple[str, str]]:
    """Return (driver, handle) of the pod's volumes that count.

    Raises:
        CannotTell: a volume of the pod is not what it should be.
    """
    found: set[tuple[str, str] | None] = set()
    namespace, pod_name = pod.metadata.namespace, pod.metadata.name
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim:
            name = volume.persistent_volume_claim.claim_name
        elif volume.ephemeral:
            name = f"{pod_name}-{volume.name}"
        else:
            found.add(inline_volume(volume) if has_csi_node else None)
            continue
        claim = stored.claims.get((namespace, name))
        if claim is None:
            if is_new:
                missing = f'persistentvolumeclaim "{name}" not found'
                text = f"looking up PVC {namespace}/{name}: {missing}"
                raise NoClaim(text)
            continue
        owners = [o.uid for o in claim.metadata.owner_references if o.controller]
        if volume.ephemeral and owners != [pod.metadata.uid]:
            made = f"PVC {namespace}/{name} was not created for pod {namespace}/{pod_name}"
            raise CannotTell(f"{made} (pod is not owner)")
        found.add(claimed_volume(claim, stored, has_csi_node=has_csi_node))
    return {volume for volume in found if volume is not None}


def node_volume_limits(
    pod: objects.Pod, node: objects.Node, cluster: Cluster, stored: Stored
) -> Answer:
    """NodeVolumeLimits."""
    csi_node = stored.csi_nodes.get(node.name)
    has_csi_node = csi_node is not None
    try:
        new = attachable(pod, stored, has_csi_node=has_csi_node, is_new=True)
    except NoClaim as problem:
        return NEVER, (str(problem),)
    except CannotTell as problem:
        return ERROR, (str(problem),)
    drivers = csi_node.spec.drivers if csi_node else ()
    limits = {d.name: d.allocatable.count for d in drivers if d.allocatable}
    if not new or all(limit is None for limit in limits.values()):
        return None
    held: set[tuple[str, str]] = set()
    try:
        for other in cluster.pods_on(node):
            held |= attachable(other, stored, has_csi_node=has_csi_node, is_new=False)
    except CannotTell as problem:
        return ERROR, (str(problem),)
    there = held | attached(node, stored)
    for driver, limit in limits.items():
        added = [volume for volume in new - held if volume[0] == driver]
        count = len([volume for volume in there if volume[0] == driver])
        if limit is not None and added and count + len(added) > limit:
            return NOT_NOW, ("node(s) exceed max volume count",)
    return None


def attached(node: objects.Node, stored: Stored) -> set[tuple[str, str]]:
    """Return (driver, handle) of volumes that attachments name."""
    found = set()
    for attachment in stored.attachments.values():
        volume = stored.volumes.get(attachment.spec.source.persistent_volume_name or "")
        if attachment.spec.node_name == node.name and volume is not None and volume.spec.csi:
            found.add((attachment.spec.attacher, volume.spec.csi.volume_handle))
    return found
