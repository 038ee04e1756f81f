"""The real karmada-scheduler-estimator of a member cluster, and how schedulers find it."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import socket
from typing import TYPE_CHECKING, Any

import trustme

from tests.realcluster import api_client, components, process

if TYPE_CHECKING:
    from tests.realcluster import control_plane

NAMESPACE = "karmada-system"
PORT = 10352
_SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"


@dataclasses.dataclass(frozen=True)
class Certificates:
    """What proves who estimators and schedulers are; one authority vouches for both.

    Attributes:
        ca_file, cert_file, key_file: paths of PEM files; the certificate is for `localhost`.
    """

    ca_file: pathlib.Path
    cert_file: pathlib.Path
    key_file: pathlib.Path

    @property
    def of_scheduler(self) -> list[str]:
        """Options of a scheduler that asks estimators."""
        return [
            "--enable-scheduler-estimator=true",
            f"--scheduler-estimator-ca-file={self.ca_file}",
            f"--scheduler-estimator-cert-file={self.cert_file}",
            f"--scheduler-estimator-key-file={self.key_file}",
        ]


def certificates(folder: pathlib.Path) -> Certificates:
    """Make them."""
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    made = Certificates(folder / "ca.crt", folder / "tls.crt", folder / "tls.key")
    authority.cert_pem.write_to_path(made.ca_file)
    issued.cert_chain_pems[0].write_to_path(made.cert_file)
    issued.private_key_pem.write_to_path(made.key_file)
    return made


class KarmadaEstimator(process.Managed):
    """Says how many replicas fit on the nodes of an API server, to who shows a certificate.

    Attributes:
        port: where it listens.
    """

    def __init__(
        self,
        member: control_plane.ControlPlane,
        folder: pathlib.Path,
        cluster: str,
        made: Certificates,
    ) -> None:
        """Write its kubeconfig; its log goes to `folder`, too."""
        self.port = process.free_port()
        kubeconfig = member.write_kubeconfig(folder / f"estimator-{cluster}.kubeconfig")
        command = [
            str(components.binary("karmada-scheduler-estimator")),
            f"--kubeconfig={kubeconfig}",
            f"--cluster-name={cluster}",
            f"--server-port={self.port}",
            f"--grpc-auth-cert-file={made.cert_file}",
            f"--grpc-auth-key-file={made.key_file}",
            f"--grpc-client-ca-file={made.ca_file}",
            "--metrics-bind-address=0",
            "--health-probe-bind-address=0",
        ]
        self.process = process.ServerProcess(command, log=folder / f"estimator-{cluster}.log")

    def is_listening(self) -> bool:
        """Say whether it has started."""
        try:
            socket.create_connection(("localhost", self.port), timeout=5).close()
        except OSError:
            return False
        return True


def publish(client: api_client.ApiClient, cluster: str, port: int) -> None:
    """Say at the Karmada API server that the estimator of a cluster is at a port of ours."""
    _put(client, cluster, {"type": "ExternalName", "externalName": "localhost"}, port)


def publish_nowhere(client: api_client.ApiClient, cluster: str) -> None:
    """Have a Service for a cluster that schedulers do not follow, so that none waits for a name."""
    _put(client, cluster, {"type": "ClusterIP"}, PORT)


def _put(client: api_client.ApiClient, cluster: str, spec: dict[str, Any], port: int) -> None:
    with contextlib.suppress(api_client.ApiError):  # it is there from a test before
        client.create_namespace(NAMESPACE)
    name = f"karmada-scheduler-estimator-{cluster}"
    with contextlib.suppress(api_client.ApiError):  # there is none
        client.delete(f"{_SERVICES}/{name}")
    ports = [{"name": "grpc", "port": PORT, "targetPort": port, "protocol": "TCP"}]
    client.create(
        _SERVICES,
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": spec | {"ports": ports},
        },
    )
