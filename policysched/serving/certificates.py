"""TLS settings of the secure port: the serving certificate and the trusted client authorities.

Certificate files are read again when they change; a mounted secret changes when a symlink is
swapped. If the files cannot be used (one is newer than the other, or only half written), the old
certificate stays in use. Each connection keeps the settings with which it started, so a change does
not interrupt connections.
"""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import logging
import os
import pathlib
import socket
import ssl
from collections.abc import Iterator

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import oid

from policysched import clock as clocks
from policysched import errors

_log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Minimum interval between two checks of the files for changes."""
_SELF_SIGNED_DAYS = 365
_BEFORE = datetime.timedelta(hours=1)
"""Backdating of self-signed certificates, because clocks of clients can be behind."""
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Cipher suites of TLS 1.2 with forward secrecy and authenticated encryption, as in TLS 1.3."""

_Fingerprint = tuple[tuple[int, int, int], ...]
"""For each file: the inode, the time of the last change in ns, and the size."""


class CertificateFiles:
    """A certificate chain and its key in PEM files."""

    def __init__(self, cert_file: str, key_file: str) -> None:
        """Set the paths without reading the files."""
        self._files = (pathlib.Path(cert_file), pathlib.Path(key_file))
        self.name = cert_file

    def compute_fingerprint(self) -> _Fingerprint:
        """Return a value that changes when a file changes or a symlink points to another file.

        Raises:
            OSError: a file is missing.
        """
        found = (file.stat() for file in self._files)
        return tuple((each.st_ino, each.st_mtime_ns, each.st_size) for each in found)

    def load_into_context(self, context: ssl.SSLContext) -> None:
        """Load the certificate into `context`.

        Raises:
            OSError: a file cannot be read, or the key does not match (ssl.SSLError).
        """
        cert_file, key_file = self._files
        context.load_cert_chain(cert_file, key_file, password=_refuse_password)


class SelfSignedCertificate:
    """A self-signed certificate that is generated at the start of the process."""

    name = "a self-signed certificate"

    def __init__(self, hosts: tuple[str, ...], clock: clocks.Clock) -> None:
        """Generate a key, and a certificate for the names and addresses `hosts`."""
        self._chain, self._key = _make_self_signed_pair(hosts, clock.now())

    def compute_fingerprint(self) -> _Fingerprint:
        """Return a constant, because the certificate does not change."""
        return ()

    def load_into_context(self, context: ssl.SSLContext) -> None:
        """Load the certificate into `context` through in-memory files: OpenSSL reads only files."""
        with _open_memory_file(self._chain) as chain, _open_memory_file(self._key) as key:
            context.load_cert_chain(chain, key)


class CertificateReloader:
    """Provides the newest usable TLS settings; see `http_server.TlsContextSource`."""

    def __init__(self, pair: CertificateFiles | SelfSignedCertificate, clock: clocks.Clock) -> None:
        """Load the certificate and the key.

        Raises:
            ConfigurationError: the pair cannot be used.
        """
        self._pair = pair
        self._clock = clock
        self._authority = ""
        self._refused: object = None
        self._looked_at_seconds = clock.monotonic_seconds()
        try:
            self._fingerprint = pair.compute_fingerprint()
            self._context = _make_tls_context(pair, "")
        except OSError as error:
            raise errors.ConfigurationError(
                f"`{error.filename or pair.name}`",
                f"the certificate cannot be used: {_describe_certificate_problem(error)}",
                help=(
                    "both files must be PEM, and the key must belong to the certificate and have "
                    "no password"
                ),
            ) from error

    def get_tls_context(self) -> ssl.SSLContext:
        """Return the TLS settings for the next connection; reload changed files first."""
        now_seconds = self._clock.monotonic_seconds()
        if now_seconds - self._looked_at_seconds >= LOOK_SECONDS:
            self._looked_at_seconds = now_seconds
            self._reload_if_changed()
        return self._context

    def trust_client_authority(self, authority: str) -> None:
        """Accept client certificates signed by `authority` (PEM; "" for none) from now on.

        If `authority` is unusable, log a warning and keep the previous authority.
        """
        if authority == self._authority:
            return
        try:
            self._context = _make_tls_context(self._pair, authority)
        except (OSError, ValueError) as error:
            _log.warning(
                "client certificates are still checked with the previous authorities: %s",
                _describe_certificate_problem(error),
            )
            return
        self._authority = authority

    def _reload_if_changed(self) -> None:
        """Load the pair if it has changed; log each unusable version once."""
        found: _Fingerprint | None = None
        try:
            found = self._pair.compute_fingerprint()
            if found == self._fingerprint:
                return
            self._context = _make_tls_context(self._pair, self._authority)
        except OSError as error:
            problem = (found, _describe_certificate_problem(error))
            if problem != self._refused:
                self._refused = problem
                _log.warning("keeping the old certificate: %s: %s", self._pair.name, problem[1])
            return
        self._fingerprint, self._refused = found, None
        _log.info("the certificate was reloaded: %s", self._pair.name)


def _make_tls_context(
    pair: CertificateFiles | SelfSignedCertificate, authority: str
) -> ssl.SSLContext:
    """Return a TLS context with the certificate and the trusted client authority.

    Raises:
        OSError, ValueError: a certificate, key or authority cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    # In a resumed session, the client certificate would not be verified again.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    pair.load_into_context(context)
    if authority:
        context.load_verify_locations(cadata=authority)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def _refuse_password() -> str:
    """Return a wrong password, so that OpenSSL does not prompt at the terminal."""
    return ""


def _describe_certificate_problem(error: Exception) -> str:
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)


@contextlib.contextmanager
def _open_memory_file(content: bytes) -> Iterator[str]:
    """Yield the path of an in-memory file with `content`."""
    number = os.memfd_create("policysched")
    try:
        with os.fdopen(os.dup(number), "wb") as file:
            file.write(content)
        yield f"/proc/self/fd/{number}"
    finally:
        os.close(number)


def list_own_host_names(host: str) -> tuple[str, ...]:
    """Return the names and addresses for the certificate of a server that listens on `host`."""
    names = ("localhost", "127.0.0.1", "::1", socket.gethostname(), host)
    return tuple(dict.fromkeys(each for each in names if each.isascii()))


def _make_self_signed_pair(hosts: tuple[str, ...], now: datetime.datetime) -> tuple[bytes, bytes]:
    """Return a self-signed certificate and its key in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, "policysched")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + datetime.timedelta(days=_SELF_SIGNED_DAYS))
        .add_extension(
            x509.SubjectAlternativeName([_make_general_name(each) for each in hosts]), False
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([oid.ExtendedKeyUsageOID.SERVER_AUTH]), False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return certificate.public_bytes(serialization.Encoding.PEM), secret


def _make_general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
