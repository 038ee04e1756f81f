"""Call an extender over HTTP.

Connections stay open. Where the environment demands a proxy, as Go reads it, aiohttp uses it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator
from typing import Protocol

import aiohttp

from policysched.connections import call_connections
from policysched.extenders import calls, settings, tls

MAX_ANSWER_BYTES = 256 * 2**20
"""Larger answers are errors; 15,000 nodes of 10 KiB need about half of this."""

_OK = 200
_MAX_CONNECTIONS = 128
"""Filter and Prioritize need one connection, each binding in flight another one."""

_FAILURES = (aiohttp.ClientError, OSError, ValueError)  # TimeoutError is an OSError


class _Connection(Protocol):
    """Sends requests to one server."""

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Send JSON; return the status and the body of the answer."""
        ...


class HttpCaller:
    """Sends requests to one extender; one attempt each, as kube-scheduler does."""

    def __init__(
        self,
        configured: settings.ExtenderSettings,
        connection: _Connection,
        certificate: tls.FollowedCertificate,
    ) -> None:
        """Send requests on `connection`; new connections use a changed `certificate`."""
        self._name = configured.name.rstrip("/")
        self._path = urllib.parse.urlsplit(configured.url_prefix).path.rstrip("/")
        self._timeout_seconds = configured.http_timeout_seconds
        self._connection = connection
        self._certificate = certificate

    async def post(self, verb: str, body: bytes) -> bytes:
        """Send a request; see `calls.ExtenderCaller`.

        Raises:
            ExtenderError: no complete answer arrived in time, or not with code 200.
        """
        self._certificate.load_if_changed()
        url = f"{self._name}/{verb}"
        try:
            async with asyncio.timeout(self._timeout_seconds):
                status, answer = await self._connection.post(f"{self._path}/{verb}", body)
        except TimeoutError as error:
            problem = f"no answer within {self._timeout_seconds:g} s"
            raise calls.ExtenderError(f'Post "{url}": {problem}') from error
        except _FAILURES as error:
            problem = str(error) or type(error).__name__
            raise calls.ExtenderError(f'Post "{url}": {problem}') from error
        if status != _OK:
            raise calls.ExtenderError(f"failed {verb} with extender at URL {url}, code {status}")
        return answer


class _DirectConnection:
    """Connections without a proxy, which need a third of the CPU time of aiohttp's."""

    def __init__(
        self, url: urllib.parse.SplitResult, calling: call_connections.CallConnections
    ) -> None:
        self._calling = calling
        headers = _make_headers(url).items()
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in headers)

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        response = await self._calling.call("POST", path, self._headers, body, None)
        return response.status, response.body


class _ProxiedConnection:
    """Connections through a proxy."""

    def __init__(
        self, url: urllib.parse.SplitResult, session: aiohttp.ClientSession, proxy: str
    ) -> None:
        self._host = f"{url.scheme}://{url.netloc.rpartition('@')[2]}"
        self._headers = _make_headers(url)
        self._session = session
        self._proxy = proxy

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        async with self._session.post(
            self._host + path,
            data=body,
            headers=self._headers,
            proxy=self._proxy,
        ) as response:
            answer = await response.content.read(MAX_ANSWER_BYTES + 1)
            return response.status, answer


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
    certificate = tls.FollowedCertificate(context, configured)
    url = urllib.parse.urlsplit(configured.url_prefix)
    proxy = _find_proxy(url)
    opening = (
        _open_direct_connection(configured, url, context)
        if proxy is None
        else _open_proxied_connection(url, context, proxy)
    )
    async with opening as connection:
        yield HttpCaller(configured, connection, certificate)


@contextlib.asynccontextmanager
async def _open_direct_connection(
    configured: settings.ExtenderSettings, url: urllib.parse.SplitResult, context: ssl.SSLContext
) -> AsyncIterator[_Connection]:
    given = configured.tls_config
    address = call_connections.ServerAddress(
        f"{url.scheme}://{url.netloc}",
        context if url.scheme == "https" else None,
        (given.server_name if given else "") or None,
    )
    with contextlib.closing(
        call_connections.CallConnections(address, _MAX_CONNECTIONS, max_body_bytes=MAX_ANSWER_BYTES)
    ) as calling:
        yield _DirectConnection(url, calling)


@contextlib.asynccontextmanager
async def _open_proxied_connection(
    url: urllib.parse.SplitResult, context: ssl.SSLContext, proxy: str
) -> AsyncIterator[_Connection]:
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=context), cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        yield _ProxiedConnection(url, session, proxy)


def _find_proxy(url: urllib.parse.SplitResult) -> str | None:
    """Return the proxy that the environment demands for a URL, or None."""
    if urllib.request.proxy_bypass(url.netloc.rpartition("@")[2]):
        return None
    return urllib.request.getproxies().get(url.scheme)
