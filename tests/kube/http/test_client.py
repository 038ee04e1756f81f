"""Requests to the API server: what is repeated, when, and with whose credential."""

from __future__ import annotations

import asyncio
import logging
import socket

import pytest
from aiohttp import web

from policysched.kube import errors
from policysched.kube.auth import credentials
from policysched.kube.http import client, sockets
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import (
    Answer,
    FakeServer,
    StaticSource,
    drop,
    json_body,
    silence,
    status,
    stream,
)

PATH = "/api/v1/things"
ONCE = client.CallRetryPolicy(is_idempotent=False)
REPEATABLE = client.CallRetryPolicy(is_idempotent=True)
IMPATIENT = client.CallRetryPolicy(timeout_seconds=0.05, max_attempts=2)


async def read_all(api: client.ApiClient) -> bytes:
    """Return everything that a stream brings."""
    async with api.open_stream(PATH, stall_seconds=0.05) as chunks:
        return b"".join([chunk async for chunk in chunks])


@asynchronous
async def test_a_request_as_it_arrives() -> None:
    """Method, path, query, body and headers are what was asked for, and who we are."""
    async with FakeServer() as server, server.client() as api:
        server.on("PATCH", PATH, json_body({"a": 1}))
        answer = await api.send_request(
            "PATCH", PATH + "?x=a%2Cb", b'{"b":2}', content_type=client.MERGE_PATCH
        )
        assert answer == b'{"a": 1}'
        (request,) = server.requests
        assert (request.method, request.path, request.query) == ("PATCH", PATH, {"x": "a,b"})
        assert request.body == {"b": 2}
        assert request.headers["Authorization"] == "Bearer token-1"
        assert request.headers["Content-Type"] == "application/merge-patch+json"
        assert request.headers["User-Agent"].startswith("policysched/")


@pytest.mark.parametrize(
    "failure, policy, requests",
    [
        pytest.param(status(429), ONCE, 3, id="429 has not been looked at"),
        pytest.param(status(500), REPEATABLE, 3, id="500, repeatable"),
        pytest.param(status(503), REPEATABLE, 3, id="503, repeatable"),
        pytest.param(drop, REPEATABLE, 3, id="no answer, repeatable"),
        pytest.param(status(500), ONCE, 1, id="500, once"),
        pytest.param(status(504), ONCE, 1, id="504, once"),
        pytest.param(drop, ONCE, 1, id="no answer, once"),
        pytest.param(status(403), REPEATABLE, 1, id="403"),
        pytest.param(status(404), REPEATABLE, 1, id="404"),
        pytest.param(status(409), REPEATABLE, 1, id="409"),
        pytest.param(status(410), REPEATABLE, 1, id="410"),
        pytest.param(status(422), REPEATABLE, 1, id="422"),
    ],
)
@asynchronous
async def test_what_is_repeated(
    failure: Answer, policy: client.CallRetryPolicy, requests: int
) -> None:
    """After two failures the third attempt succeeds, if there is one."""
    async with FakeServer() as server, server.client() as api:
        server.on("POST", PATH, failure, failure, json_body({}))
        if requests == 3:
            assert await api.send_request("POST", PATH, b"{}", policy=policy) == b"{}"
        else:
            with pytest.raises(errors.KubeError):
                await api.send_request("POST", PATH, b"{}", policy=policy)
        assert len(server.requests) == requests
        assert len(server.sleeps) == requests - 1


@asynchronous
async def test_pauses_grow_and_respect_the_server() -> None:
    """Pauses double; Retry-After comes on top, but not for ever."""
    async with FakeServer() as server, server.client() as api:
        server.on("GET", PATH, status(503), status(503), status(429, retry_after=7))
        server.on("GET", PATH, status(429, retry_after=86_400), json_body({}))
        await api.send_request("GET", PATH)
        first, second, third, fourth = server.sleeps
        assert 0.05 <= first <= 0.1 <= second <= 0.2
        assert 7.0 < third <= 7.4
        assert client.MAX_RETRY_AFTER_SECONDS < fourth <= client.MAX_RETRY_AFTER_SECONDS + 1


@asynchronous
async def test_a_burst_that_does_not_end() -> None:
    """The failure of the last attempt is the caller's."""
    async with FakeServer() as server, server.client() as api:
        server.on("GET", PATH, status(503, "ServiceUnavailable", "etcd is away"))
        with pytest.raises(errors.ServerError, match="503 ServiceUnavailable: etcd is away"):
            await api.send_request("GET", PATH)
        assert len(server.requests) == client.DEFAULT_POLICY.max_attempts


