"""Calls over real connections, with and without TLS."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import math
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest
import trustme
from aiohttp import web

from policysched import errors
from policysched.extenders import calls, http_calls, settings
from tests.realcluster import process

if TYPE_CHECKING:
    import pathlib

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@contextlib.asynccontextmanager
async def _serve(handler: Handler, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve POST requests on a port of the loopback interface."""
    application = web.Application(client_max_size=2**24)
    application.router.add_post("/{path:.*}", handler)
    runner = web.AppRunner(application)
    await runner.setup()
    port = process.free_port()
    site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=context)
    await site.start()
    try:
        yield port
    finally:
        await runner.cleanup()


async def _echo(request: web.Request) -> web.Response:
    return web.json_response(
        {
            "path": request.path,
            "type": request.headers["Content-Type"],
            "body": (await request.read()).decode(),
        }
    )


async def _drip(request: web.Request) -> web.StreamResponse:
    """Begin to answer, and never end."""
    response = web.StreamResponse()
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):
        for _ in range(100):
            await response.write(b" ")
            await asyncio.sleep(0.05)
    return response


async def _post(configured: settings.ExtenderSettings, left_seconds: float = math.inf) -> bytes:
    async with http_calls.open_caller(configured) as caller:
        return await caller.post("filter", b"{}", left_seconds)


def _call(
    handler: Handler,
    *,
    path: str = "",
    server: ssl.SSLContext | None = None,
    left_seconds: float = math.inf,
    **fields: Any,
) -> bytes:
    """Send one request to a server with `handler`; return the answer."""

    async def call() -> bytes:
        async with _serve(handler, server) as port:
            scheme = "https" if server else "http"
            url = f"{scheme}://127.0.0.1:{port}{path}"
            return await _post(settings.ExtenderSettings(url, **fields), left_seconds)

    return asyncio.run(call())


