from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator

import aiohttp
import pytest
import trustme

from policysched import errors
from policysched.config import addresses
from policysched.serving import connections, http_server
from tests.kube.asynchronous import asynchronous
from tests.realcluster import process

FEW = connections.ConnectionLimits(at_once=10)
LOOPBACK = addresses.ListenAddress("127.0.0.1", 0)


@pytest.mark.parametrize(
    "text, host, port",
    [
        pytest.param("127.0.0.1:9153", "127.0.0.1", 9153, id="ipv4"),
        pytest.param("[::1]:9153", "::1", 9153, id="ipv6"),
        pytest.param("localhost:0", "127.0.0.1", 0, id="localhost"),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, host: str, port: int) -> None:
    """IP addresses of both kinds, and the name that everybody writes."""
    assert addresses.parse_listen_address(text) == addresses.ListenAddress(host, port)


@pytest.mark.parametrize(
    "text", ["9153", ":9153", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "example.com:80", "a:b"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """An empty host would listen everywhere, which nobody should get by a slip."""
    with pytest.raises(errors.UsageError, match="is not an address"):
        addresses.parse_listen_address(text)


def test_an_address_is_written_as_it_is_read() -> None:
    """IPv6 addresses stand between brackets."""
    for text in ("127.0.0.1:9153", "[::1]:9153"):
        assert str(addresses.parse_listen_address(text)) == text


@contextlib.asynccontextmanager
async def _serving(server: http_server.HttpServer) -> AsyncIterator[str]:
    task = asyncio.create_task(server.run())
    scheme = "http" if server._tls is None else "https"
    try:
        yield f"{scheme}://{server.bound}"
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@asynchronous
async def test_pages_are_made_when_they_are_asked_for() -> None:
    """Each request gets the page of that moment; other paths and methods get errors."""
    asked: list[int] = []

    def page(query: http_server.QueryParameters) -> http_server.HttpPage:
        asked.append(1)
        return http_server.HttpPage(f"{len(asked)}".encode(), "text/plain; charset=utf-8")

    async with (
        _serving(http_server.HttpServer(LOOPBACK, {"/metrics": page})) as url,
        aiohttp.ClientSession() as client,
    ):
        for expected in ("1", "2"):
            async with client.get(f"{url}/metrics") as answer:
                assert (answer.status, await answer.text()) == (200, expected)
        async with client.get(f"{url}/other") as answer:
            assert answer.status == 404
        async with client.post(f"{url}/metrics") as answer:
            assert answer.status == 405


def test_a_port_that_is_taken_is_told() -> None:
    """The error names the address and the reason."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", process.free_port()))
        taken.listen()
        listen = addresses.ListenAddress("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(errors.ConfigurationError, match="cannot listen on this address"):
            http_server.HttpServer(listen, {})


# --- pages ----------------------------------------------------------------------------------------


async def _in_a_thread(query: http_server.QueryParameters) -> http_server.HttpPage:
    limit = query.get_one("limit", "none")
    return await asyncio.to_thread(lambda: http_server.HttpPage(limit.encode()))


def _broken(_query: http_server.QueryParameters) -> http_server.HttpPage:
    raise ValueError("a bug")


@asynchronous
async def test_pages_get_the_parameters_of_the_query() -> None:
    """First values and all values; a page may take its time in a thread."""

    def several(query: http_server.QueryParameters) -> http_server.HttpPage:
        said = f"{query.get_all('x')} {'verbose' in query} {'other' in query}"
        return http_server.HttpPage(said.encode())

    pages: dict[str, http_server.MakePage] = {"/several": several, "/thread": _in_a_thread}
    async with (
        _serving(http_server.HttpServer(LOOPBACK, pages)) as url,
        aiohttp.ClientSession() as client,
    ):
        async with client.get(f"{url}/several?x=1&verbose&x=a%2Fb") as answer:
            assert await answer.text() == "('1', 'a/b') True False"
        async with client.get(f"{url}/thread?limit=3&limit=4") as answer:
            assert await answer.text() == "3"
        async with client.head(f"{url}/thread?limit=100") as answer:
            assert (answer.headers["Content-Length"], await answer.read()) == ("3", b"")


@asynchronous
async def test_a_page_with_a_bug_harms_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    """Who asks learns nothing, the log tells all; the next request is answered."""
    pages: dict[str, http_server.MakePage] = {"/broken": _broken, "/well": _in_a_thread}
    async with (
        _serving(http_server.HttpServer(LOOPBACK, pages)) as url,
        aiohttp.ClientSession() as client,
    ):
        async with client.get(f"{url}/broken") as answer:
            assert (answer.status, "bug" in await answer.text()) == (500, False)
        async with client.get(f"{url}/well") as answer:
            assert answer.status == 200
    assert "a bug" in caplog.text


@asynchronous
async def test_what_is_posted_has_a_limit() -> None:
    """Whether the client says how much comes, or does not."""
    taken: list[bytes] = []

    async def take(body: bytes) -> http_server.HttpPage:
        taken.append(body)
        return http_server.HttpPage(b"taken")

    async def chunks(count: int) -> AsyncIterator[bytes]:
        for _ in range(count):
            yield b"12345"

    posts = http_server.PostRoutes({"/validate": take}, max_bytes=10)
    async with (
        _serving(http_server.HttpServer(LOOPBACK, {}, posts=posts)) as url,
        aiohttp.ClientSession() as client,
    ):
        async with client.post(f"{url}/validate", data=b"1234567890") as answer:
            assert answer.status == 200
        async with client.post(f"{url}/validate", data=chunks(2)) as answer:
            assert answer.status == 200
        async with client.post(f"{url}/validate", data=b"12345678901") as answer:
            assert answer.status == 413
        async with client.post(f"{url}/validate", data=chunks(3)) as answer:
            assert answer.status == 413
        async with client.get(f"{url}/validate") as answer:
            assert answer.status == 405
    assert taken == [b"1234567890", b"1234512345"]


# --- TLS and guards -------------------------------------------------------------------------------


class Settings:
    """TLS settings of a test."""

    def __init__(self, authority: trustme.CA) -> None:
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("127.0.0.1").configure_cert(self._context)
        authority.configure_trust(self._context)
        self._context.verify_mode = ssl.CERT_OPTIONAL

    def get_tls_context(self) -> ssl.SSLContext:
        """Return them."""
        return self._context


class Guard:
    """Lets in who has the token `good` or a certificate."""

    def __init__(self) -> None:
        self.askers: list[http_server.PageRequest] = []

    async def find_denial_page(self, asker: http_server.PageRequest) -> http_server.HttpPage | None:
        """Look."""
        self.askers.append(asker)
        if asker.authorization == "Bearer good" or asker.certificate is not None:
            return None
        return http_server.HttpPage(b"no", status=403)


@asynchronous
async def test_a_guard_says_who_may_see_a_page() -> None:
    """It learns the token and the certificate; of pages that do not exist it is not asked."""
    authority, guard = trustme.CA(), Guard()
    server = http_server.HttpServer(
        LOOPBACK, {"/page": _in_a_thread}, guard=guard, tls=Settings(authority)
    )
    known = ssl.create_default_context()
    authority.configure_trust(known)
    nameless = ssl.create_default_context()
    authority.configure_trust(nameless)
    authority.issue_cert("x.test", common_name="alice").configure_cert(known)
    async with _serving(server) as url, aiohttp.ClientSession() as client:
        statuses = []
        for context, token in ((nameless, "bad"), (nameless, "good"), (known, "bad")):
            headers = {"Authorization": f"Bearer {token}"}
            async with client.get(f"{url}/page", ssl=context, headers=headers) as answer:
                statuses.append(answer.status)
        async with client.get(f"{url}/other", ssl=nameless) as answer:
            statuses.append(answer.status)
    assert statuses == [403, 200, 200, 404]
    assert len(guard.askers) == 3
    certificate = guard.askers[-1].certificate
    assert certificate is not None
    assert (("commonName", "alice"),) in certificate["subject"]
    assert "good" not in repr(guard.askers)


# --- hostile clients ------------------------------------------------------------------------------


async def _ended(reader: asyncio.StreamReader) -> bytes:
    """Return everything until the server has ended the connection."""
    try:
        return await reader.read()
    except ConnectionError:
        return b""


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="silent"),
        pytest.param(b"GET /page HTTP/1.1\r\nHost: x\r\nX-Slow: ", id="half-a-head"),
    ],
)
@asynchronous
async def test_many_slow_connections_keep_nobody_out(sent: bytes) -> None:
    """The one that has done nothing for longest gives way."""
    server = http_server.HttpServer(LOOPBACK, {"/page": _in_a_thread}, limits=FEW)
    async with _serving(server) as url, aiohttp.ClientSession() as client:
        slow = []
        for _ in range(50):
            reader, writer = await asyncio.open_connection(server.bound.host, server.bound.port)
            writer.write(sent)
            slow.append((reader, writer))
            if len(slow) % 10 == 0:
                async with client.get(f"{url}/page") as answer:
                    assert answer.status == 200
        assert len(server._connections) <= 10
        assert await _ended(slow[0][0]) == b""
        for _, writer in slow:
            writer.close()


@asynchronous
async def test_a_head_that_comes_byte_by_byte_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time is counted from the beginning, not from the last byte."""
    monkeypatch.setattr(http_server, "_IDLE_SECONDS", 0.3)
    server = http_server.HttpServer(LOOPBACK, {"/page": _in_a_thread})
    async with _serving(server):
        reader, writer = await asyncio.open_connection(server.bound.host, server.bound.port)
        writer.write(b"GET /page HTTP/1.1\r\nX-Slow: ")
        end = asyncio.create_task(_ended(reader))
        while not end.done():
            writer.write(b"x")
            await asyncio.sleep(0.05)
        assert await end == b""
        writer.close()


@asynchronous
async def test_an_answer_that_nobody_takes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be kept in memory for as long as the client likes."""
    monkeypatch.setattr(http_server, "_ANSWER_SECONDS", 0.3)
    large = http_server.HttpPage(b"x" * 50_000_000)
    server = http_server.HttpServer(LOOPBACK, {"/page": lambda _: large})
    async with _serving(server):
        reader, writer = await asyncio.open_connection(server.bound.host, server.bound.port)
        writer.write(b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n")
        for count in (1, 0):
            while len(server._connections) != count:  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.01)
        assert len(await _ended(reader)) < 50_000_000
        writer.close()


@asynchronous
async def test_a_handshake_that_does_not_come_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor does one that is no TLS at all harm anybody."""
    monkeypatch.setitem(connections._TLS_LIMITS, "ssl_handshake_timeout", 0.3)
    server = http_server.HttpServer(
        LOOPBACK,
        {"/page": _in_a_thread},
        tls=Settings(trustme.CA()),
        limits=FEW,
    )
    async with _serving(server):
        for sent in (b"", b"GET /page HTTP/1.1\r\n\r\n"):
            reader, writer = await asyncio.open_connection(server.bound.host, server.bound.port)
            writer.write(sent)
            assert b"200" not in await _ended(reader)
            writer.close()
        assert len(server._connections) == 0


SECRET = b"Bearer very-secret"


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"X: " + b"y" * 100_000, id="long-header"),
        pytest.param(b"Authorization: " + SECRET * 1000, id="long-token"),
        pytest.param(b"\r\n".join(b"X-%d: y" % number for number in range(1000)), id="many"),
        pytest.param(b"\x00\xff\xfe: y", id="bytes"),
        pytest.param(b"Content-Length: 1\r\nContent-Length: 2", id="two-lengths"),
        pytest.param(b"Content-Length: 5\r\nTransfer-Encoding: chunked", id="smuggled"),
    ],
)
@asynchronous
async def test_heads_that_make_no_sense_are_refused(
    head: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """With an error, or an end of the connection; the log stays empty and holds no token."""
    caplog.set_level("DEBUG")
    server = http_server.HttpServer(LOOPBACK, {"/page": _in_a_thread})
    async with _serving(server) as url, aiohttp.ClientSession() as client:
        reader, writer = await asyncio.open_connection(server.bound.host, server.bound.port)
        writer.write(b"GET /page HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n\r\n")
        answer = await _ended(reader)
        assert answer.startswith(b"HTTP/1.0 400") or answer == b""
        writer.close()
        async with client.get(f"{url}/page") as next_answer:
            assert next_answer.status == 200
    assert "Error handling request" not in caplog.text
    assert "very-secret" not in caplog.text


@pytest.mark.parametrize(
    "request_line",
    [
        pytest.param(b"GET /page?pod=" + SECRET.split()[1] * 1000, id="long"),
        pytest.param(b"GE\x01T /very-secret", id="no-method"),
    ],
)
@asynchronous
async def test_the_answer_to_a_malformed_request_repeats_nothing(request_line: bytes) -> None:
    """It names no version of a library, and is shown as text, as all errors."""
    server = http_server.HttpServer(LOOPBACK, {"/page": _in_a_thread})
    async with _serving(server):
        reader, writer = await asyncio.open_connection(server.bound.host, server.bound.port)
        writer.write(request_line + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        head, _, body = (await _ended(reader)).partition(b"\r\n\r\n")
        writer.close()
    assert head.startswith(b"HTTP/1.0 400")
    assert b"X-Content-Type-Options: nosniff" in head
    assert b"aiohttp" not in head
    assert body == b"the request is malformed, or one of its lines has more than 8190 bytes\n"


@asynchronous
async def test_who_connects_too_often_is_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the handshake, which is what costs; other addresses are not."""
    monkeypatch.setattr(connections, "_AHEAD_SECONDS", 5000.0)
    limits = connections.ConnectionLimits(new_per_second=0.001)
    server = http_server.HttpServer(LOOPBACK, {"/page": _in_a_thread}, limits=limits)
    async with _serving(server) as url:
        for number in range(20):
            reader, writer = await asyncio.open_connection(
                server.bound.host, server.bound.port, local_addr=("127.0.0.2", 0)
            )
            if number >= 5:
                assert await _ended(reader) == b""
            writer.close()
        async with aiohttp.ClientSession() as client, client.get(f"{url}/page") as answer:
            assert answer.status == 200


@asynchronous
async def test_who_asks_too_often_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """On however many connections; others do not."""
    monkeypatch.setattr(connections, "_AHEAD_SECONDS", 5000.0)
    limits = connections.ConnectionLimits(requests_per_second=0.001)
    server = http_server.HttpServer(LOOPBACK, {"/page": _in_a_thread}, limits=limits)
    async with _serving(server) as url:
        eager = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0))
        async with (
            aiohttp.ClientSession() as client,
            aiohttp.ClientSession(connector=eager) as many,
        ):

            async def ask() -> int:
                async with many.get(f"{url}/page") as answer:
                    return answer.status

            asked = [asyncio.create_task(ask()) for _ in range(20)]
            while sum(each.done() for each in asked) < 5:  # noqa: ASYNC110 - the first ones of many
                await asyncio.sleep(0.01)
            async with client.get(f"{url}/page") as answer:
                assert answer.status == 200
            assert sum(each.done() for each in asked) == 5
            for each in asked:
                each.cancel()
            await asyncio.gather(*asked, return_exceptions=True)


def test_an_address_may_do_more_where_it_has_been_quiet() -> None:
    """So many at once, then one for each that has been paid for by time."""
    pace = connections.AddressRateLimiter(per_second=10.0)
    for _ in range(40):
        assert pace.compute_wait_seconds("a", 100.0) == 0.0
        pace.count_action("a", 100.0)
    assert pace.compute_wait_seconds("a", 100.0) == pytest.approx(0.1)
    assert pace.compute_wait_seconds("b", 100.0) == 0.0
    assert pace.compute_wait_seconds("a", 100.1) == pytest.approx(0.0)
    for number in range(5000):
        pace.count_action(f"{number}", 100.2)
    assert len(pace._paid_until) == 1024


@asynchronous
async def test_who_asks_much_and_leaves_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """Requests that were sent ahead are answered to nobody."""
    authority = trustme.CA()
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    server = http_server.HttpServer(LOOPBACK, {"/page": _in_a_thread}, tls=Settings(authority))
    async with _serving(server):
        for _ in range(5):
            reader, writer = await asyncio.open_connection(
                server.bound.host, server.bound.port, ssl=trust
            )
            writer.write(b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
            await reader.readline()
            writer.transport.abort()
        while len(server._connections) != 0:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)
    assert [record.getMessage() for record in caplog.records if record.levelname != "INFO"] == []