@asynchronous
async def test_a_server_that_is_not_there() -> None:
    """Nothing can have arrived, so even a call that must not be repeated is tried again."""
    async with FakeServer() as server:
        pass
    async with server.client() as api:
        with pytest.raises(errors.TransportError, match="no connection") as caught:
            await api.send_request("POST", PATH, policy=ONCE)
        assert not caught.value.may_have_arrived
        assert len(server.sleeps) == ONCE.max_attempts - 1


@asynchronous
async def test_a_server_that_does_not_answer() -> None:
    """Each attempt has its time; the call may have arrived."""
    async with FakeServer() as server, server.client() as api:
        server.on("GET", PATH, silence)
        with pytest.raises(errors.TransportError, match="no answer in time") as caught:
            await api.send_request("GET", PATH, policy=IMPATIENT)
        assert caught.value.may_have_arrived
        assert len(server.requests) == 2


@asynchronous
async def test_redirects_are_refused() -> None:
    """A credential goes to the server it was meant for, whatever that one says."""

    async def elsewhere(_: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    async with FakeServer() as server, server.client() as api:
        server.on("GET", PATH, elsewhere)
        server.on("GET", "/elsewhere", json_body({}))
        with pytest.raises(errors.ApiError, match="302"):
            await api.send_request("GET", PATH)
        assert [request.path for request in server.requests] == [PATH]


@asynchronous
async def test_a_refused_token_is_replaced_once() -> None:
    """After 401 the source is asked for another token and the call made again."""
    source = StaticSource("old", "new")
    async with FakeServer() as server, server.client(source) as api:
        server.on("GET", PATH, status(401), json_body({}))
        await api.send_request("GET", PATH)
        sent = [request.headers["Authorization"] for request in server.requests]
        assert sent == ["Bearer old", "Bearer new"]
        assert server.sleeps == []


@asynchronous
async def test_a_token_that_stays_refused() -> None:
    """If there is no other token, or that is refused too, the 401 is the caller's."""
    async with FakeServer() as server, server.client(StaticSource("only")) as api:
        server.on("GET", PATH, status(401, "Unauthorized"))
        with pytest.raises(errors.UnauthorizedError):
            await api.send_request("GET", PATH)
        assert len(server.requests) == 1
    async with FakeServer() as server, server.client(StaticSource("old", "new")) as api:
        server.on("GET", PATH, status(401, "Unauthorized"))
        with pytest.raises(errors.UnauthorizedError):
            await api.send_request("GET", PATH)
        assert len(server.requests) == 2


@asynchronous
async def test_many_refused_at_once_ask_for_one_token() -> None:
    """A token that expires under many calls in flight is replaced once, not once a call."""
    source = StaticSource("old", "new")
    async with FakeServer() as server, server.client(source) as api:
        refusals = [status(401)] * 20
        server.on("GET", PATH, *refusals, json_body({}))
        await asyncio.gather(*(api.send_request("GET", PATH) for _ in range(20)))
        assert source.loads == [False, True]  # the first one, and one replacement


@asynchronous
async def test_many_calls_at_a_time_renew_once() -> None:
    """When the minute is over under many calls, the source is asked once."""
    source = StaticSource("token")
    async with FakeServer() as server, server.client(source) as api:
        server.on("GET", PATH, json_body({}))
        server.clock.advance(credentials.RENEW_SECONDS)
        await asyncio.gather(*(api.send_request("GET", PATH) for _ in range(20)))
        assert source.loads == [False, False]


@asynchronous
async def test_a_token_is_read_again_every_minute() -> None:
    """Tokens that are rotated on disk are picked up before the server complains."""
    source = StaticSource("first")
    async with FakeServer() as server, server.client(source) as api:
        server.on("GET", PATH, json_body({}))
        await api.send_request("GET", PATH)
        source.tokens = ["second"]
        server.clock.advance(59)
        await api.send_request("GET", PATH)
        server.clock.advance(1)
        await api.send_request("GET", PATH)
        sent = [request.headers["Authorization"] for request in server.requests]
        assert sent == ["Bearer first", "Bearer first", "Bearer second"]


class CertificateSource:
    """A source of a client certificate that a test can change."""

    def __init__(self) -> None:
        self.certificate = b"first"

    async def load(self, *, is_rejected: bool) -> credentials.Credential:
        """Return the certificate."""
        return credentials.Credential(certificate=self.certificate)


@asynchronous
async def test_connections_of_an_old_certificate_are_left() -> None:
    """A connection speaks for the certificate it was opened with: after a change, new ones are."""
    source = CertificateSource()
    ports = set()

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        ports.add(request.transport.get_extra_info("peername")[1])
        return web.json_response({})

    async with FakeServer() as server, server.client(source) as api:
        server.on("GET", PATH, answer)
        await api.send_request("GET", PATH)
        await api.send_request("GET", PATH)
        assert len(ports) == 1
        source.certificate = b"second"
        server.clock.advance(credentials.RENEW_SECONDS)
        await api.send_request("GET", PATH)
        await api.send_request("GET", PATH)
        assert len(ports) == 2


@asynchronous
async def test_connections_are_bounded() -> None:
    """More calls than connections wait for their turn, and all are made."""
    async with FakeServer() as server, server.client(max_connections=3) as api:
        most_open = 0

        async def answer(request: web.Request) -> web.StreamResponse:
            nonlocal most_open
            assert server._runner is not None
            assert server._runner.server is not None
            most_open = max(most_open, len(server._runner.server.connections))
            await asyncio.sleep(0)
            return await json_body({})(request)

        server.on("GET", PATH, answer)
        await asyncio.gather(*(api.send_request("GET", PATH) for _ in range(30)))
        assert len(server.requests) == 30
        assert most_open == 3


@asynchronous
async def test_a_stream_in_chunks() -> None:
    """A stream gives out what arrives until the server ends it."""
    async with FakeServer() as server, server.client() as api:
        server.on("GET", PATH, stream(b"a\n", b"b\n"))
        assert await read_all(api) == b"a\nb\n"


@pytest.mark.parametrize(
    "answer, problem",
    [
        pytest.param(stream(b"a\n", cut=True), "connection was lost", id="cut"),
        pytest.param(stream(b"a\n", hang=True), "no answer in time", id="stalled"),
        pytest.param(silence, "no answer in time", id="not begun"),
        pytest.param(drop, "connection was lost", id="dropped"),
    ],
)
@asynchronous
async def test_a_stream_that_fails(answer: Answer, problem: str) -> None:
    """Streams are tried once; silence is a failure too."""
    async with FakeServer() as server, server.client() as api:
        server.on("GET", PATH, answer)
        with pytest.raises(errors.TransportError, match=problem):
            await read_all(api)
        assert server.sleeps == []


@asynchronous
async def test_a_stream_that_is_refused() -> None:
    """A stream that does not begin has its reason, and gets a new token after 401."""
    async with FakeServer() as server, server.client(StaticSource("old", "new")) as api:
        server.on("GET", PATH, status(401), status(410, "Expired"))
        with pytest.raises(errors.ResourceVersionGoneError):
            await read_all(api)
        assert len(server.requests) == 2


@asynchronous
async def test_a_stream_on_a_client_that_is_closed() -> None:
    """Closing the client under an open stream is a lost connection to the reader."""
    async with FakeServer() as server:
        server.on("GET", PATH, stream(b"a\n", hang=True))
        async with server.client() as api, api.open_stream(PATH, stall_seconds=5) as chunks:
            assert await anext(chunks) == b"a\n"
            await api.__aexit__(None, None, None)
            with pytest.raises(errors.TransportError):
                await anext(chunks)


@asynchronous
async def test_no_secret_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    """Neither objects nor errors nor logs show a token."""
    caplog.set_level(logging.DEBUG)
    secret = "c2VjcmV0-token"
    async with FakeServer() as server, server.client(StaticSource(secret)) as api:
        server.on("GET", PATH, status(401), drop)
        shown = [repr(api), repr(vars(api)), repr(api._connection), repr(api._credentials)]
        for _ in range(2):
            with pytest.raises(errors.KubeError) as caught:
                await api.send_request("GET", PATH, policy=ONCE)
            shown += [str(caught.value), repr(caught.value), repr(caught.value.__cause__)]
    assert secret not in "".join(shown)
    assert secret not in caplog.text


def test_the_kernel_looks_whether_the_other_side_lives() -> None:
    """A connection of a node that is gone ends within half a minute, also a silent one."""
    made = sockets.make_keepalive_socket_factory(4.5)(
        (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 0))
    )
    with made:
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        silent_seconds = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
        asked_seconds = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL)
        probes = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT)
        assert silent_seconds + probes * asked_seconds <= 30
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 4500
