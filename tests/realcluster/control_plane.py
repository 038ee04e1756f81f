"""A real control plane on loopback ports: etcd and kube-apiserver, RBAC on, no kubelet.

    with control_plane.ControlPlane(tmp_path) as plane:
        plane.client.create_nodes(manifests.fleet(1000))
        plane.write_kubeconfig(tmp_path / "kubeconfig")

It is up in about three seconds. Without a kubelet, pods stay bound and pending; without a
controller manager, namespaces have no service account and never go, and owners' dependents stay.
`controller_manager.ControllerManager` runs beside one with `has_controller_manager=True`.
"""

from __future__ import annotations

import pathlib
import secrets
from typing import TYPE_CHECKING, Self

import trustme
import yaml

from tests.realcluster import api_client, components, process

if TYPE_CHECKING:
    import types
    from collections.abc import Mapping, Sequence

START_LIMIT_SECONDS = 120.0
ADMIN = "admin"

THROUGHPUT_FLAGS = (
    "--enable-priority-and-fairness=false",
    "--max-requests-inflight=3000",
    "--max-mutating-requests-inflight=2000",
)
"""For runs that measure a scheduler and not the API server's protection from it."""

# There is none that makes service accounts or untaints nodes.
_WITHOUT_CONTROLLER_MANAGER = "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_OTHERS = (
    "/api/v1/persistentvolumeclaims",
    "/api/v1/persistentvolumes",
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/resource.k8s.io/v1/deviceclasses",
    "/apis/resource.k8s.io/v1/resourceclaims",
    "/apis/resource.k8s.io/v1/resourceclaimtemplates",
    "/apis/resource.k8s.io/v1/resourceslices",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/storage.k8s.io/v1/csinodes",
    "/apis/storage.k8s.io/v1/csistoragecapacities",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/volumeattachments",
)
_TEST_LABEL = {"test": "granted"}
_NO_USERS: Mapping[str, Sequence[str]] = {}


