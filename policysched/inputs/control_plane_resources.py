"""Clusters and bindings as resources of the Karmada API server."""

from __future__ import annotations

from policysched.karmada import objects
from policysched.kube.reading import resources

CLUSTERS = resources.Resource(
    "clusters", "/apis/cluster.karmada.io/v1alpha1/clusters", objects.Cluster
)
_WORK = "/apis/work.karmada.io/v1alpha2"
BINDINGS = resources.Resource("resourcebindings", f"{_WORK}/resourcebindings", objects.Binding)
CLUSTER_BINDINGS = resources.Resource(
    "clusterresourcebindings", f"{_WORK}/clusterresourcebindings", objects.Binding
)
