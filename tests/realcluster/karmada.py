"""What makes a Karmada control plane of a real API server: its kinds, and the real scheduler.

Bindings have Karmada's own CRDs, from its Go module. Clusters are served by an API server of its
own there; here they have a CRD that takes any field, so that tests say what member clusters report.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
from typing import TYPE_CHECKING, Any

import yaml

from tests.realcluster import api_client, components, go, process

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.realcluster import control_plane

MODULE = "github.com/karmada-io/karmada"
SCHEDULER_NAME = "default-scheduler"
CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
WORK = "/apis/work.karmada.io/v1alpha2"
BINDINGS = f"{WORK}/resourcebindings"
CLUSTER_BINDINGS = f"{WORK}/clusterresourcebindings"

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ESTABLISHED_LIMIT_SECONDS = 60.0
_CLUSTER_CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "clusters.cluster.karmada.io"},
    "spec": {
        "group": "cluster.karmada.io",
        "names": {"kind": "Cluster", "plural": "clusters", "singular": "cluster"},
        "scope": "Cluster",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def crd_files() -> list[pathlib.Path]:
    """Return the manifests of the CRDs of bindings, fetched where that is needed.

    Raises:
        GoError: there is no Go, or the module cannot be had.
    """
    done = subprocess.run(
        [str(go.install()), "mod", "download", "-json", MODULE],
        cwd=components.KARMADA.folder,
        env=go.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise go.GoError(f"`go mod download {MODULE}` failed: {done.stdout}{done.stderr}")
    folder = pathlib.Path(json.loads(done.stdout)["Dir"]) / "charts/karmada/_crds/bases/work"
    kinds = ("resourcebindings", "clusterresourcebindings")
    return [folder / f"work.karmada.io_{kind}.yaml" for kind in kinds]


def install(plane: control_plane.ControlPlane) -> None:
    """Create the CRDs, and return when the API server serves them."""
    client = plane.client
    crds = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in crd_files()]
    for crd in (*crds, _CLUSTER_CRD):
        client.create(_CRDS, crd)
    plane.api_server.wait_until(
        lambda: all(_is_served(client, path) for path in (CLUSTERS, BINDINGS, CLUSTER_BINDINGS)),
        time_limit_seconds=_ESTABLISHED_LIMIT_SECONDS,
    )


def _is_served(client: api_client.ApiClient, path: str) -> bool:
    try:
        client.get(path)
    except api_client.ApiError:
        return False
    return True


def clear(client: api_client.ApiClient) -> None:
    """Delete all clusters and bindings, whatever finalizers they have."""
    for path in (BINDINGS, CLUSTER_BINDINGS, CLUSTERS):
        for item in client.items(path):
            if item["metadata"].get("finalizers"):
                client.patch(path_of(item), {"metadata": {"finalizers": None}})
            elif item["metadata"].get("namespace"):
                client.delete(path_of(item))
        if path != BINDINGS:
            client.delete(path)


def path_of(item: dict[str, Any]) -> str:
    """Return the path of a cluster or binding."""
    name = item["metadata"]["name"]
    match item["kind"]:
        case "Cluster":
            return f"{CLUSTERS}/{name}"
        case "ResourceBinding":
            namespace = item["metadata"]["namespace"]
            return f"{WORK}/namespaces/{namespace}/resourcebindings/{name}"
        case _:
            return f"{CLUSTER_BINDINGS}/{name}"


def create(client: api_client.ApiClient, item: dict[str, Any]) -> dict[str, Any]:
    """Create a cluster or binding with its status, which takes a second request."""
    created = client.create(path_of(item).rpartition("/")[0], item)
    if item.get("status"):
        created = client.patch(f"{path_of(item)}/status", {"status": item["status"]})
    return created


def create_all(client: api_client.ApiClient, items: Iterable[dict[str, Any]]) -> None:
    """Create many."""
    for item in items:
        create(client, item)


class KarmadaScheduler(process.Managed):
    """The real karmada-scheduler, without leader election and limits."""

    def __init__(
        self,
        plane: control_plane.ControlPlane,
        folder: pathlib.Path,
        *,
        flags: Sequence[str] = (),
    ) -> None:
        """Write its kubeconfig; its log goes to `folder`, too."""
        folder.mkdir(parents=True, exist_ok=True)
        kubeconfig = plane.write_kubeconfig(folder / "karmada-scheduler.kubeconfig")
        command = [
            str(components.binary("karmada-scheduler")),
            f"--kubeconfig={kubeconfig}",
            "--leader-elect=false",
            "--metrics-bind-address=0",
            "--health-probe-bind-address=0",
            "--kube-api-qps=10000",
            "--kube-api-burst=10000",
            *flags,
        ]
        self.process = process.ServerProcess(command, log=folder / "karmada-scheduler.log")
