"""Store the clusters and bindings known from the watches and from writes of this process."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import msgspec

from policysched.karmada.state import snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from policysched.karmada import objects


class ControlPlaneStore:
    """The newest known state of clusters and bindings.

    The state of a binding comes from the watch or from the answer to a write of this process,
    whichever is newer. While a decision is being written, snapshots contain its clusters. Therefore
    decisions can be ahead of the API server without contradicting each other.

    Attributes:
        clusters: clusters keyed by name.
        bindings: bindings keyed by `Binding.key`.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.clusters: dict[str, objects.Cluster] = {}
        self.bindings: dict[str, objects.Binding] = {}
        self._deciding: dict[str, objects.Targets] = {}
        self._groups: dict[str, dict[str, None]] = {}
        self._snapshot: snapshot.ControlPlaneSnapshot | None = None
        self._leaving: frozenset[str] = frozenset()

    def put_cluster(self, cluster: objects.Cluster) -> None:
        """Store a new or changed cluster."""
        self.clusters[cluster.metadata.name] = cluster
        self._snapshot = None

    def drop_cluster(self, name: str) -> None:
        """Remove a cluster."""
        if self.clusters.pop(name, None) is not None:
            self._snapshot = None

    @property
    def terminating_cluster_names(self) -> frozenset[str]:
        """Names of the clusters that are being deleted."""
        self._get_current_snapshot()
        return self._leaving

    def put_binding_unless_older(self, binding: objects.Binding) -> None:
        """Store a binding unless a newer state of it is known."""
        known = self.bindings.get(binding.key)
        if known is None or not _is_older_version(binding, known):
            self.replace_binding(binding)

    def replace_binding(self, binding: objects.Binding) -> None:
        """Store a binding, even if a newer state of it is known."""
        self.bindings[binding.key] = binding
        self._index_binding(binding)

    def get_current_binding(self, binding: objects.Binding) -> objects.Binding | None:
        """Return the newest state of the same object, or None if it is gone."""
        known = self.bindings.get(binding.key)
        is_same = known is not None and known.metadata.uid == binding.metadata.uid
        return known if is_same else None

    def drop_binding(self, key: str) -> None:
        """Remove a binding."""
        gone = self.bindings.pop(key, None)
        self._deciding.pop(key, None)
        if gone is not None:
            self._groups.get(gone.metadata.namespace, {}).pop(key, None)

    def get_binding_priority(self, key: str) -> int:
        """Return the priority of a binding, or 0 without a priority."""
        binding = self.bindings.get(key)
        return 0 if binding is None else binding.spec.priority

    def assume_targets(self, key: str, targets: objects.Targets) -> None:
        """Use `targets` as the binding's clusters in snapshots until they are written."""
        self._deciding[key] = targets

    def end_assumption(self, key: str, written: objects.Binding | None) -> None:
        """End the assumption after a write; `written` is the answer, or None without an answer.

        The answer is ignored if the object was deleted, even if a new object has its name.
        """
        self._deciding.pop(key, None)
        if written is not None and self.get_current_binding(written) is not None:
            self.put_binding_unless_older(written)

    def get_cluster_snapshot(self) -> snapshot.ControlPlaneSnapshot:
        """Return a snapshot of the current clusters."""
        return self._get_current_snapshot()

    def make_snapshot_for_binding(self, binding: objects.Binding) -> snapshot.ControlPlaneSnapshot:
        """Return the snapshot for a decision about the binding."""
        current = self._get_current_snapshot()
        if binding.spec.workload_affinity_groups is None:
            return current
        others = tuple(self._iterate_group_bindings(binding.spec.resource.namespace))
        return dataclasses.replace(current, bindings=others)

    def _iterate_group_bindings(self, namespace: str) -> Iterator[objects.Binding]:
        """Yield the bindings of a namespace that belong to groups, with their assumed clusters."""
        for key in self._groups.get(namespace, ()):
            binding = self.bindings[key]
            if key in self._deciding:
                spec = msgspec.structs.replace(binding.spec, clusters=self._deciding[key])
                binding = msgspec.structs.replace(binding, spec=spec)
            yield binding

    def _index_binding(self, binding: objects.Binding) -> None:
        of_namespace = self._groups.setdefault(binding.metadata.namespace, {})
        if binding.spec.workload_affinity_groups is None:
            of_namespace.pop(binding.key, None)
        else:
            of_namespace[binding.key] = None
        if not of_namespace:
            del self._groups[binding.metadata.namespace]

    def _get_current_snapshot(self) -> snapshot.ControlPlaneSnapshot:
        if self._snapshot is None:
            clusters = list(self.clusters.values())
            self._snapshot = snapshot.make_snapshot(clusters)
            self._leaving = frozenset(
                each.metadata.name for each in clusters if each.metadata.deletion_timestamp
            )
        return self._snapshot


def _is_older_version(binding: objects.Binding, than: objects.Binding) -> bool:
    """Return whether `binding` is an older state of one object; versions increase (KEP-5504)."""
    ours, theirs = binding.metadata, than.metadata
    if ours.uid != theirs.uid or not ours.resource_version or not theirs.resource_version:
        return False
    if not (ours.resource_version.isdecimal() and theirs.resource_version.isdecimal()):
        return False
    return int(ours.resource_version) < int(theirs.resource_version)
