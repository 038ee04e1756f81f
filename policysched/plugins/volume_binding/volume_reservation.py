"""Reserve, write and await the volumes of a pod's claims on the chosen node.

Sources: `plugins/volumebinding/binder.go` (AssumePodVolumes, bindAPIUpdate, checkBindings);
component-helpers `storage/volume/pv_helpers.go` (GetBindVolumeToClaim).
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TypeAlias

import msgspec

from policysched.cluster.columns import columns
from policysched.cluster.objects import objects, storage_objects
from policysched.cluster.pods import pod_shape
from policysched.cluster.storage import assumed_volumes, storage
from policysched.framework import handles
from policysched.plugins.kernels import node_selection
from policysched.plugins.volume_binding import volume_affinity, volume_findings

Volume: TypeAlias = storage_objects.PersistentVolume
Claim: TypeAlias = storage_objects.PersistentVolumeClaim


class VolumeBindingProgress(enum.Enum):
    """The progress of binding all claims."""

    DONE = enum.auto()
    UNDER_WAY = enum.auto()


@dataclasses.dataclass(slots=True)
class VolumeReservation:
    """The volumes that are reserved for the claims of one pod.

    Attributes:
        node_name: chosen node of the pod.
        bindings: claims and their volumes; the claimRef of each volume is set to the claim.
        provisions: claims with the annotation that starts provisioning.
        assumed: those of these volumes and claims that had to be changed.
    """

    node_name: str
    bindings: list[volume_findings.StaticBinding]
    provisions: list[Claim]
    assumed: list[Volume | Claim]


def reserve_volumes(
    findings: volume_findings.PodVolumeFindings,
    row: int,
    node_name: str,
    assumed: assumed_volumes.AssumedVolumes,
) -> VolumeReservation:
    """Reserve the volumes found for the node in `row`, so that the next pod does not use them."""
    found = findings.list_static_bindings(row)
    to_provision = findings.list_claims_to_provision(row)
    bindings = [dataclasses.replace(b, volume=_set_claim_ref(b.volume, b.claim)) for b in found]
    provisions = [_annotate_selected_node(claim, node_name) for claim in to_provision]
    reservation = VolumeReservation(node_name, bindings, provisions, [])
    for before, binding in zip(found, bindings, strict=True):
        if binding.volume is not before.volume:
            assumed.volumes.assume(binding.volume)
            reservation.assumed.append(binding.volume)
    for claim, promised in zip(to_provision, provisions, strict=True):
        if promised is not claim:
            assumed.claims.assume(promised)
            reservation.assumed.append(promised)
    return reservation


def release_volumes(
    reservation: VolumeReservation, assumed: assumed_volumes.AssumedVolumes
) -> None:
    """Release the reserved volumes and claims that are not written yet."""
    for item in reservation.assumed:
        match item:
            case storage_objects.PersistentVolume():
                assumed.volumes.restore(item)
            case storage_objects.PersistentVolumeClaim():
                assumed.claims.restore(item)


def _set_claim_ref(volume: Volume, claim: Claim) -> Volume:
    """Set the claimRef of the volume; return the same object if it already names the claim."""
    meta, reference = claim.metadata, volume.spec.claim_ref
    wanted = (meta.namespace, meta.name, meta.uid)
    is_given = reference is not None
    if reference is None or (reference.namespace, reference.name, reference.uid) != wanted:
        reference = storage_objects.ClaimReference(
            api_version="v1",
            kind="PersistentVolumeClaim",
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            resource_version=meta.resource_version,
        )
        spec = msgspec.structs.replace(volume.spec, claim_ref=reference)
        volume = msgspec.structs.replace(volume, spec=spec)
    if is_given or storage_objects.BOUND_BY_CONTROLLER in volume.metadata.annotations:
        return volume
    return msgspec.structs.replace(
        volume,
        metadata=_annotate_metadata(volume.metadata, storage_objects.BOUND_BY_CONTROLLER, "yes"),
    )


def _annotate_selected_node(claim: Claim, node_name: str) -> Claim:
    """Annotate the claim with the selected node; return the same object if it already names it."""
    if volume_findings.get_selected_node(claim) == node_name:
        return claim
    return msgspec.structs.replace(
        claim, metadata=_annotate_metadata(claim.metadata, storage_objects.SELECTED_NODE, node_name)
    )


def _annotate_metadata(metadata: objects.ObjectMeta, key: str, value: str) -> objects.ObjectMeta:
    return msgspec.structs.replace(metadata, annotations={**metadata.annotations, key: value})


# --- the API server ------------------------------------------------------------------------------


async def write_reservation(
    reservation: VolumeReservation, writer: handles.VolumeWriter
) -> handles.WriteError | None:
    """Write the reservation to the API server; stop at the first error and return it.

    Earlier writes are not reverted: the next attempt finds volumes that already have their claim.
    """
    for number, binding in enumerate(reservation.bindings):
        volume = await writer.write_volume(binding.volume)
        if isinstance(volume, handles.WriteError):
            return volume
        _replace_in_reservation(reservation, binding.volume, volume)
        reservation.bindings[number] = dataclasses.replace(binding, volume=volume)
    for number, promised in enumerate(reservation.provisions):
        claim = await writer.write_claim(promised)
        if isinstance(claim, handles.WriteError):
            return claim
        _replace_in_reservation(reservation, promised, claim)
        reservation.provisions[number] = claim
    return None


def _replace_in_reservation(
    reservation: VolumeReservation, old: Volume | Claim, new: Volume | Claim
) -> None:
    """Replace an assumed object with its written version, which must not be released."""
    reservation.assumed = [new if item is old else item for item in reservation.assumed]


class VolumeBindingCheck:
    """Checks whether the claims of a reservation are bound, from the state of the watch."""

    def __init__(
        self,
        pod: pod_shape.PodInfo,
        reservation: VolumeReservation,
        stored: storage.Storage,
        nodes: columns.NodeColumns,
    ) -> None:
        """Check the reservation of `pod`; `nodes` are the live columns."""
        self._pod = pod
        self._reservation = reservation
        self._stored = stored
        self._nodes = nodes

    def check_progress(self) -> VolumeBindingProgress | str:
        """Return the progress, or the reason why the binding cannot complete."""
        name = self._reservation.node_name
        row = self._nodes.row_of.get(name, -1)
        node = self._nodes.nodes[row] if row >= 0 else None
        if node is None:
            return f'failed to get node "{name}": node "{name}" not found'
        if not self._stored.pods.has_pod_on_row(row, self._pod.uid):
            pod_name = self._pod.pod.metadata.name
            return f'pod does not exist any more: pod "{pod_name}" not found'
        for binding in self._reservation.bindings:
            progress = self._check_binding(binding, node)
            if progress is not VolumeBindingProgress.DONE:
                return progress
        for claim in self._reservation.provisions:
            progress = self._check_provision(claim, node)
            if progress is not VolumeBindingProgress.DONE:
                return progress
        return VolumeBindingProgress.DONE

    def _check_binding(
        self, binding: volume_findings.StaticBinding, node: objects.Node
    ) -> VolumeBindingProgress | str:
        """Return the progress of a claim with an existing volume, or the reason for a failure."""
        name = binding.volume.metadata.name
        volume = self._stored.volumes.get(name)
        if volume is None:
            return f'failed to check binding: persistentvolumes "{name}" not found'
        claim = self._get_claim(binding.claim)
        if claim is None:
            return f"failed to check binding: {_format_claim_not_found(binding.claim)}"
        if _is_older_version(volume, binding.volume):
            return VolumeBindingProgress.UNDER_WAY
        if not self._is_reachable(volume, node):
            return _format_volume_out_of_reach(volume, node)
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            return f'ClaimRef got reset for pv "{name}"'
        return _get_binding_progress(claim)

    def _check_provision(self, written: Claim, node: objects.Node) -> VolumeBindingProgress | str:
        """Return the progress of a claim to be provisioned, or the reason for a failure."""
        claim = self._get_claim(written)
        if claim is None:
            return f"failed to check provisioning pvc: {_format_claim_not_found(written)}"
        if _is_older_version(claim, written):
            return VolumeBindingProgress.UNDER_WAY
        name = claim.metadata.name
        if not claim.metadata.annotations:
            return f'selectedNode annotation reset for PVC "{name}"'
        if volume_findings.get_selected_node(claim) != node.name:
            return f'provisioning failed for PVC "{name}"'
        if claim.spec.volume_name:
            volume = self._stored.volumes.get(claim.spec.volume_name)
            if volume is None:
                return (
                    VolumeBindingProgress.UNDER_WAY
                )  # its event can arrive after the event of the claim
            if not self._is_reachable(volume, node):
                return _format_volume_out_of_reach(volume, node)
        return _get_binding_progress(claim)

    def _get_claim(self, claim: Claim) -> Claim | None:
        return self._stored.claims.get(claim.metadata.name, claim.metadata.namespace)

    def _is_reachable(self, volume: Volume, node: objects.Node) -> bool:
        plugin = volume_affinity.find_in_tree_plugin(volume)
        csi_node = self._stored.csi_nodes.get(node.name)
        if plugin and csi_node and volume_affinity.is_in_tree_plugin_migrated(plugin, csi_node):
            terms = volume_affinity.make_csi_reachable_terms(volume, plugin)
        else:
            terms = volume_affinity.make_reachable_node_terms(volume)
        return terms is None or node_selection.any_term_matches(terms, node)


def _get_binding_progress(claim: Claim) -> VolumeBindingProgress:
    return VolumeBindingProgress.DONE if claim.is_fully_bound else VolumeBindingProgress.UNDER_WAY


def _is_older_version(told: Volume | Claim, written: Volume | Claim) -> bool:
    """Return whether the watch has not reported the written version yet."""
    versions = told.metadata.resource_version, written.metadata.resource_version
    return all(v.isdecimal() for v in versions) and int(versions[0]) < int(versions[1])


def _format_claim_not_found(claim: Claim) -> str:
    meta = claim.metadata
    return f'persistentvolumeclaims "{meta.namespace}/{meta.name}" not found'


def _format_volume_out_of_reach(volume: Volume, node: objects.Node) -> str:
    return (
        f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{node.name}": '
        "no matching NodeSelectorTerms"
    )
