from __future__ import annotations

import contextlib
import os
import pathlib
import ssl

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from policysched import clock as clocks
from policysched import errors
from policysched.serving import certificates


@pytest.fixture
def clock() -> clocks.ManualClock:
    """The real date: OpenSSL compares validity with it."""
    return clocks.ManualClock(clocks.SystemClock().now())


class Folder:
    """Files of a certificate and its key."""

    def __init__(self, path: pathlib.Path) -> None:
        self.authority = trustme.CA()
        self.cert_file = path / "tls.crt"
        self.key_file = path / "tls.key"
        self._written = 0

    def new(self) -> trustme.LeafCert:
        """Return another certificate."""
        return self.authority.issue_cert("127.0.0.1")

    def write(self, certificate: trustme.LeafCert, key: bytes | None = None) -> None:
        """Write both files, later than before."""
        certificate.cert_chain_pems[0].write_to_path(self.cert_file)
        self.key_file.write_bytes(key or certificate.private_key_pem.bytes())
        self._written += 1
        for file in (self.cert_file, self.key_file):
            os.utime(file, (self._written, self._written))

    def pair(self) -> certificates.CertificateFiles:
        """Return both files."""
        return certificates.CertificateFiles(str(self.cert_file), str(self.key_file))


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> Folder:
    """Both files are there."""
    made = Folder(tmp_path)
    made.write(made.new())
    return made


def _shown(server: ssl.SSLContext) -> bytes:
    """Return the certificate that a handshake in memory shows."""
    connection = _handshake(server, _anybody())
    certificate = connection.getpeercert(binary_form=True)
    assert certificate is not None
    return certificate


def _anybody() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> ssl.SSLObject:
    """Return the client's end of a connection."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname="127.0.0.1"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
    return ends[0]


def test_files_are_read_again_when_they_change(
    folder: Folder, clock: clocks.ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A pair that does not belong together leaves the old one in use, and is told once."""
    tls = certificates.CertificateReloader(folder.pair(), clock)
    first = _shown(tls.get_tls_context())
    newer = folder.new()
    folder.write(newer, key=folder.new().private_key_pem.bytes())
    for _ in range(3):
        clock.advance(certificates.LOOK_SECONDS)
        assert _shown(tls.get_tls_context()) == first
    assert caplog.text.count("keeping the old certificate") == 1
    folder.write(newer)
    clock.advance(certificates.LOOK_SECONDS)
    second = _shown(tls.get_tls_context())
    assert second == ssl.PEM_cert_to_DER_cert(newer.cert_chain_pems[0].bytes().decode())
    assert first != second


@pytest.mark.parametrize("missing", ["cert_file", "key_file"])
def test_a_file_that_is_gone_for_a_while_does_no_harm(
    missing: str, folder: Folder, clock: clocks.ManualClock
) -> None:
    """The old certificate is shown until both files are there again."""
    tls = certificates.CertificateReloader(folder.pair(), clock)
    first = _shown(tls.get_tls_context())
    getattr(folder, missing).unlink()
    clock.advance(certificates.LOOK_SECONDS)
    assert _shown(tls.get_tls_context()) == first
    folder.write(folder.new())
    clock.advance(certificates.LOOK_SECONDS)
    assert _shown(tls.get_tls_context()) != first


def test_files_are_looked_at_once_a_second(folder: Folder, clock: clocks.ManualClock) -> None:
    """However many connections come."""
    tls = certificates.CertificateReloader(folder.pair(), clock)
    before = tls.get_tls_context()
    folder.write(folder.new())
    assert tls.get_tls_context() is before


def _encrypted(certificate: trustme.LeafCert) -> bytes:
    key = serialization.load_pem_private_key(certificate.private_key_pem.bytes(), None)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )


@pytest.mark.parametrize("fault", ["other-key", "no-pem", "password", "missing"])
def test_what_cannot_be_used_at_the_start_is_an_error(
    fault: str, folder: Folder, clock: clocks.ManualClock
) -> None:
    """It names the file, says why, and asks nobody for a password."""
    certificate = folder.new()
    match fault:
        case "other-key":
            folder.write(certificate, key=folder.new().private_key_pem.bytes())
        case "no-pem":
            folder.write(certificate, key=b"no key")
        case "password":
            folder.write(certificate, key=_encrypted(certificate))
        case _:
            folder.key_file.unlink()
    with pytest.raises(errors.ConfigurationError, match="the certificate cannot be used") as caught:
        certificates.CertificateReloader(folder.pair(), clock)
    named = folder.key_file if fault == "missing" else folder.cert_file
    assert str(named) in str(caught.value)


def test_a_certificate_of_our_own_is_good_for_the_names_of_the_machine(
    clock: clocks.ManualClock,
) -> None:
    """Who is told to trust it finds it right, by name and by address."""
    own = certificates.SelfSignedCertificate(certificates.list_own_host_names("127.0.0.1"), clock)
    tls = certificates.CertificateReloader(own, clock)
    pem = ssl.DER_cert_to_PEM_cert(_shown(tls.get_tls_context()))
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_verify_locations(cadata=pem)
    assert _handshake(tls.get_tls_context(), client).version() == "TLSv1.3"


def test_old_protocols_and_ciphers_are_refused(folder: Folder, clock: clocks.ManualClock) -> None:
    """TLS 1.2 with forward secrecy is the least."""
    server = certificates.CertificateReloader(folder.pair(), clock).get_tls_context()
    assert server.minimum_version == ssl.TLSVersion.TLSv1_2
    client = _anybody()
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    cipher = _handshake(server, client).cipher()
    assert cipher is not None
    assert cipher[0].startswith("ECDHE-")
    client.set_ciphers("AES128-SHA:AES256-GCM-SHA384")
    with pytest.raises(ssl.SSLError):
        _handshake(server, client)


def test_clients_may_show_a_certificate_of_the_authority(
    folder: Folder, clock: clocks.ManualClock
) -> None:
    """Of no other one; and another authority takes the place of the former."""
    tls = certificates.CertificateReloader(folder.pair(), clock)
    first, second = trustme.CA(), trustme.CA()
    for trusted, other in ((first, second), (second, first)):
        tls.trust_client_authority(trusted.cert_pem.bytes().decode())
        _handshake(tls.get_tls_context(), _anybody())
        _handshake(tls.get_tls_context(), _signed_by(trusted))
        with pytest.raises(ssl.SSLError):
            _handshake(tls.get_tls_context(), _signed_by(other))


def _signed_by(authority: trustme.CA) -> ssl.SSLContext:
    client = _anybody()
    authority.issue_cert("x.test").configure_cert(client)
    return client


def test_an_authority_that_is_no_certificate_changes_nothing(
    folder: Folder, clock: clocks.ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told."""
    tls = certificates.CertificateReloader(folder.pair(), clock)
    before = tls.get_tls_context()
    tls.trust_client_authority("no certificate")
    assert tls.get_tls_context() is before
    assert "still checked with the previous" in caplog.text