async def _post_to_raw_server(answer: bytes, count: int) -> list[bytes]:
    """Send requests to a server that writes these bytes and closes; return the answers."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(answer)
        await writer.drain()
        writer.close()

    port = process.free_port()
    async with await asyncio.start_server(serve, "127.0.0.1", port):
        configured = settings.ExtenderSettings(f"http://127.0.0.1:{port}")
        async with http_calls.open_caller(configured) as caller:
            return [await caller.post("filter", b"{}") for _ in range(count)]


class TestRequests:
    """Requests and errors."""

    def test_appends_the_verb_to_the_url(self) -> None:
        """The slash between URL and verb is there once."""
        answer = _call(_echo, path="/scheduler/")
        assert answer == b'{"path": "/scheduler/filter", "type": "application/json", "body": "{}"}'

    def test_other_codes_are_errors(self) -> None:
        """The text is kube-scheduler's."""

        async def fail(_: web.Request) -> web.Response:
            return web.Response(status=503)

        with pytest.raises(
            calls.ExtenderError, match=r"^failed filter with extender at URL http.*, code 503$"
        ):
            _call(fail)

    def test_slow_answers_are_errors(self) -> None:
        """The limit includes the body."""
        with pytest.raises(calls.ExtenderError, match=r'^Post "http.*": no answer within 0.3 s'):
            _call(_drip, http_timeout="300ms")

    def test_a_call_ends_when_no_time_is_left(self) -> None:
        """This is no fault of the extender, so the error is another one."""
        with pytest.raises(calls.NoTimeLeftError, match=r'^Post "http.*": no answer in the 0.2 s'):
            _call(_drip, left_seconds=0.2, http_timeout="3s")

    def test_large_answers_are_errors(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An endless answer cannot fill the memory."""

        async def send(_: web.Request) -> web.Response:
            return web.Response(body=b" " * 2000)

        monkeypatch.setattr(http_calls, "MAX_ANSWER_BYTES", 1000)
        with pytest.raises(calls.ExtenderError, match="exceeds 1000 bytes"):
            _call(send)

    @pytest.mark.parametrize("version", [b"1.0", b"1.1"])
    def test_an_answer_can_end_with_its_connection(self, version: bytes) -> None:
        """Without a length, all bytes until then are the answer; many calls work in turn."""
        answers = asyncio.run(_post_to_raw_server(b"HTTP/%s 200 OK\r\n\r\n{}" % version, 20))
        assert answers == [b"{}"] * 20

    def test_a_server_can_close_after_each_answer(self) -> None:
        """Calls one right after the other do not use the closed connection."""
        text = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
        assert asyncio.run(_post_to_raw_server(text, 20)) == [b"{}"] * 20

    def test_a_cut_answer_is_an_error(self) -> None:
        """The length says that something is missing."""
        text = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}"
        with pytest.raises(calls.ExtenderError, match="before the end of the answer"):
            asyncio.run(_post_to_raw_server(text, 1))

    def test_a_server_that_is_down(self) -> None:
        """The text names the URL without the password."""
        configured = settings.ExtenderSettings("http://me:secret@127.0.0.1:1/x")
        with pytest.raises(calls.ExtenderError) as caught:
            asyncio.run(_post(configured))
        assert "127.0.0.1:1/x/filter" in str(caught.value)
        assert "secret" not in str(caught.value)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """Signs the certificates of servers and clients."""
    return trustme.CA()


@pytest.fixture(scope="module")
def server(authority: trustme.CA) -> ssl.SSLContext:
    """TLS of a server with a certificate for a name that is not its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("extender.example").configure_cert(context)
    return context


def _encode(pem: trustme.Blob) -> str:
    return base64.b64encode(pem.bytes()).decode()


class TestTls:
    """Certificates of servers and clients."""

    def test_verifies_the_server(self, authority: trustme.CA, server: ssl.SSLContext) -> None:
        """An authority and the name in the certificate make it trusted."""
        data = _encode(authority.cert_pem)
        tls = settings.ExtenderTls(ca_data=data, server_name="extender.example")
        assert _call(_echo, server=server, tls_config=tls)
        with pytest.raises(calls.ExtenderError, match="certificate"):
            _call(_echo, server=server, tls_config=settings.ExtenderTls(ca_data=data))
        with pytest.raises(calls.ExtenderError, match="certificate"):
            _call(_echo, server=server)

    def test_reads_the_authority_from_a_file(
        self, authority: trustme.CA, server: ssl.SSLContext, tmp_path: pathlib.Path
    ) -> None:
        """A file works like data."""
        file = tmp_path / "ca.crt"
        authority.cert_pem.write_to_path(file)
        tls = settings.ExtenderTls(ca_file=str(file), server_name="extender.example")
        assert _call(_echo, server=server, tls_config=tls, enable_https=True)

    @pytest.mark.parametrize(
        "fields", [{"enable_https": True}, {"tls_config": settings.ExtenderTls(insecure=True)}]
    )
    def test_does_not_verify_if_told_so(
        self, server: ssl.SSLContext, fields: dict[str, Any]
    ) -> None:
        """`enableHTTPS` without an authority means so in kube-scheduler."""
        assert _call(_echo, server=server, **fields)

    def test_shows_its_certificate(self, authority: trustme.CA) -> None:
        """A server that asks for a certificate of the client gets it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
        own = authority.issue_cert("policysched")
        data = _encode(authority.cert_pem)
        known = settings.ExtenderTls(
            ca_data=data,
            cert_data=_encode(own.cert_chain_pems[0]),
            key_data=_encode(own.private_key_pem),
        )
        assert _call(_echo, server=context, tls_config=known)
        with pytest.raises(calls.ExtenderError):
            _call(_echo, server=context, tls_config=settings.ExtenderTls(ca_data=data))

    def test_reports_certificates_that_cannot_be_used(self) -> None:
        """The process does not start."""
        tls = settings.ExtenderTls(ca_file="/does/not/exist")
        with pytest.raises(errors.ConfigurationError, match="cannot be read"):
            asyncio.run(_post(settings.ExtenderSettings("https://extender", tls_config=tls)))
