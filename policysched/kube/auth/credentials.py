"""Credentials for the API server: a bearer token, a client certificate, or both, kept fresh.

Credentials are loaded again once a minute (token files and certificates are rotated on disk, exec
plugins and OIDC tokens expire) and immediately if the server answers 401. If a renewal fails, the
old credential stays in use, because it may still be valid. No repr or log message of this module
contains a secret.
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
"""The period at which client-go re-reads token files (transport/token_source.go) and
certificates."""

REPLACE_SECONDS = 5.0
"""Minimum interval between two replacements, so that not every refused call runs a plugin."""


@dataclasses.dataclass(frozen=True, slots=True)
class Credential:
    """One set of secrets.

    Attributes:
        authorization: value of the Authorization header, or "" for none.
        certificate: client certificate chain in PEM, or b"" for none.
        key: private key of the certificate in PEM.
    """

    authorization: str = dataclasses.field(default="", repr=False)
    certificate: bytes = dataclasses.field(default=b"", repr=False)
    key: bytes = dataclasses.field(default=b"", repr=False)


class CredentialSource(Protocol):
    """Loads the current credential on each call."""

    async def load(self, *, is_rejected: bool) -> Credential:
        """Return the current credential.

        Args:
            is_rejected: whether the server answered 401 to the last credential.

        Raises:
            KubeconfigError, CredentialError: there is no usable credential.
        """
        ...


class Credentials:
    """The newest credential of a source, renewed on request.

    Attributes:
        certificate_generation: number of times that the client certificate has changed; connections
            opened before the newest change still use the old certificate.
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
            source: loads the credential at each renewal.
            first: the source's first credential.
            clock: determines when a renewal is due.
            ssl_context: receives each new client certificate.

        Raises:
            KubeconfigError: the certificate and the key do not match.
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
        """Return a description that contains the kind of source but no secret."""
        return f"Credentials({type(self._source).__name__})"

    @property
    def authorization(self) -> str:
        """The value of the Authorization header, or "" for none."""
        return self._current.authorization

    def is_renewal_due(self) -> bool:
        """Return whether RENEW_SECONDS have passed since the last load."""
        return self._clock.monotonic_seconds() >= self._due_at_seconds

    async def renew_credential(self) -> None:
        """Load the credential again; even if that fails, the next renewal waits RENEW_SECONDS."""
        async with self._lock:
            await self._load_credential(is_rejected=False)

    async def replace_rejected_credential(self, rejected: str) -> bool:
        """Load another credential after the server refused one.

        Args:
            rejected: the Authorization header that the server answered with 401.

        Returns:
            Whether the credential has changed, so that the call is worth another attempt.
        """
        async with self._lock:
            if rejected != self.authorization:  # another call has already replaced it
                return True
            if self._clock.monotonic_seconds() < self._replaceable_at_seconds:
                return False
            self._replaceable_at_seconds = self._clock.monotonic_seconds() + REPLACE_SECONDS
            generation = self.certificate_generation
            await self._load_credential(is_rejected=True)
            return rejected != self.authorization or generation != self.certificate_generation

    async def _load_credential(self, *, is_rejected: bool) -> None:
        # Set this before loading, so that requests do not call a failing source every time.
        self._due_at_seconds = self._clock.monotonic_seconds() + RENEW_SECONDS
        try:
            self._use_credential(await self._source.load(is_rejected=is_rejected))
        except base_errors.PolicySchedError as error:
            _logger.warning("the credential could not be renewed, keeping the old one: %s", error)

    def _use_credential(self, credential: Credential) -> None:
        pair = (credential.certificate, credential.key)
        if credential.certificate and pair != (self._current.certificate, self._current.key):
            self._load_certificate(credential)
            self.certificate_generation += 1
        self._current = credential

    def _load_certificate(self, credential: Credential) -> None:
        """Load the certificate and key into the TLS context through temporary files.

        A TLS context can read only files; they are deleted afterwards.
        """
        if self._ssl_context is None:
            return
        with tempfile.TemporaryDirectory(prefix="policysched-") as folder:
            certificate = pathlib.Path(folder, "tls.crt")
            key = pathlib.Path(folder, "tls.key")
            certificate.write_bytes(credential.certificate)
            key.write_bytes(credential.key)  # only this user can read the folder
            try:
                self._ssl_context.load_cert_chain(certificate, key)
            except (ssl.SSLError, OSError) as error:
                raise errors.KubeconfigError(
                    "client certificate",
                    "the certificate and its key cannot be used together",
                    help="both must be PEM, and the key must belong to the certificate",
                ) from error


def make_authorization_header(token: str, where: str) -> str:
    """Return `token`, which includes its scheme, as the value of an Authorization header.

    Raises:
        KubeconfigError: it contains characters that a header must not contain.
    """
    text = token.strip()
    if not text.isascii() or not text.isprintable():
        raise errors.KubeconfigError(where, "the token contains invalid characters")
    return text
