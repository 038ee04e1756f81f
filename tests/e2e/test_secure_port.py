"""The secure port of a standby: TLS, and who may see what, as a real API server says it."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import signal
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
import trustme
import urllib3
import yaml

from tests.app import operations_page
from tests.e2e.scenes import failover_scene, scheduler_process
from tests.realcluster import api_client, process
from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

GRANTED = yaml.safe_load(operations_page.BLOCKS["scraper.yaml"])["rules"]
READER = "nobody"
LEASE_OF_ANOTHER = {
    "metadata": {"name": "policysched", "namespace": "kube-system"},
    "spec": {
        "holderIdentity": "another",
        "leaseDurationSeconds": 3600,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z",
    },
}


@dataclasses.dataclass
class Answer:
    """What came back."""

    status: int
    body: bytes

    @property
    def text(self) -> str:
        """The body."""
        return self.body.decode()

    @property
    def message(self) -> str:
        """What a v1 Status says."""
        return str(orjson.loads(self.body)["message"])


class Secured:
    """A policysched that stands by, and its secure port.

    Attributes:
        folder: holds `tls.crt` and `tls.key`, by a symlink that is swapped as the kubelet does.
        scheduler: the process.
    """

    def __init__(self, plane: control_planes.ControlPlane, folder: pathlib.Path) -> None:
        self.folder = folder
        self.authority = trustme.CA()
        self._generation = 0
        self.mount(self.authority.issue_cert("127.0.0.1"))
        self.port = process.free_port()
        self.scheduler = scheduler_process.PolicyScheduler(
            plane,
            folder,
            flags=[
                "--leader-elect",
                f"--secure-address=127.0.0.1:{self.port}",
                f"--cert-file={folder / 'mounted' / 'tls.crt'}",
                f"--key-file={folder / 'mounted' / 'tls.key'}",
            ],
        )

    def mount(self, certificate: trustme.LeafCert, *, key: bytes | None = None) -> None:
        """Write a version of the secret and swap the link to it; with another `key`, if given."""
        self._generation += 1
        version = self.folder / f"version-{self._generation}"
        version.mkdir()
        certificate.cert_chain_pems[0].write_to_path(version / "tls.crt")
        (version / "tls.key").write_bytes(key or certificate.private_key_pem.bytes())
        link = self.folder / f"link-{self._generation}"
        link.symlink_to(version)
        link.replace(self.folder / "mounted")

    def ask(
        self, path: str, token: str = "", *, certificate: trustme.LeafCert | None = None
    ) -> Answer:
        """Ask for a page over a connection of its own."""
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        if certificate is not None:
            certificate.configure_cert(context)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with urllib3.HTTPSConnectionPool(
            "127.0.0.1", self.port, ssl_context=context, retries=False, timeout=30.0
        ) as pool:
            answer = pool.request("GET", path, headers=headers)
            return Answer(answer.status, answer.data)

    def serial_number(self) -> int:
        """Return the number of the certificate that is shown to a new connection."""
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        with (
            socket.create_connection(("127.0.0.1", self.port)) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
        ):
            certificate: Any = connection.getpeercert()
        return int(certificate["serialNumber"], 16)

    def is_ready(self) -> bool:
        """Return whether /readyz answers `ok`."""
        try:
            return self.ask("/readyz").status == 200
        except urllib3.exceptions.HTTPError:
            return False


@pytest.fixture(scope="module")
def secured(
    shared_control_plane: control_planes.ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Secured]:
    """A standby: another process holds the lease, for an hour."""
    client = shared_control_plane.client
    with contextlib.suppress(api_client.ApiError):  # there is none
        client.delete(failover_scene.LEASE)
    client.create(failover_scene.LEASES, LEASE_OF_ANOTHER)
    try:
        made = Secured(shared_control_plane, tmp_path_factory.mktemp("secured"))
        with made.scheduler:
            made.scheduler.wait_until(made.is_ready)
            yield made
    finally:
        client.delete(failover_scene.LEASE)


def test_who_may_see_what_is_said_by_the_api_server(
    control_plane: control_planes.ControlPlane, namespace: str, secured: Secured
) -> None:
    """Tokens, service accounts and certificates of the cluster; nobody else sees anything.

    A standby asks it too, though it may write nothing; and it stays ready when it leads.
    """
    assert secured.ask("/livez").text == "ok"
    assert "[+]informer-sync ok\n" in secured.ask("/readyz?verbose").text
    nameless = secured.ask("/metrics")
    assert nameless.status == 403
    assert 'User "system:anonymous" cannot get path "/metrics"' in nameless.message
    assert secured.ask("/metrics", "not-a-token").status == 401
    known = control_plane.tokens[READER]
    assert f'User "{READER}" cannot get path' in secured.ask("/metrics", known).message

    control_plane.grant(READER, GRANTED)
    secured.scheduler.wait_until(lambda: secured.ask("/metrics", known).status == 200)
    metrics = secured.ask("/metrics", known).text
    assert 'leader_election_master_status{name="policysched"} 0.0' in metrics
    assert secured.ask("/debug/tasks", known).status == 403
    assert secured.ask("/livez/ping", known).status == 403

    admin = control_plane.tokens[control_planes.ADMIN]
    assert "/debug/tasks" in secured.ask("/debug/", admin).text
    assert "run" in secured.ask("/debug/tasks", admin).text
    assert secured.ask("/debug/config", admin).status == 200
    status = orjson.loads(secured.ask("/debug/status", admin).body)
    assert (status["isLeading"], status["leaseHolder"]) == (False, "another")
    assert status["lease"] == "kube-system/policysched"
    assert secured.ask("/readyz/informer-sync", admin).text == "ok"

    token = _service_account_token(control_plane, namespace)
    assert secured.ask("/metrics", token).status == 403
    certificate = control_plane.client_authority.issue_cert("x.test", common_name=READER)
    secured.scheduler.wait_until(
        lambda: secured.ask("/metrics", certificate=certificate).status == 200
    )
    with pytest.raises(urllib3.exceptions.HTTPError):
        secured.ask("/metrics", certificate=trustme.CA().issue_cert("x.test", common_name=READER))

    _take_over(control_plane, secured)


def _take_over(plane: control_planes.ControlPlane, secured: Secured) -> None:
    """Let the standby lead: it stays ready, though it lists all pods once more."""
    admin = plane.tokens[control_planes.ADMIN]
    plane.client.patch(failover_scene.LEASE, {"spec": {"holderIdentity": ""}})
    statuses: set[int] = set()

    def leads() -> bool:
        statuses.add(secured.ask("/readyz").status)
        metrics = secured.ask("/metrics", admin).text
        return 'leader_election_master_status{name="policysched"} 1.0' in metrics

    secured.scheduler.wait_until(leads)
    for _ in range(10):
        statuses.add(secured.ask("/readyz").status)
        assert secured.ask("/livez?verbose").text.endswith("livez check passed\n")
    assert statuses == {200}


def _service_account_token(plane: control_planes.ControlPlane, namespace: str) -> str:
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    plane.client.create(accounts, {"metadata": {"name": "prometheus"}})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    made = plane.client.create(f"{accounts}/prometheus/token", request)
    return str(made["status"]["token"])


def test_a_certificate_is_read_again_when_it_changes(secured: Secured) -> None:
    """A pair that does not belong together leaves the old one in use, until it is whole."""
    first = secured.serial_number()
    newer = secured.authority.issue_cert("127.0.0.1")
    secured.mount(newer, key=secured.authority.issue_cert("127.0.0.1").private_key_pem.bytes())
    secured.scheduler.wait_until(lambda: _is_refused(secured))
    assert secured.serial_number() == first
    secured.mount(newer)
    secured.scheduler.wait_until(lambda: secured.serial_number() != first)
    assert secured.ask("/livez").text == "ok"


def _is_refused(secured: Secured) -> bool:
    secured.ask("/livez")  # files are looked at when somebody comes
    return "keeping the old certificate" in secured.scheduler.process.log_tail()


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
def test_a_port_without_certificate_makes_one(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """It is good for whoever does not look, as probes do not, and ends with the process."""
    port = process.free_port()
    flags = [f"--secure-address=127.0.0.1:{port}"]
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler,
        urllib3.HTTPSConnectionPool(
            "127.0.0.1", port, ssl_context=context, retries=False, timeout=30.0
        ) as pool,
    ):

        def is_ready() -> bool:
            try:
                return pool.request("GET", "/readyz").status == 200
            except urllib3.exceptions.HTTPError:
                return False

        scheduler.wait_until(is_ready)
        assert pool.request("GET", "/metrics").status == 403
        scheduler.process.signal(signal.SIGTERM)
        assert scheduler.process.wait(60.0) == 0
