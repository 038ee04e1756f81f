"""Find volumes for the claims of a pod on all nodes at once.

Source: `plugins/volumebinding/binder.go` (FindPodVolumes, checkBoundClaims, findMatchingVolumes,
checkVolumeProvisions).
"""

from __future__ import annotations

import dataclasses
import enum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched import quantity, units
from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.objects import selector_errors, storage_objects
from policysched.cluster.storage import csi_migration, storage
from policysched.plugins.kernels import node_rows, storage_capacity, volume_pool
from policysched.plugins.volume_binding import volume_affinity, volume_claims


class VolumeProblem(enum.IntEnum):
    """The problem of a node, in the order of the reported reasons; 0 for none."""

    FITS = 0
    OUT_OF_REACH = 1
    """The node cannot access the volume of a bound claim."""
    NO_VOLUME = 2
    """No volume matches an unbound claim, and none can be provisioned."""
    NO_SPACE = 3
    """A volume can be provisioned, but not of the requested size."""
    VOLUME_GONE = 4
    """The volume of a bound claim does not exist."""


Verdicts = npt.NDArray[np.int8]
"""int8 (N,): a `VolumeProblem` for each row."""


@dataclasses.dataclass(frozen=True, slots=True)
class StaticBinding:
    """An existing volume and the claim to which it will be bound."""

    volume: storage_objects.PersistentVolume
    claim: storage_objects.PersistentVolumeClaim


@dataclasses.dataclass(frozen=True, slots=True)
class _MatchedVolumes:
    """The volumes to which one claim would be bound, by row.

    Attributes:
        pool: volumes, by number.
        choices: int32 (N,), number of the chosen volume on each row.
    """

    claim: storage_objects.PersistentVolumeClaim
    pool: volume_pool.VolumePool
    choices: volume_pool.Choices


_Error: TypeAlias = tuple[columns.NodeMask, str]


@dataclasses.dataclass(frozen=True, slots=True)
class PodVolumeFindings:
    """The volumes for a pod's claims on all rows; valid within one scheduling cycle.

    Attributes:
        of_bound: problem with the bound claims on each row.
        of_unbound: problem with the other claims on each row.
        errors: pairs of the rows on which claims cannot be evaluated, bool (N,), and the error; the
            first pair that applies to a row counts.
    """

    of_bound: Verdicts
    of_unbound: Verdicts
    errors: tuple[_Error, ...]
    _provisioned: tuple[storage_objects.PersistentVolumeClaim, ...]
    _matched: tuple[_MatchedVolumes, ...]

    def list_static_bindings(self, row: int) -> list[StaticBinding]:
        """Return the existing volumes for claims on a row, smallest claims first."""
        return [
            StaticBinding(m.pool.volume(int(m.choices[row])), m.claim)
            for m in self._matched
            if m.choices[row] != volume_pool.NONE
        ]

    def list_claims_to_provision(self, row: int) -> list[storage_objects.PersistentVolumeClaim]:
        """Return the claims for which volumes must be provisioned on a row."""
        unmatched = (m.claim for m in self._matched if m.choices[row] == volume_pool.NONE)
        return [*self._provisioned, *unmatched]


