"""An HTTP server on a loopback port that answers what a test tells it to, in order.

    async with fake_server.FakeServer() as server:
        server.on("GET", "/api/v1/pods", status(429, retry_after=7), json_body({"items": []}))
        async with server.client() as api: ...
        assert server.requests[0].path == "/api/v1/pods"

It is the transport that is faked, never our own functions. The last answer of a path is given again
and again; a request that nobody expects gets 501.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import json
import random
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Self

from aiohttp import web

from policysched import clock as clocks
from policysched.kube.auth import credentials, kubeconfig
from policysched.kube.http import client, rate_limit
from policysched.kube.http import fence as fences
from tests import builders
from tests.kube import asynchronous
from tests.realcluster import process

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclasses.dataclass(frozen=True)
class Request:
    """A request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


class StaticSource:
    """A source of credentials that holds a list: each 401 leads to the next one."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)
        self.loads: list[bool] = []

    async def load(self, *, is_rejected: bool) -> credentials.Credential:
        """Return the current token, after a rejection the next one; it takes a while."""
        await asyncio.sleep(0)
        self.loads.append(is_rejected)
        if is_rejected and len(self.tokens) > 1:
            self.tokens.pop(0)
        return credentials.Credential(f"Bearer {self.tokens[0]}")


class FakeServer:
    """The server; an asynchronous context manager.

    Attributes:
        requests: all requests so far.
        sleeps: the pauses that its client would have made.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.sleeps = asynchronous.Sleeps()
        self.clock = clocks.ManualClock(builders.EPOCH)
        self.url = ""
        self._answers: dict[tuple[str, str], collections.deque[Answer]] = {}
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        """Listen on a free port."""
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", process.free_port())
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        """Stop listening."""
        assert self._runner is not None
        await self._runner.cleanup()

    def on(self, method: str, path: str, *answers: Answer) -> None:
        """Add answers to requests of this method and path (without query)."""
        self._answers.setdefault((method, path), collections.deque()).extend(answers)

    @contextlib.asynccontextmanager
    async def client(
        self,
        source: credentials.CredentialSource | None = None,
        *,
        max_connections: int = 128,
        limit: rate_limit.TokenBucket | None = None,
        fence: fences.WriteFence | None = None,
    ) -> AsyncIterator[client.ApiClient]:
        """Connect a client whose pauses take no time."""
        source = source or StaticSource("token-1")
        first = await source.load(is_rejected=False)
        connection = kubeconfig.ApiClientConfig(
            self.url, None, credentials.Credentials(source, first, self.clock)
        )
        async with client.ApiClient(
            connection,
            rng=random.Random(1),
            sleep=self.sleeps,
            max_connections=max_connections,
            limit=limit,
            fence=fence,
        ) as api:
            yield api

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.requests.append(
            Request(
                request.method,
                request.path,
                dict(request.query),
                dict(request.headers),
                _decoded(body),
            )
        )
        answers = self._answers.get((request.method, request.path))
        if not answers:
            return web.Response(status=501, text=f"unexpected {request.method} {request.path}")
        answer = answers[0] if len(answers) == 1 else answers.popleft()
        return await answer(request)


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body.decode()


def json_body(body: object, status_code: int = 200) -> Answer:
    """Answer with an object."""
    return raw(json.dumps(body).encode(), status_code)


def raw(body: bytes, status_code: int = 200) -> Answer:
    """Answer with these bytes."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body, status=status_code, content_type="application/json")

    return answer


def status(
    code: int,
    reason: str = "",
    message: str = "no",
    *,
    retry_after: int | None = None,
    cause: str = "",
) -> Answer:
    """Answer with a v1 Status, as the API server fails."""
    body = status_object(code, reason, message, cause=cause)

    async def answer(_: web.Request) -> web.StreamResponse:
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return web.json_response(body, status=code, headers=headers)

    return answer


def status_object(code: int, reason: str, message: str, *, cause: str = "") -> dict[str, object]:
    """Return a v1 Status."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": {"causes": [{"reason": cause, "message": "because"}]} if cause else {},
        "code": code,
    }


def stream(*chunks: bytes, cut: bool = False, hang: bool = False) -> Answer:
    """Answer with chunks, then end well, cut the connection, or say nothing for ever."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if hang:
            await asyncio.Event().wait()
        if cut:
            assert request.transport is not None
            request.transport.abort()
        return response

    return answer


async def drop(request: web.Request) -> web.StreamResponse:
    """Take the request and cut the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def silence(_: web.Request) -> web.StreamResponse:
    """Take the request and never answer."""
    await asyncio.Event().wait()
    raise AssertionError


def line(event_type: str, body: object) -> bytes:
    """Return a watch event as it is on the wire."""
    return json.dumps({"type": event_type, "object": body}).encode() + b"\n"


def object_list(
    items: list[object], resource_version: str = "1", continue_token: str = ""
) -> dict[str, object]:
    """Return a list, or one page of it."""
    meta = {"resourceVersion": resource_version, "continue": continue_token}
    return {"kind": "List", "apiVersion": "v1", "metadata": meta, "items": items}


def node(name: str, version: int) -> dict[str, Any]:
    """Return a node in a certain version."""
    meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": meta, "spec": {}, "status": {"allocatable": {"cpu": "4"}}}
