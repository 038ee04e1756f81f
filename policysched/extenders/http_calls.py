"""Call an extender over HTTP; each extender has a session, which keeps its connections open."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import aiohttp

from policysched import server_urls
from policysched.extenders import calls, settings, tls

MAX_ANSWER_BYTES = 256 * 2**20
"""Larger answers are errors; 15,000 nodes of 10 KiB need about half of this."""

_OK = 200


class HttpCaller:
    """Sends requests to one extender; one attempt each, as kube-scheduler does."""

    def __init__(
        self,
        configured: settings.ExtenderSettings,
        session: aiohttp.ClientSession,
        certificate: tls.FollowedCertificate,
    ) -> None:
        """Send requests on `session`, which has the TLS settings and the time limit."""
        self._certificate = certificate
        self._prefix = configured.url_prefix.rstrip("/")
        certificates = configured.tls_config
        self._server_name = (certificates.server_name if certificates else "") or None
        self._session = session

    async def post(self, verb: str, body: bytes) -> bytes:
        """Send a request; see `calls.ExtenderCaller`.

        Raises:
            ExtenderError: no complete answer arrived in time, or not with code 200.
        """
        url = f"{self._prefix}/{verb}"
        shown = server_urls.hide_credentials(url)
        self._certificate.load_if_changed()
        try:
            async with self._session.post(
                url,
                data=body,
                headers={"Content-Type": "application/json"},
                server_hostname=self._server_name,
            ) as response:
                if response.status != _OK:
                    raise calls.ExtenderError(
                        f"failed {verb} with extender at URL {shown}, code {response.status}"
                    )
                return await _read_body(response)
        except TimeoutError as error:
            seconds = self._session.timeout.total
            raise calls.ExtenderError(f'Post "{shown}": no answer within {seconds:g} s') from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise calls.ExtenderError(f'Post "{shown}": {error}') from error


async def _read_body(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise calls.ExtenderError(f"the answer exceeds {MAX_ANSWER_BYTES} bytes")
    return bytes(body)


@contextlib.asynccontextmanager
async def open_caller(configured: settings.ExtenderSettings) -> AsyncIterator[HttpCaller]:
    """Open connections to an extender on demand, and close them at the end.

    Raises:
        ConfigurationError: a certificate or key cannot be used.
    """
    context = tls.make_tls_context(configured)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=context),
        timeout=aiohttp.ClientTimeout(total=configured.http_timeout_seconds),
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=True,  # proxies, as in Go
    ) as session:
        yield HttpCaller(configured, session, tls.FollowedCertificate(context, configured))
