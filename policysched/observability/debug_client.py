"""Read pages of a running scheduler over its secure port.

The token is sent only to the server that the user named: redirects are refused, and the answer of a
server appears in messages only without secrets.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import pathlib
import ssl
import time
import urllib.parse
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from policysched import errors, server_urls
from policysched.observability import redaction

if TYPE_CHECKING:
    import requests

_TIMEOUT_SECONDS = 10.0
_BODY_SECONDS = 60.0
"""Limit of a body, from its first byte to its last."""
_CHUNK_BYTES = 1 << 16
_MAX_ANSWER_BYTES = 1 << 26
"""The map of 25,000 nodes has about a megabyte, and kept decisions have up to some ten."""
OK, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, GONE, TOO_MANY = 200, 401, 403, 404, 410, 429
_MAX_MESSAGE_CHARACTERS = 200


@dataclasses.dataclass(frozen=True, slots=True)
class DebugServerCredentials:
    """Credentials for a server, and how to verify its certificate.

    Attributes:
        token_file: path of a file with a bearer token; it is read for every request, so that a
            renewed token is used at once.
        ca_file: path of CA certificates, which replace the system's certificates.
        is_unverified: accept any certificate of the server.
    """

    token_file: str | None = None
    ca_file: str | None = None
    is_unverified: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class DebugAnswer:
    """An answer of the server.

    Attributes:
        url: the URL without the query.
        message: the first line of an answer that is no page, without secrets.
    """

    url: str
    status: int
    body: bytes
    message: str = ""


class DebugClient:
    """Asks one server for its pages.

    Attributes:
        origin: scheme, host and port of the server.
    """

    def __init__(self, where: str, access: DebugServerCredentials) -> None:
        """Ask the server of the URL `where`; nothing is sent yet.

        Raises:
            InputError: `where` is not the URL of a server, contains a user, or would send the token
                over the network without TLS; or there are no certificate authorities in their file.
        """
        parts = server_urls.split_server_url(where)
        if parts is None:
            advice = "write https://HOST:PORT, or the path of a file"
            raise errors.InputError(
                server_urls.format_url_for_message(where), "is not the URL of a server", help=advice
            )
        if "@" in parts.netloc:  # the origin is printed, and shown to every reader of the page
            raise errors.InputError(
                server_urls.format_url_for_message(where),
                "contains a user, which a scheduler ignores",
                help="remove it, and give --token-file",
            )
        host = parts.hostname or ""
        if access.token_file and parts.scheme == "http" and not _is_loopback(host):
            raise errors.InputError(
                server_urls.format_url_for_message(where),
                "has no TLS, so others on the network could read the token",
                help="write https://, or use `kubectl port-forward`",
            )
        if access.ca_file is not None:
            _check_ca_file(access.ca_file)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.path = parts.path
        self._access = access
        # A proxy of the environment is not for this machine: it would get the token.
        self._proxies = {"no_proxy": host} if _is_loopback(host) else {}
        if access.is_unverified:  # the user has chosen so; each request would warn again
            warnings.filterwarnings("ignore", message="Unverified HTTPS request")

    def ask(
        self,
        path: str,
        query: Mapping[str, str],
        timeout_seconds: float = _TIMEOUT_SECONDS,
    ) -> DebugAnswer:
        """Return the answer about a path, of any status.

        Raises:
            InputError: the token cannot be read, or the certificate is not trusted.
            RemoteError: the server could not be reached.
        """
        import requests  # noqa: PLC0415 - not needed for files
        import urllib3  # noqa: PLC0415 - as above

        url = urllib.parse.urljoin(self.origin, path)
        token = read_token(self._access.token_file) if self._access.token_file else ""
        try:
            with requests.get(
                url,
                params=query,
                proxies=self._proxies,
                auth=_BearerToken(token),
                timeout=timeout_seconds,
                verify=self._access.ca_file or not self._access.is_unverified,
                allow_redirects=False,  # only this server may receive the token
                stream=True,
            ) as answer:
                body = _read_body(answer, url)
        except requests.exceptions.SSLError as error:
            advice = "give --ca-file, or --insecure-skip-tls-verify for a self-signed certificate"
            raise errors.InputError(url, "the certificate is not trusted", help=advice) from error
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            raise errors.RemoteError(f"{url}: no answer: {type(error).__name__}") from error
        text = "" if answer.status_code == OK else body.decode(errors="replace")
        return DebugAnswer(url, answer.status_code, body, _extract_message(text, token))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # another name
        return False


def _check_ca_file(path: str) -> None:
    """Check that a file contains certificates; a request would say less, and later.

    Raises:
        InputError: the file cannot be read, or contains no certificate.
    """
    read_file(path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(path)
    except (ssl.SSLError, OSError):
        raise errors.InputError(path, "contains no certificate in PEM form") from None
    if not context.cert_store_stats()["x509"]:  # a file of revoked certificates
        raise errors.InputError(path, "contains no certificate in PEM form")


def _read_body(answer: requests.Response, url: str) -> bytes:
    """Return the body of an answer.

    Raises:
        RemoteError: it is longer than any page of a scheduler, or takes too long.
    """
    body = bytearray()
    deadline = time.monotonic() + _BODY_SECONDS
    while chunk := answer.raw.read1(_CHUNK_BYTES, decode_content=True):
        body += chunk
        if len(body) > _MAX_ANSWER_BYTES:
            raise errors.RemoteError(f"{url}: the answer has more than {_MAX_ANSWER_BYTES:,} bytes")
        if time.monotonic() > deadline:
            raise errors.RemoteError(f"{url}: the answer takes more than {_BODY_SECONDS:g} s")
    return bytes(body)


class _BearerToken:
    """Sends the token; `requests` would otherwise send a password of the user's ~/.netrc."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


def read_token(path: str) -> str:
    """Return the token in a file.

    Raises:
        InputError: the file cannot be read, or contains no token.
    """
    token = read_file(path).decode(errors="replace").strip()
    if not (token.isascii() and token.isprintable()) or not token:
        raise errors.InputError(path, "contains no token")
    return token


def read_file(path: str) -> bytes:
    """Return the content of a file.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise errors.InputError(path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:  # a character that paths cannot contain, such as NUL
        raise errors.InputError(
            server_urls.format_url_for_message(path), "is not a file path"
        ) from error


def _extract_message(text: str, token: str) -> str:
    """Return the first line of a server's answer without the token and other secrets."""
    line = text.strip().partition("\n")[0]
    if token:
        line = line.replace(token, redaction.HIDDEN)
    return redaction.mask_secret_patterns(line)[:_MAX_MESSAGE_CHARACTERS]