class PodVolumeFinder:
    """Finds volumes for claims; all pods share its caches."""

    def __init__(self) -> None:
        """Start with empty caches."""
        self._stored = storage.Storage()
        self._rows = node_rows.NodeRows()
        self._pools: dict[str, volume_pool.VolumePool] = {}
        self._pools_moment = (0, 0)
        self._capacities: dict[str, storage_capacity.ClassCapacity] = {}

    def find_pod_volumes(
        self, claims: volume_claims.PodClaims, snap: snapshot.Snapshot
    ) -> PodVolumeFindings:
        """Find volumes for the claims of a pod on all rows."""
        if self._stored is not snap.storage:
            self._stored = snap.storage
            self._pools.clear()
        self._rows.refresh(snap)
        selected = tuple(c for c in claims.delayed if get_selected_node(c) is not None)
        of_unbound = np.zeros(snap.size, np.int8)
        for claim in selected:
            row = snap.nodes.row_of.get(get_selected_node(claim) or "", -1)
            of_unbound[np.arange(snap.size) != row] = VolumeProblem.NO_VOLUME
        to_match = [c for c in claims.delayed if get_selected_node(c) is None]
        matched = self._match_existing_volumes(to_match, snap)
        unreadable = _find_claim_selector_error(to_match, of_unbound == VolumeProblem.FITS)
        needs = [(c, np.ones(snap.size, np.bool_)) for c in selected]
        needs += [(m.claim, m.choices == volume_pool.NONE) for m in matched]
        for claim, is_needed in needs:
            self._write_provisioning_problems(
                claim, is_needed & (of_unbound == VolumeProblem.FITS), of_unbound, snap
            )
        of_bound, errors = self._find_bound_claim_problems(claims.bound, snap)
        return PodVolumeFindings(
            of_bound, of_unbound, errors + unreadable, selected, tuple(matched)
        )

    # --- bound claims -----------------------------------------------------------------------------

    def _find_bound_claim_problems(
        self, claims: tuple[storage_objects.PersistentVolumeClaim, ...], snap: snapshot.Snapshot
    ) -> tuple[Verdicts, tuple[_Error, ...]]:
        """Return int8 (N,), the problem with the first claim that does not fit, and errors."""
        verdicts = np.zeros(snap.size, np.int8)
        errors = []
        for claim in claims:
            fits = verdicts == VolumeProblem.FITS
            volume = self._stored.assumed.volumes.get(claim.spec.volume_name)
            if volume is None:
                verdicts[fits] = VolumeProblem.VOLUME_GONE
                break
            verdicts[fits & ~self._find_reachable_rows(volume, snap)] = VolumeProblem.OUT_OF_REACH
            found = csi_migration.translate_persistent_volume(volume)
            if isinstance(found, csi_migration.UntranslatableVolumeReason):
                fails = fits & self._find_migrated_rows(
                    csi_migration.find_in_tree_plugin(volume.spec) or "", snap
                )
                errors.append((fails, f"could not translate pv: {found.problem}"))
                verdicts[fails] = VolumeProblem.OUT_OF_REACH
        return verdicts, tuple(errors)

    def _find_reachable_rows(
        self, volume: storage_objects.PersistentVolume, snap: snapshot.Snapshot
    ) -> columns.NodeMask:
        """Return bool (N,): the rows of nodes that can access a volume."""
        reachable = self._rows.mask(volume_affinity.make_reachable_node_terms(volume), snap)
        plugin = volume_affinity.find_in_tree_plugin(volume)
        if plugin is None:
            return reachable
        migrated = self._find_migrated_rows(plugin, snap)
        by_csi = self._rows.mask(volume_affinity.make_csi_reachable_terms(volume, plugin), snap)
        return np.where(migrated, by_csi, reachable)

    def _find_migrated_rows(self, plugin: str, snap: snapshot.Snapshot) -> columns.NodeMask:
        """Return bool (N,): the rows on which a CSI driver replaces an in-tree plugin."""
        found = np.zeros(snap.size, np.bool_)
        for csi_node in self._stored.csi_nodes:
            row = snap.nodes.row_of.get(csi_node.metadata.name)
            if row is not None:
                found[row] = volume_affinity.is_in_tree_plugin_migrated(plugin, csi_node)
        return found

    # --- unbound claims ---------------------------------------------------------------------------

    def _match_existing_volumes(
        self, claims: list[storage_objects.PersistentVolumeClaim], snap: snapshot.Snapshot
    ) -> list[_MatchedVolumes]:
        """Match existing volumes to claims, smallest claims first, to leave large volumes free."""
        matched: list[_MatchedVolumes] = []
        for claim in sorted(claims, key=volume_pool.requested):
            pool = self._get_volume_pool(claim.class_name)
            taken = [m.choices for m in matched if m.pool is pool]
            matched.append(_MatchedVolumes(claim, pool, pool.best(claim, taken, self._rows, snap)))
        return matched

    def _get_volume_pool(self, class_name: str) -> volume_pool.VolumePool:
        self._refresh_volume_pools()
        found = self._pools.get(class_name)
        if found is None:
            found = self._pools[class_name] = volume_pool.VolumePool(
                volume_affinity.make_reachable_node_terms
            )
            found.replace(self._stored.assumed.volumes.list_group(class_name))
        return found

    def _refresh_volume_pools(self) -> None:
        """Update the volume pools from the change log; drop them if the log is incomplete."""
        volumes = self._stored.assumed.volumes
        moment, self._pools_moment = self._pools_moment, volumes.cursor
        if moment == self._pools_moment:
            return
        changed = volumes.list_changes_since(moment)
        if changed is None:
            self._pools.clear()
            return
        newest = {name: volumes.get(name) for _, name in changed}
        for class_name, pool in list(self._pools.items()):
            pool.update(
                {n: v if v and v.class_name == class_name else None for n, v in newest.items()}
            )
            if not len(pool):
                del self._pools[class_name]

    def _write_provisioning_problems(
        self,
        claim: storage_objects.PersistentVolumeClaim,
        is_needed: columns.NodeMask,
        verdicts: Verdicts,
        snap: snapshot.Snapshot,
    ) -> None:
        """Write to `verdicts` why a volume cannot be provisioned on rows that need one."""
        if not is_needed.any():
            return
        storage_class = self._stored.classes.get(claim.class_name)
        if storage_class is None or not _is_provisioning_class(storage_class):
            verdicts[is_needed] = VolumeProblem.NO_VOLUME
            return
        is_allowed = self._rows.mask(
            volume_affinity.make_allowed_topology_terms(storage_class), snap
        )
        verdicts[is_needed & ~is_allowed] = VolumeProblem.NO_VOLUME
        has_space = self._find_rows_with_space(claim, storage_class, snap)
        if has_space is not None:
            verdicts[is_needed & is_allowed & ~has_space] = VolumeProblem.NO_SPACE

    def _find_rows_with_space(
        self,
        claim: storage_objects.PersistentVolumeClaim,
        storage_class: storage_objects.StorageClass,
        snap: snapshot.Snapshot,
    ) -> columns.NodeMask | None:
        """Return bool (N,): the rows with enough capacity; None if capacity is not tracked."""
        size = claim.spec.resources.requests.get(units.STORAGE)
        driver = self._stored.drivers.get(storage_class.provisioner)
        if size is None or driver is None or not driver.spec.storage_capacity:
            return None
        name = storage_class.metadata.name
        capacity = self._capacities.setdefault(name, storage_capacity.ClassCapacity())
        told = self._stored.capacities.list_group(name)
        largest: columns.IntArray = capacity.largest(told, self._rows, snap)
        has_space: columns.NodeMask = largest >= max(0, quantity.parse_whole_units(size))
        return has_space


def _find_claim_selector_error(
    claims: list[storage_objects.PersistentVolumeClaim], is_asked: columns.NodeMask
) -> tuple[_Error, ...]:
    """Return the selector error of the smallest claim that has one, for the rows `is_asked`."""
    for claim in sorted(claims, key=volume_pool.requested):
        problem = selector_errors.find_label_selector_error(claim.spec.selector)
        if problem:
            meta = claim.metadata
            text = "error creating internal label selector for claim"
            return ((is_asked, f"{text}: {meta.namespace}/{meta.name}: {problem}"),)
    return ()


def get_selected_node(claim: storage_objects.PersistentVolumeClaim) -> str | None:
    """Return the node for which the claim's volume is provisioned, or None."""
    return claim.metadata.annotations.get(storage_objects.SELECTED_NODE)


def _is_provisioning_class(storage_class: storage_objects.StorageClass) -> bool:
    return storage_class.provisioner not in ("", storage_objects.NO_PROVISIONER)
