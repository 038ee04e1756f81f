"""Call an extender over HTTP; each extender has a session, which keeps its connections open."""

from __future__ import annotations

import base64
import binascii
import contextlib
import pathlib
import ssl
import tempfile
from collections.abc import AsyncIterator

import aiohttp

from policysched import errors, server_urls
from policysched.extenders import calls, settings

MAX_ANSWER_BYTES = 256 * 2**20
"""Larger answers are errors; 15,000 nodes of 10 KiB need about half of this."""

_OK = 200


class HttpCaller:
    """Sends requests to one extender; one attempt each, as kube-scheduler does."""

    def __init__(
        self, configured: settings.ExtenderSettings, session: aiohttp.ClientSession
    ) -> None:
        """Send requests on `session`, which has the TLS settings and the time limit."""
        self._prefix = configured.url_prefix.rstrip("/")
        tls = configured.tls_config
        self._server_name = (tls.server_name if tls else "") or None
        self._session = session

    async def post(self, verb: str, body: bytes) -> bytes:
        """Send a request; see `calls.ExtenderCaller`.

        Raises:
            ExtenderError: no complete answer arrived in time, or not with code 200.
        """
        url = f"{self._prefix}/{verb}"
        shown = server_urls.hide_credentials(url)
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
    seconds = configured.http_timeout_seconds or settings.DEFAULT_TIMEOUT_SECONDS
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=make_ssl_context(configured)),
        timeout=aiohttp.ClientTimeout(total=seconds),
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=True,  # proxies, as in Go
    ) as session:
        yield HttpCaller(configured, session)


def make_ssl_context(configured: settings.ExtenderSettings) -> ssl.SSLContext:
    """Return the TLS settings of an extender.

    With `enableHTTPS` and without a certificate authority, nothing is verified, as in
    kube-scheduler (`pkg/scheduler/extender.go`, makeTransport).

    Raises:
        ConfigurationError: a certificate or key cannot be used.
    """
    tls = configured.tls_config or settings.ExtenderTls()
    where = f"the extender {server_urls.format_url_for_message(configured.url_prefix)}"
    try:
        authorities = base64.b64decode(tls.ca_data, validate=True).decode()
        context = ssl.create_default_context(
            cafile=None if authorities else tls.ca_file or None, cadata=authorities or None
        )
        has_authority = bool(authorities or tls.ca_file)
        if tls.insecure or (configured.enable_https and not has_authority):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if tls.cert_data or tls.cert_file:
            _load_client_certificate(context, tls)
    except (OSError, ValueError, binascii.Error) as error:
        raise errors.ConfigurationError(where, f"its TLS settings are invalid: {error}") from error
    return context


def _load_client_certificate(context: ssl.SSLContext, tls: settings.ExtenderTls) -> None:
    """Load certificate and key; `ssl` reads them only from files."""
    with tempfile.TemporaryDirectory() as folder:
        certificate = _write_data(tls.cert_data, pathlib.Path(folder, "certificate"))
        key = _write_data(tls.key_data, pathlib.Path(folder, "key"))
        context.load_cert_chain(certificate or tls.cert_file, key or tls.key_file or None)


def _write_data(data: str, file: pathlib.Path) -> str:
    """Write base64 data into a file, and return its name; "" without data."""
    if not data:
        return ""
    file.touch(mode=0o600)
    file.write_bytes(base64.b64decode(data, validate=True))
    return str(file)
