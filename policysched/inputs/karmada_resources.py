"""The resources of the Karmada API server for clusters and bindings."""

from __future__ import annotations

from policysched.karmada import objects
from policysched.kube.reading import resources

CLUSTERS = resources.ApiResource(
    "clusters", "/apis/cluster.karmada.io/v1alpha1/clusters", objects.Cluster
)
_WORK = "/apis/work.karmada.io/v1alpha2"
BINDINGS = resources.ApiResource("resourcebindings", f"{_WORK}/resourcebindings", objects.Binding)
CLUSTER_BINDINGS = resources.ApiResource(
    "clusterresourcebindings", f"{_WORK}/clusterresourcebindings", objects.Binding
)