class ControlPlane:
    """One etcd and one kube-apiserver with their files in one folder.

    Attributes:
        folder: everything they write.
        server: the address, `https://127.0.0.1:<port>`.
        ca_file: what signs the server's certificate; exists once it has started.
        key_file: what signs service account tokens; exists once it has started.
        tokens: bearer token by user; `admin` may do everything, any other user nothing until RBAC
            objects of the test say so.
        client_authority: signs certificates of users; the common name is the user's, the
            organization a group.
        etcd: the process, which can be killed and started again on its data.
        api_server: the process, which can be killed and started again on its port.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        *,
        users: Mapping[str, Sequence[str]] = _NO_USERS,
        flags: Sequence[str] = (),
        has_controller_manager: bool = False,
    ) -> None:
        """Prepare the files; `users` maps further users to their groups.

        Args:
            folder: an empty or missing folder.
            users: groups by user name; the API server reads them once, at its start.
            flags: further flags of kube-apiserver, such as THROUGHPUT_FLAGS.
            has_controller_manager: whether pods need a service account, and new nodes are tainted
                until they are ready, as by default; both need a controller manager.
        """
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        groups = {ADMIN: ["system:masters"]} | {name: list(user) for name, user in users.items()}
        self.tokens = {user: secrets.token_urlsafe(24) for user in groups}
        self._write_token_file(groups)
        self.client_authority = trustme.CA()
        self.client_authority.cert_pem.write_to_path(folder / "client-ca.crt")
        self.ca_file = folder / "certificates" / "apiserver.crt"
        # kube-apiserver signs a certificate for itself into --cert-dir before it reads the service
        # account key (Options.Complete in pkg/controlplane/apiserver/options), one key does both.
        self.key_file = folder / "certificates" / "apiserver.key"
        if not has_controller_manager:
            flags = (*flags, _WITHOUT_CONTROLLER_MANAGER)
        etcd_address = f"http://127.0.0.1:{process.free_port()}"
        port = process.free_port()
        self.server = f"https://127.0.0.1:{port}"
        self.etcd = self._etcd(etcd_address)
        self.api_server = self._api_server(etcd_address, port, flags)
        self._client: api_client.ApiClient | None = None

    def __enter__(self) -> Self:
        """Start, and stop again if that fails."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    @property
    def client(self) -> api_client.ApiClient:
        """The client of the user `admin`."""
        if self._client is None:
            self._client = self.client_of(ADMIN)
        return self._client

    def client_of(self, user: str) -> api_client.ApiClient:
        """Return a client that speaks as `user`."""
        return api_client.ApiClient(self.server, token=self.tokens[user], ca_file=self.ca_file)

    def start(self) -> None:
        """Start both processes and return when /readyz answers exactly `ok`.

        Raises:
            process.ProcessError: one of them ended or was not ready in time.
        """
        try:
            self.etcd.start()
            self.api_server.start()
            self.wait_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kill both processes; the folder stays."""
        self.api_server.kill()
        self.etcd.kill()

    def wait_ready(self) -> None:
        """Return when /readyz answers exactly `ok`, for example after a restart.

        Raises:
            process.ProcessError: the API server ended or was not ready in time.
        """
        self.api_server.wait_until(self._is_ready, time_limit_seconds=START_LIMIT_SECONDS)

    def write_kubeconfig(self, path: pathlib.Path, *, user: str = ADMIN) -> pathlib.Path:
        """Write a kubeconfig of `user`, readable by the owner alone, and return its path."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [
                {
                    "name": "test",
                    "cluster": {
                        "server": self.server,
                        "certificate-authority": str(self.ca_file.resolve()),
                    },
                },
            ],
            "users": [{"name": user, "user": {"token": self.tokens[user]}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
        }
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        return path

    def grant(self, user: str, rules: Sequence[Mapping[str, object]]) -> None:
        """Let `user` do what the RBAC `rules` say, in every namespace."""
        role = f"test:{user}"
        metadata = {"name": role, "labels": _TEST_LABEL}
        self.client.create(f"{_RBAC}/clusterroles", {"metadata": metadata, "rules": list(rules)})
        self.give_role(user, role)

    def give_role(self, user: str, role: str) -> None:
        """Let `user` do what a ClusterRole says, in every namespace."""
        binding = {
            "metadata": {"name": f"test:{user}:{role}", "labels": _TEST_LABEL},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": role,
            },
            "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user},
            ],
        }
        self.client.create(f"{_RBAC}/clusterrolebindings", binding)

    def clear(self) -> None:
        """Delete all nodes, pods, events, and what `grant` gave.

        Storage objects, objects about devices and budgets are deleted, too.
        """
        for kind in ("pods", "events"):
            namespaces = {
                one["metadata"]["namespace"] for one in self.client.items(f"/api/v1/{kind}")
            }
            for namespace in namespaces:
                self.client.delete(f"/api/v1/namespaces/{namespace}/{kind}")
        self.client.delete("/api/v1/nodes")
        for collection in _OTHERS:
            self._clear_collection(collection)
        for kind in ("clusterrolebindings", "clusterroles"):
            for granted in self.client.items(f"{_RBAC}/{kind}", labelSelector="test=granted"):
                self.client.delete(f"{_RBAC}/{kind}/{granted['metadata']['name']}")

    def _clear_collection(self, collection: str) -> None:
        """Delete all objects of a collection, whose finalizers no controller removes.

        A controller that is there may be faster.
        """
        group, kind = collection.rsplit("/", 1)
        for item in self.client.items(collection):
            meta = item["metadata"]
            folder = f"namespaces/{meta['namespace']}/{kind}" if "namespace" in meta else kind
            path = f"{group}/{folder}/{meta['name']}"
            try:
                self.client.patch(path, {"metadata": {"finalizers": None}})
                self.client.delete(path)
            except api_client.ApiError as error:
                if error.reason != "NotFound":
                    raise

    def _is_ready(self) -> bool:
        if not self.ca_file.exists():
            return False
        try:
            return self.client.raw("GET", "/readyz") == b"ok"
        except (api_client.ApiError, api_client.TransportError):
            return False

    def _write_token_file(self, groups: Mapping[str, Sequence[str]]) -> None:
        file = self.folder / "tokens.csv"
        file.touch(mode=0o600)
        rows = [
            f'{self.tokens[user]},{user},{user},"{",".join(names)}"\n'
            for user, names in groups.items()
        ]
        file.write_text("".join(rows), encoding="utf-8")

    def _etcd(self, address: str) -> process.ServerProcess:
        peer_address = f"http://127.0.0.1:{process.free_port()}"
        command = [
            str(components.binary("etcd")),
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={address}",
            f"--advertise-client-urls={address}",
            f"--listen-peer-urls={peer_address}",
            f"--initial-advertise-peer-urls={peer_address}",
            f"--initial-cluster=default={peer_address}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]
        return process.ServerProcess(command, log=self.folder / "etcd.log")

    def _api_server(
        self, etcd_address: str, port: int, flags: Sequence[str]
    ) -> process.ServerProcess:
        command = [
            str(components.binary("kube-apiserver")),
            f"--etcd-servers={etcd_address}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self.ca_file.parent}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",
            "--authorization-mode=RBAC",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            f"--client-ca-file={self.folder / 'client-ca.crt'}",
            f"--service-account-issuer={self.server}",
            f"--service-account-key-file={self.key_file}",
            f"--service-account-signing-key-file={self.key_file}",
            "--delete-collection-workers=16",
            *flags,
        ]
        return process.ServerProcess(command, log=self.folder / "kube-apiserver.log")
