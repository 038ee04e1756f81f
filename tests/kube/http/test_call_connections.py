"""Connections for calls: answers in any form and in pieces, connections that end, and whose."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import trustme

from policysched import clock as clocks
from policysched.kube import errors
from policysched.kube.auth import credentials, kubeconfig
from policysched.kube.http import client
from tests import builders
from tests.kube.asynchronous import Sleeps, asynchronous
from tests.kube.fake_server import StaticSource
from tests.realcluster import process

PATH = "/api/v1/things?x=a%2Cb"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
ONCE = client.CallRetryPolicy(max_attempts=1)

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def served_by(
    serve: Serve, tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[str, int]]:
    """Let `serve` have each connection to a loopback port, which is given out; then close it."""
    serving: set[asyncio.Task[None] | None] = set()

    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await serve(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve_and_close, "127.0.0.1", process.free_port(), ssl=tls)
    try:
        yield server.sockets[0].getsockname()
    finally:
        server.close()
        await asyncio.gather(*filter(None, serving), return_exceptions=True)


@contextlib.asynccontextmanager
async def client_of(
    url: str,
    *,
    tls: ssl.SSLContext | None = None,
    proxy: str | None = None,
    max_connections: int = 4,
) -> AsyncIterator[client.ApiClient]:
    """Connect a client to a server."""
    source = StaticSource("token-1")
    held = credentials.Credentials(
        source, await source.load(is_rejected=False), clocks.ManualClock(builders.EPOCH)
    )
    connection = kubeconfig.ApiClientConfig(url, tls, held, proxy=proxy)
    async with client.ApiClient(
        connection, rng=random.Random(1), sleep=Sleeps(), max_connections=max_connections
    ) as api:
        yield api


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """Return the next request, head and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if line.startswith(b"Content-Length")]
    length = sum(int(line.split(b":")[1]) for line in lines)
    return head + await reader.readexactly(length)


def saying(*answers: bytes, by_bytes: int = 2**16) -> Serve:
    """Give these answers to the requests of a connection, in pieces, then close it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await read_request(reader)
            for start in range(0, len(answer), by_bytes):
                writer.write(answer[start : start + by_bytes])
                await writer.drain()
                await asyncio.sleep(0)

    return serve


CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;x=y\r\nabc\r\n4\r\ndefg\r\n0\r\nTrailer: 1\r\n\r\n"
)


@pytest.mark.parametrize(
    "answer, body",
    [
        pytest.param(OK, b"{}", id="with a length"),
        pytest.param(CHUNKED, b"abcdefg", id="in chunks, with an extension and a trailer"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"{}", id="announced"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", b"", id="empty"),
        pytest.param(OK.replace(b"{}", b"x" * 9).replace(b": 2", b":9"), b"x" * 9, id="no blank"),
    ],
)
@pytest.mark.parametrize("by_bytes", [1, 7, 2**16], ids=["by bytes", "by sevens", "at once"])
@asynchronous
async def test_an_answer_as_it_comes(answer: bytes, body: bytes, by_bytes: int) -> None:
    """However it is cut, the body is what was sent, also that of the next call."""
    async with (
        served_by(saying(answer, OK, by_bytes=by_bytes)) as (host, port),
        client_of(f"http://{host}:{port}", max_connections=1) as api,
    ):
        assert await api.send_request("GET", PATH, policy=ONCE) == body
        assert await api.send_request("GET", PATH, policy=ONCE) == b"{}"


@pytest.mark.parametrize(
    "answer, problem",
    [
        pytest.param(b"", "connection was lost", id="nothing"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", "connection was lost", id="half a head"),
        pytest.param(OK[:-1], "connection was lost", id="half a body"),
        pytest.param(CHUNKED[:-9], "connection was lost", id="half a trailer"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "is not HTTP", id="another protocol"),
        pytest.param(OK.replace(b": 2", b": -2"), "is not HTTP", id="no length"),
        pytest.param(CHUNKED.replace(b"\r\n4", b"\r\n-4"), "is not HTTP", id="no size of a chunk"),
    ],
)
@asynchronous
async def test_an_answer_that_is_none(answer: bytes, problem: str) -> None:
    """The call may have arrived; the next one has a connection of its own."""
    answers = [answer, OK]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await saying(answers.pop(0))(reader, writer)

    async with (
        served_by(serve) as (host, port),
        client_of(f"http://{host}:{port}", max_connections=1) as api,
    ):
        with pytest.raises(errors.TransportError, match=problem) as caught:
            await api.send_request("GET", PATH, policy=ONCE)
        assert caught.value.may_have_arrived
        assert await api.send_request("GET", PATH, policy=ONCE) == b"{}"


@asynchronous
async def test_a_refusal_tells_when_to_come_again() -> None:
    """Status, text and Retry-After reach the caller, who may use the connection again."""
    refusal = (
        b"HTTP/1.1 429 Slow\r\nRETRY-AFTER: 7\r\nContent-Length: 15\r\n\r\n" + b'{"message":"a"}'
    )
    async with (
        served_by(saying(refusal, refusal.replace(b"RETRY-AFTER: 7\r\n", b""))) as (host, port),
        client_of(f"http://{host}:{port}", max_connections=1) as api,
    ):
        for seconds in (7.0, None):
            with pytest.raises(errors.TooManyRequestsError, match="429 : a") as caught:
                await api.send_request("GET", PATH, policy=ONCE)
            assert caught.value.retry_after_seconds == seconds


@asynchronous
async def test_a_request_as_it_is_sent() -> None:
    """Method, the server's own path before ours, host, length and body."""
    sent = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent.append(await read_request(reader))
        writer.write(OK)
        await reader.read()

    async with (
        served_by(serve) as (host, port),
        client_of(f"http://{host}:{port}/clusters/one/") as api,
    ):
        await api.send_request("POST", PATH, "ü".encode())
    head, _, body = sent[0].partition(b"\r\n\r\n")
    line, *headers = head.split(b"\r\n")
    assert line == b"POST /clusters/one/api/v1/things?x=a%2Cb HTTP/1.1"
    assert {f"Host: {host}:{port}".encode(), b"Content-Length: 2"} <= set(headers)
    assert b"Authorization: Bearer token-1" in headers
    assert body == "ü".encode()


