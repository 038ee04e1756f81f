"""Who we are to the API server: a bearer token, a client certificate, or both, kept fresh.

Credentials are loaded again once a minute (token files and certificates are rotated on disk, exec
plugins and OIDC tokens expire) and at once when the server answers 401. A renewal that fails
leaves the old credential in use: it may still be good. Nothing here shows a secret in its repr or
in a log.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import pathlib
import ssl
import tempfile
from typing import Protocol

from policysched import clock as clocks
from policysched import errors as base_errors
from policysched.kube import errors

_logger = logging.getLogger(__name__)

RENEW_SECONDS = 60.0
"""As client-go re-reads token files (transport/token_source.go) and certificates."""

REPLACE_SECONDS = 5.0
"""A plugin runs no more often than this, however many calls are refused."""


@dataclasses.dataclass(frozen=True, slots=True)
class Credential:
    """One set of secrets.

    Attributes:
        authorization: value of the Authorization header, "" for none.
        certificate: client certificate chain in PEM, b"" for none.
        key: its private key in PEM.
    """

    authorization: str = dataclasses.field(default="", repr=False)
    certificate: bytes = dataclasses.field(default=b"", repr=False)
    key: bytes = dataclasses.field(default=b"", repr=False)


class CredentialSource(Protocol):
    """Where credentials come from."""

    async def load(self, *, is_rejected: bool) -> Credential:
        """Return what is valid now; `is_rejected` says that the last one was answered with 401.

        Raises:
            KubeconfigError, CredentialError: there is none.
        """
        ...


class Credentials:
    """The newest credential of a source.

    Attributes:
        certificate_generation: counts changes of the client certificate; connections that were
            opened before such a change still speak for the old one.
    """

    def __init__(
        self,
        source: CredentialSource,
        first: Credential,
        clock: clocks.Clock,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """Start with `first`, already loaded from `source`.

        Args:
            source: asked again at each renewal.
            first: what it gave at the start.
            clock: says when a renewal is due.
            ssl_context: gets the client certificate whenever it changes.

        Raises:
            KubeconfigError: the certificate and key do not make a pair.
        """
        self.certificate_generation = 0
        self._source = source
        self._clock = clock
        self._ssl_context = ssl_context
        self._current = Credential()
        self._lock = asyncio.Lock()
        self._replaceable_at_seconds = clock.monotonic_seconds()
        self._use_credential(first)
        self._due_at_seconds = clock.monotonic_seconds() + RENEW_SECONDS

    def __repr__(self) -> str:
        """Name the kind of source and nothing else."""
        return f"Credentials({type(self._source).__name__})"

    @property
    def authorization(self) -> str:
        """Value of the Authorization header, "" for none."""
        return self._current.authorization

    def is_renewal_due(self) -> bool:
        """Return whether the credential should be loaded again."""
        return self._clock.monotonic_seconds() >= self._due_at_seconds

    async def renew_credential(self) -> None:
        """Load the credential again; from that moment on it is not due."""
        async with self._lock:
            await self._load_credential(is_rejected=False)

    async def replace_rejected(self, rejected: str) -> bool:
        """Load another credential after the server refused one.

        Args:
            rejected: the Authorization header that got a 401.

        Returns:
            Whether there is reason to try again.
        """
        async with self._lock:
            if rejected != self.authorization:  # another request was faster
                return True
            if self._clock.monotonic_seconds() < self._replaceable_at_seconds:
                return False
            self._replaceable_at_seconds = self._clock.monotonic_seconds() + REPLACE_SECONDS
            generation = self.certificate_generation
            await self._load_credential(is_rejected=True)
            return rejected != self.authorization or generation != self.certificate_generation

    async def _load_credential(self, *, is_rejected: bool) -> None:
        self._due_at_seconds = self._clock.monotonic_seconds() + RENEW_SECONDS
        try:
            self._use_credential(await self._source.load(is_rejected=is_rejected))
        except base_errors.PolicySchedError as error:
            _logger.warning("keeping the old credential, it could not be renewed: %s", error)

    def _use_credential(self, credential: Credential) -> None:
        pair = (credential.certificate, credential.key)
        if credential.certificate and pair != (self._current.certificate, self._current.key):
            self._load_certificate(credential)
            self.certificate_generation += 1
        self._current = credential

    def _load_certificate(self, credential: Credential) -> None:
        """Hand the pair to the TLS library, which reads files only, and remove the files."""
        if self._ssl_context is None:
            return
        with tempfile.TemporaryDirectory(prefix="policysched-") as folder:
            certificate = pathlib.Path(folder, "tls.crt")
            key = pathlib.Path(folder, "tls.key")
            certificate.write_bytes(credential.certificate)
            key.write_bytes(credential.key)  # the folder is readable by us alone
            try:
                self._ssl_context.load_cert_chain(certificate, key)
            except (ssl.SSLError, OSError) as error:
                raise errors.KubeconfigError(
                    "client certificate",
                    "the certificate and its key cannot be used together",
                    help="both must be PEM, and the key must belong to the certificate",
                ) from error


def make_authorization_header(token: str, where: str) -> str:
    """Return `token`, already with its scheme, in the form that may stand in a header.

    Raises:
        KubeconfigError: it holds characters that cannot.
    """
    text = token.strip()
    if not text.isascii() or not text.isprintable():
        raise errors.KubeconfigError(where, "the token holds characters that no token has")
    return text
