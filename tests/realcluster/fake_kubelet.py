"""Our stand-in for the kubelets of nodes that are objects alone."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

from tests.realcluster import components, manifests, process

if TYPE_CHECKING:
    from tests.realcluster import control_plane


class FakeKubelet(process.Managed):
    """Admits the pods of all nodes as a kubelet does, and says that they run.

    Its source is tests/components/kubernetes-e2e/fakekubelet.
    """

    def __init__(self, plane: control_plane.ControlPlane, folder: pathlib.Path, port: int) -> None:
        """Write its files.

        Args:
            plane: a started control plane with the nodes that it is to serve.
            folder: where its kubeconfig and log go.
            port: where the API server reaches it, as the nodes say.
        """
        folder.mkdir(parents=True, exist_ok=True)
        kubeconfig = plane.write_kubeconfig(folder / "fakekubelet.kubeconfig")
        command = [
            str(components.binary("fakekubelet")),
            f"--kubeconfig={kubeconfig}",
            f"--port={port}",
        ]
        self.process = process.ServerProcess(command, log=folder / "fakekubelet.log")


def node(number: int, port: int) -> dict[str, Any]:
    """Return a Ready node of 8 CPUs that a FakeKubelet serves: zones in turn, a loopback address.

    Args:
        number: from 0, below 250.
        port: of the FakeKubelet.
    """
    name = f"node-{number}"
    made = manifests.node(
        name,
        labels={
            manifests.ZONE: manifests.ZONES[number % len(manifests.ZONES)],
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
        },
    )
    made["status"] |= {
        "addresses": [
            {"type": "InternalIP", "address": f"127.0.1.{number + 1}"},
            {"type": "Hostname", "address": name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "nodeInfo": {
            "kubeletVersion": components.KUBERNETES_VERSION,
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    }
    return made
