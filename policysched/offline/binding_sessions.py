"""The decider of `ui` for the bindings of one Karmada control plane."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

from policysched import clock as clocks
from policysched.karmada.policies import cluster_rows
from policysched.karmada.state import snapshot
from policysched.offline import binding_explaining, binding_simulating

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator, Mapping

    from policysched.cluster import snapshot as node_snapshots
    from policysched.inputs import karmada_file
    from policysched.karmada import objects
    from policysched.karmada.steps import algorithm as algorithms
    from policysched.profiles import cluster_policy_loading


@dataclasses.dataclass(frozen=True)
class BindingDecider:
    """Makes decisions about the bindings of one control plane.

    Attributes:
        plane: the clusters and bindings.
        algorithm: decides about bindings, with the cluster policies of `loaded`.
        loaded: the policies in use.
        now: the time of all decisions.
    """

    plane: karmada_file.KarmadaControlPlane
    algorithm: algorithms.BindingAlgorithm
    loaded: cluster_policy_loading.LoadedClusterPolicies
    now: datetime.datetime

    @functools.cached_property
    def clusters(self) -> snapshot.ControlPlaneSnapshot:
        """The clusters that are not being deleted, ordered by name."""
        return snapshot.make_snapshot(self.plane.clusters, self.plane.bindings)

    @functools.cached_property
    def columns(self) -> node_snapshots.Snapshot:
        """The amounts and the metrics of the same clusters, one row for each."""
        policies = self.loaded.policies
        rows = policies or cluster_rows.ClusterRows(clocks.ManualClock(self.now))
        return rows.take_snapshot_of_clusters(self.clusters)

    @functools.cached_property
    def bindings_by_cluster(self) -> Mapping[str, list[tuple[str, int]]]:
        """The present bindings of each cluster with their replicas, the largest first."""
        found: dict[str, list[tuple[str, int]]] = {}
        for binding in self.plane.bindings:
            for target in binding.spec.clusters:
                found.setdefault(target.name, []).append((binding.key, target.replicas))
        for bindings in found.values():
            bindings.sort(key=lambda each: (-each[1], each[0]))
        return found

    def find_cluster(self, name: str) -> objects.Cluster:
        """Return a cluster that is not being deleted.

        Raises:
            LookupError: there is none with this name.
        """
        for cluster in self.clusters.clusters:
            if cluster.metadata.name == name:
                return cluster
        raise LookupError(name)

    def find_binding(self, key: str) -> objects.Binding:
        """Return the binding that `explain binding` finds for this name.

        Raises:
            InputError: the binding does not exist.
        """
        return binding_explaining.find_binding(self.plane, key)

    def make_report(self, binding: objects.Binding) -> dict[str, Any]:
        """Return the report of `explain binding`."""
        return binding_explaining.make_binding_report(self.algorithm, binding, self.clusters)

    def simulate_bindings(self) -> Iterator[binding_simulating.SimulatedBinding]:
        """Yield the decision about each binding as if it were scheduled now."""
        return binding_simulating.simulate_bindings(self.algorithm, self.plane)