@asynchronous
async def test_a_connection_that_the_server_ends_is_left() -> None:
    """After `Connection: close`, and after an idle one was closed, calls go by other ones."""
    last = OK.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n")
    ended = asyncio.Event()
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        if connections == 1:
            await read_request(reader)
            writer.write(last)
            await reader.read()  # it is the client who closes it
            ended.set()
        else:
            await saying(OK)(reader, writer)

    async with (
        served_by(serve) as (host, port),
        client_of(f"http://{host}:{port}", max_connections=1) as api,
    ):
        await api.send_request("GET", PATH, policy=ONCE)
        await ended.wait()
        await api.send_request("GET", PATH, policy=ONCE)
        await until_closed(api)
        await api.send_request("GET", PATH, policy=ONCE)
        assert connections == 3


async def until_closed(api: client.ApiClient) -> None:
    """Return when the idle connection has heard of its end."""
    assert api._calls is not None
    [connection] = api._calls._idle
    while connection.is_open:  # noqa: ASYNC110 - nobody but this test waits for that
        await asyncio.sleep(0.001)


@asynchronous
async def test_an_answer_that_comes_too_late_is_nobody_elses() -> None:
    """A call that was given up takes its connection along, so the next one gets its own answer."""
    is_given_up = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        if b"/late" in request:
            await is_given_up.wait()
            writer.write(OK.replace(b"{}", b"no"))
        else:
            writer.write(OK)
        await reader.read()

    async with (
        served_by(serve) as (host, port),
        client_of(f"http://{host}:{port}", max_connections=1) as api,
    ):
        hasty = client.CallRetryPolicy(timeout_seconds=0.05, max_attempts=1)
        with pytest.raises(errors.TransportError, match="no answer in time"):
            await api.send_request("GET", "/late", policy=hasty)
        is_given_up.set()
        assert await api.send_request("GET", PATH, policy=ONCE) == b"{}"


@asynchronous
async def test_what_nobody_asked_for_ends_a_connection() -> None:
    """Bytes on an idle connection are no answer to the next call."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK)
        await writer.drain()
        await asyncio.sleep(0.01)
        writer.write(OK.replace(b"{}", b"no"))
        await reader.read()

    async with (
        served_by(serve) as (host, port),
        client_of(f"http://{host}:{port}", max_connections=1) as api,
    ):
        assert await api.send_request("GET", PATH, policy=ONCE) == b"{}"
        await until_closed(api)
        assert await api.send_request("GET", PATH, policy=ONCE) == b"{}"


@asynchronous
async def test_long_answers_at_once_stay_apart() -> None:
    """Connections share what they read into, but none reads what another one was sent."""
    authority = trustme.CA()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    bodies = [bytes([65 + number]) * (300_000 + number) for number in range(4)]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = bodies[int((await read_request(reader)).split()[1][1:])]
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        await saying(answer, by_bytes=10_000)(_answered(), writer)

    async with (
        served_by(serve, tls) as (host, port),
        client_of(f"https://{host}:{port}", tls=trusting) as api,
    ):
        asked = [api.send_request("GET", f"/{number}", policy=ONCE) for number in range(4)]
        assert await asyncio.gather(*asked) == bodies


def _answered() -> asyncio.StreamReader:
    """Return what reads like a connection with one request."""
    reader = asyncio.StreamReader()
    reader.feed_data(b"GET / HTTP/1.1\r\n\r\n")
    return reader


@asynchronous
async def test_only_a_trusted_server_is_told_anything(tmp_path: pathlib.Path) -> None:
    """A certificate of somebody else ends the call at once, one of ours is fine."""
    authority = trustme.CA()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    trusting, doubting = ssl.create_default_context(), ssl.create_default_context()
    authority.configure_trust(trusting)
    async with served_by(saying(OK), tls) as (host, port):
        async with client_of(f"https://{host}:{port}", tls=doubting) as api:
            with pytest.raises(errors.CertificateError, match="is not trusted") as caught:
                await api.send_request("POST", PATH)
            assert not caught.value.may_have_arrived
        async with client_of(f"https://{host}:{port}", tls=trusting) as api:
            assert await api.send_request("GET", PATH) == b"{}"


@asynchronous
async def test_calls_through_a_proxy() -> None:
    """Where a proxy is named, it gets the calls, and nobody else does."""
    async with (
        served_by(saying(OK)) as (host, port),
        client_of("http://nowhere.invalid", proxy=f"http://{host}:{port}") as api,
    ):
        assert await api.send_request("GET", PATH, policy=ONCE) == b"{}"


@asynchronous
async def test_a_client_that_is_closed_drops_its_connections() -> None:
    """The server hears of the end at once, not when it grows tired of idle connections."""
    heard = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK)
        with contextlib.suppress(ConnectionError):
            await reader.read()
        heard.set()

    async with served_by(serve) as (host, port):
        async with client_of(f"http://{host}:{port}") as api:
            await api.send_request("GET", PATH)
        await heard.wait()
