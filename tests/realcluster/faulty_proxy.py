"""A way to the API server on which requests, answers and watches come to harm, as a test says.

    with faulty_proxy.FaultyProxy(plane) as proxy:
        proxy.plan = faults.failing(random.Random(1), share=0.3)
        ...
        proxy.plan = faulty_proxy.healthy

It speaks HTTP to both sides, so it knows a watch from a binding. It runs in a thread of its own.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import enum
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Self

import aiohttp
from aiohttp import web

from tests.realcluster import process

if TYPE_CHECKING:
    from tests.realcluster import control_plane

_HOP_BY_HOP = ("Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length", "Host")
_GONE = {"code": 410, "reason": "Expired", "message": "too old resource version"}
_POLITE_END_SECONDS = 30.0
"""How long connections to the API server may take to say goodbye by TLS."""
_MAX_BODY_BYTES = 2**26


class Harm(enum.Enum):
    """What happens to one request."""

    NONE = "none"
    REFUSE = "refused before the server has seen it"
    FAIL_AFTER = "carried out, then answered with a failure"
    LOSE = "carried out, then the connection ends without an answer"
    HOLD = "carried out, then never answered"
    TEAR = "answered, but the connection ends in the middle of the body"


@dataclasses.dataclass(frozen=True)
class Fault:
    """What happens to one request, and how.

    Attributes:
        status: of the answer that REFUSE and FAIL_AFTER give.
        retry_after: seconds that the answer asks to wait, None for no such header.
        delay_seconds: before anything else.
    """

    harm: Harm = Harm.NONE
    status: int = 503
    retry_after: int | None = None
    delay_seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Call:
    """A request that has arrived."""

    method: str
    path: str
    is_watch: bool

    @property
    def is_binding(self) -> bool:
        """Whether it binds a pod."""
        return self.method == "POST" and self.path.endswith("/binding")


Plan = Callable[[Call], Fault]
_UNHARMED = Fault()


def healthy(_: Call) -> Fault:
    """Let everything through."""
    return _UNHARMED


class FaultyProxy:
    """Forwards requests to a control plane; its certificate is the API server's own.

    Attributes:
        server: its address.
        plan: says what happens to each request; may be set at any time.
        given: how often which harm was done, delays by "delay".
        bound: monotonic time and path of each binding that the API server accepted.
    """

    def __init__(self, plane: control_plane.ControlPlane) -> None:
        self.server = ""
        self.plan: Plan = healthy
        self.given: collections.Counter[str] = collections.Counter()
        self.bound: list[tuple[float, str]] = []
        self._target = plane.server
        self._ca_file = plane.ca_file
        self._key_file = plane.ca_file.with_suffix(".key")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._watches: set[asyncio.Transport] = set()
        self._sockets: list[socket.socket] = []
        self._is_whole = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None

    def __enter__(self) -> Self:
        """Listen on a free port."""
        self._thread.start()
        self._do(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        """End everything."""
        self._do(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut_watches(self) -> None:
        """End all connections of watches at once."""
        self._loop.call_soon_threadsafe(self._cut_watches)

    def hold(self) -> None:
        """Let no byte of an answer through any more; connections stay open and acknowledge."""
        self._loop.call_soon_threadsafe(self._is_whole.clear)

    def release(self) -> None:
        """Let new connections through again; what was held on old ones is never answered.

        Watches whose answers were held stay silent: nobody tells the client that they are dead.
        """
        self._loop.call_soon_threadsafe(self._is_whole.set)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _start(self) -> None:
        self._is_whole.set()
        trusted = ssl.create_default_context(cafile=str(self._ca_file))
        connector = aiohttp.TCPConnector(ssl=trusted, limit=0, socket_factory=self._open_socket)
        self._session = aiohttp.ClientSession(
            connector=connector, auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None)
        )
        app = web.Application(client_max_size=_MAX_BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        own.load_cert_chain(str(self._ca_file), str(self._key_file))
        site = web.TCPSite(self._runner, "127.0.0.1", process.free_port(), ssl_context=own)
        await site.start()
        port = self._runner.addresses[0][1]
        self.server = f"https://127.0.0.1:{port}"

    async def _stop(self) -> None:
        self._cut_watches()
        if self._session is not None:
            await self._session.close()
        if self._runner is not None:
            await self._runner.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:  # answers that are held for ever
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_POLITE_END_SECONDS):
                while any(each.fileno() >= 0 for each in self._sockets):  # noqa: ASYNC110 - nothing tells when a socket is closed
                    await asyncio.sleep(0.01)

    def _open_socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, *_ = address
        made = socket.socket(family, kind, protocol)
        self._sockets.append(made)
        return made

    def _cut_watches(self) -> None:
        for transport in self._watches:
            transport.abort()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        call = Call(request.method, request.path, request.query.get("watch") in ("1", "true"))
        fault = self.plan(call)
        if fault.delay_seconds:
            self.given["delay"] += 1
            await asyncio.sleep(fault.delay_seconds)
        if fault.harm is not Harm.NONE:
            self.given[fault.harm.name] += 1
        if fault.harm is Harm.REFUSE:
            return _failure(fault)
        try:
            return await self._forward(request, call, fault)
        except (aiohttp.ClientError, OSError):  # the API server is away, or went in the middle
            _end(request)
            return web.Response(status=502)

    async def _forward(self, request: web.Request, call: Call, fault: Fault) -> web.StreamResponse:
        session = self._session
        if session is None:
            raise RuntimeError("the proxy is not started")
        headers = [pair for pair in request.headers.items() if pair[0] not in _HOP_BY_HOP]
        body = await request.read()
        url = self._target + request.raw_path
        async with session.request(
            request.method, url, headers=headers, data=body or None, allow_redirects=False
        ) as answer:
            if call.is_binding and answer.ok:
                self.bound.append((time.monotonic(), request.path))
            if call.is_watch and answer.ok:
                return await self._watch(request, answer, fault)
            content = await answer.read()
        await self._held()
        if fault.harm is Harm.HOLD:
            await self._loop.create_future()  # the client's end ends the handler
        if fault.harm is Harm.FAIL_AFTER:
            return _failure(fault)
        if fault.harm is Harm.LOSE:
            _end(request)
        if fault.harm is Harm.TEAR:
            torn = web.StreamResponse(status=answer.status, headers=_passed_on(answer))
            torn.content_length = len(content)
            await torn.prepare(request)
            await torn.write(content[: len(content) // 2])
            _end(request)
            return torn
        return web.Response(status=answer.status, headers=_passed_on(answer), body=content)

    async def _watch(
        self, request: web.Request, answer: aiohttp.ClientResponse, fault: Fault
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=_passed_on(answer))
        await response.prepare(request)
        transport = request.transport
        if transport is None:  # the client has gone
            return response
        self._watches.add(transport)
        try:
            async for chunk in answer.content.iter_any():
                await self._held()
                if fault.harm is Harm.TEAR:
                    await response.write(chunk[: len(chunk) // 2])
                    _end(request)
                    break
                if fault.harm is Harm.FAIL_AFTER:
                    await response.write(_error_line(fault))
                    break
                await response.write(chunk)
        finally:
            self._watches.discard(transport)
        return response

    async def _held(self) -> None:
        """Go on, unless all answers are held: then never, and the client's end ends the handler."""
        if not self._is_whole.is_set():
            self.given["hold"] += 1
            await self._loop.create_future()


def _failure(fault: Fault) -> web.Response:
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    text = json.dumps(_status(fault))
    return web.Response(
        status=fault.status, headers=headers, text=text, content_type="application/json"
    )


def _error_line(fault: Fault) -> bytes:
    """Return the event by which a watch ends."""
    return json.dumps({"type": "ERROR", "object": _status(fault)}).encode() + b"\n"


def _status(fault: Fault) -> dict[str, object]:
    said = _GONE if fault.status == _GONE["code"] else {"code": fault.status, "reason": "Harm"}
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "harm", **said}


def _passed_on(answer: aiohttp.ClientResponse) -> dict[str, str]:
    return {key: value for key, value in answer.headers.items() if key not in _HOP_BY_HOP}


def _end(request: web.Request) -> None:
    with contextlib.suppress(RuntimeError):
        if request.transport is not None:
            request.transport.abort()
