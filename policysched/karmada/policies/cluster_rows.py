"""Store member clusters in the columns of nodes, one row for each cluster.

Rules of a clusterPolicy are compiled like rules about nodes and evaluated on these rows. A row
contains labels, fields (see `fields_as_labels`), taints, the resource summary's allocatable amounts
and, as requests, its allocated and allocating amounts.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

from policysched.cluster import cache
from policysched.cluster.objects import fields_as_labels, objects
from policysched.cluster.pods import pod_requests

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from policysched import clock as clocks
    from policysched.cluster import metric_needs
    from policysched.cluster import snapshot as node_snapshots
    from policysched.cluster.metrics import metric_table, metric_windows
    from policysched.karmada import objects as karmada_objects
    from policysched.karmada.state import snapshot

_PODS = "pods"


class ClusterRows:
    """The rows of the clusters in the newest snapshot, and the samples of their metrics.

    They are kept when the version of the policies changes, so that samples are not lost.

    Attributes:
        names: names of the clusters in the newest snapshot, in its order; the same object while
            the names stay the same.
    """

    def __init__(self, clock: clocks.Clock) -> None:
        """Start without clusters or samples; `clock` determines the age of samples."""
        self._cache = cache.Cache(clock)
        self.names: tuple[str, ...] = ()
        self._clusters: dict[str, karmada_objects.Cluster] = {}
        self._requested: dict[str, Mapping[str, int]] = {}
        self._last: snapshot.ControlPlaneSnapshot | None = None

    def keep_only_needed_samples(self, needs: metric_needs.MetricNeeds) -> None:
        """Drop the windows, hysteresis and recent placements that no rule needs."""
        self._cache.retain_needed_metric_data(needs)

    def expire_samples(self) -> None:
        """Update the staleness of samples to the current time."""
        self._cache.expire_samples()

    def refresh_samples(self, metric: str, samples: Mapping[str, metric_table.Sample]) -> None:
        """Replace all samples of the metric with the key `metric`, keyed by cluster."""
        self._cache.metrics.refresh(metric, samples)

    def backfill_samples(self, metric: str, older: metric_windows.OlderSamples) -> None:
        """Add older samples of the metric with the key `metric`, for windows over it."""
        self._cache.metrics.backfill(metric, older)

    def take_snapshot_of_clusters(
        self, clusters: snapshot.ControlPlaneSnapshot
    ) -> node_snapshots.Snapshot:
        """Return the columns for these clusters, at the current time."""
        if clusters is not self._last:
            self._update_rows(clusters.clusters)
            self._last = clusters
        return self._cache.snapshot()

    def find_rows(self, clusters: snapshot.ControlPlaneSnapshot) -> npt.NDArray[np.intp]:
        """Return the row of each of the n clusters in the order of `clusters`, intp (n,)."""
        row_of = self._cache.nodes.row_of
        return np.array([row_of[each.metadata.name] for each in clusters.clusters], np.intp)

    def _update_rows(self, clusters: Iterable[karmada_objects.Cluster]) -> None:
        """Add, update and remove rows so that they match `clusters`."""
        living = {each.metadata.name: each for each in clusters}
        for name in self._clusters.keys() - living.keys():
            self._set_requested_amounts(name, {})
            self._cache.remove_node(name)
            del self._clusters[name]
        for name, cluster in living.items():
            if self._clusters.get(name) is not cluster:
                self._cache.set_node(convert_cluster_to_node(cluster))
                self._set_requested_amounts(name, sum_allocated_resources(cluster))
                self._clusters[name] = cluster
        names = tuple(living)
        if names != self.names:
            self.names = names

    def _set_requested_amounts(self, name: str, amounts: Mapping[str, int]) -> None:
        """Set the requested amounts of a cluster's row."""
        row = self._cache.nodes.row_of[name]
        before = self._requested.get(name, {})
        for resource in before.keys() | amounts.keys():
            more = amounts.get(resource, 0) - before.get(resource, 0)
            if resource == _PODS:
                self._cache.nodes.suppose_pod_count(row, more)
            elif self._cache.nodes.resources.find(resource) is not None:
                self._cache.nodes.suppose_requests(row, resource, more)
        self._requested[name] = amounts


def convert_cluster_to_node(cluster: karmada_objects.Cluster) -> objects.Node:
    """Return a node with the properties of a cluster that policies read.

    The node has no creation time. For real nodes, this time excludes samples of an earlier machine
    with the same name; samples of a cluster always belong to the same cluster.
    """
    meta, spec = cluster.metadata, cluster.spec
    labels = fields_as_labels.make_field_labels(
        meta.labels,
        {"provider": spec.provider, "region": spec.region},
        {"zone": spec.zones},
    )
    summary = cluster.status.resource_summary
    return objects.Node(
        metadata=objects.ObjectMeta(name=meta.name, labels=labels, uid=meta.uid),
        spec=objects.NodeSpec(taints=spec.taints),
        status=objects.NodeStatus(allocatable=summary.allocatable if summary else {}),
    )


def sum_allocated_resources(cluster: karmada_objects.Cluster) -> dict[str, int]:
    """Return the sums of allocated and allocating amounts, only for allocatable resources."""
    summary = cluster.status.resource_summary
    if summary is None:
        return {}
    total: collections.Counter[str] = collections.Counter()
    for amounts in (summary.allocated, summary.allocating):
        for resource, text in amounts.items():
            if resource in summary.allocatable:
                total[resource] += pod_requests.parse_amount(resource, text)
    return dict(total)
