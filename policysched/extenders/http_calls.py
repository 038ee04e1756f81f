"""Call an extender over HTTP, with connections that stay open."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import math
import urllib.parse
from collections.abc import AsyncIterator

from policysched.connections import call_connections
from policysched.extenders import calls, settings, tls

MAX_ANSWER_BYTES = 256 * 2**20
"""Larger answers are errors; 15,000 nodes of 10 KiB need about half of this."""

_OK = 200
_MAX_CONNECTIONS = 128
"""Filter and Prioritize need one connection, each binding in flight another one."""


class HttpCaller:
    """Sends requests to one extender; one attempt each, as kube-scheduler does."""

    def __init__(
        self,
        configured: settings.ExtenderSettings,
        connections: call_connections.CallConnections,
        certificate: tls.FollowedCertificate,
    ) -> None:
        """Send requests on `connections`; new ones use a changed `certificate`."""
        self._name = configured.name.rstrip("/")
        url = urllib.parse.urlsplit(configured.url_prefix)
        self._path = url.path.rstrip("/")
        headers = _make_headers(url).items()
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in headers)
        self._timeout_seconds = configured.http_timeout_seconds
        self._connections = connections
        self._certificate = certificate

    async def post(self, verb: str, body: bytes, left_seconds: float = math.inf) -> bytes:
        """Send a request; see `calls.ExtenderCaller`.

        Raises:
            ExtenderError: no complete answer arrived in time, or not with code 200.
            NoTimeLeftError: no complete answer arrived within `left_seconds`.
        """
        self._certificate.load_if_changed()
        url = f"{self._name}/{verb}"
        # A server can close a connection right after its answer; the loop must see that first.
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(min(self._timeout_seconds, left_seconds)):
                path = urllib.parse.quote(f"{self._path}/{verb}", safe="/%~:@!$&'()*+,;=")
                response = await self._connections.call("POST", path, self._headers, body, None)
        except TimeoutError as error:
            if left_seconds < self._timeout_seconds:
                problem = f"no answer in the {left_seconds:.1f} s that were left"
                raise calls.NoTimeLeftError(f'Post "{url}": {problem}') from error
            problem = f"no answer within {self._timeout_seconds:g} s"
            raise calls.ExtenderError(f'Post "{url}": {problem}') from error
        except OSError as error:
            problem = str(error) or type(error).__name__
            raise calls.ExtenderError(f'Post "{url}": {problem}') from error
        if response.status != _OK:
            raise calls.ExtenderError(
                f"failed {verb} with extender at URL {url}, code {response.status}"
            )
        return response.body


def _make_headers(url: urllib.parse.SplitResult) -> dict[str, str]:
    """Return the headers of each request, with the user and the password of the URL, if any."""
    headers = {"Content-Type": "application/json"}
    if url.username is not None:
        user = urllib.parse.unquote(f"{url.username}:{url.password or ''}")
        headers["Authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
    return headers


@contextlib.asynccontextmanager
async def open_caller(configured: settings.ExtenderSettings) -> AsyncIterator[HttpCaller]:
    """Open connections to an extender on demand, and close them at the end.

    Raises:
        ConfigurationError: a certificate or key cannot be used.
    """
    context = tls.make_tls_context(configured)
    url = urllib.parse.urlsplit(configured.url_prefix)
    certificates = configured.tls_config
    connections = call_connections.CallConnections(
        call_connections.ServerAddress(
            f"{url.scheme}://{url.netloc}",
            context if url.scheme == "https" else None,
            (certificates.server_name if certificates else "") or None,
        ),
        _MAX_CONNECTIONS,
        max_body_bytes=MAX_ANSWER_BYTES,
        connect_timeout_seconds=configured.http_timeout_seconds,
    )
    with contextlib.closing(connections):
        yield HttpCaller(configured, connections, tls.FollowedCertificate(context, configured))
