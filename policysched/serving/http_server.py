"""A small HTTP server for pages about the process, in the process's own event loop.

Pages are made on request between two steps of the scheduler, so they need no locks but must be
quick. A slower page is a coroutine function that works in a thread. The server answers only GET and
HEAD, and POST on paths that accept it. The size and the duration of all client input are limited.

    server = http_server.HttpServer(address, {"/metrics": page}, guard=access, tls=certificates)
    await server.run()
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import gzip
import inspect
import logging
import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, NoReturn, Protocol, TypeAlias

import orjson
from aiohttp import web

from policysched import errors
from policysched.config import addresses
from policysched.serving import connections

_log = logging.getLogger(__name__)
_silent = logging.getLogger(f"{__name__}.requests")
"""A disabled logger: any client can send malformed requests, and they can contain tokens."""
_silent.disabled = True

_MAX_LINE_BYTES = 8190
_MAX_HEADERS = 64
_IDLE_SECONDS = 60.0
"""Time limit for the head of a request, and for an idle connection between requests."""
_ANSWER_SECONDS = 30.0
"""Time limit for a request, from its head to the last byte of the answer."""
_CLOSING_SECONDS = 1.0
_METHODS = ("GET", "HEAD")
_MIN_COMPRESSED_BYTES = 1400
"""About what fits into one packet, so that a smaller body gains nothing."""

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


@dataclasses.dataclass(frozen=True, slots=True)
class HttpPage:
    """An answer.

    Attributes:
        headers: additional headers, or other values of the usual ones.
        etag: identifies the content, in double quotes; a client that already has it gets status
            304 without a body. "" for a page that clients must not keep.
        is_compressed: whether a client that accepts gzip gets the body compressed.
        gzip_body: the body compressed in advance, for a body that does not change.
    """

    body: bytes
    content_type: str = TEXT
    status: int = 200
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    etag: str = ""
    is_compressed: bool = False
    gzip_body: bytes = b""


def make_json_page(document: object) -> HttpPage:
    """Return a page of indented JSON."""
    body = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return HttpPage(body, JSON)


class QueryParameters:
    """The query parameters of a request, such as `limit=10&verbose`."""

    def __init__(self, values: Mapping[str, tuple[str, ...]] | None = None) -> None:
        """Use `values`, keyed by the name of the parameter."""
        self._values = dict(values or {})

    def __contains__(self, name: str) -> bool:
        """Return whether the parameter is present, with or without a value."""
        return name in self._values

    def list_names(self) -> list[str]:
        """Return the names of the parameters that are present."""
        return list(self._values)

    def get_one(self, name: str, default: str = "") -> str:
        """Return the first value of a parameter, or `default` if it is absent."""
        return self._values.get(name, (default,))[0]

    def get_all(self, name: str) -> tuple[str, ...]:
        """Return all values of a parameter; empty if it is absent."""
        return self._values.get(name, ())


MakePage: TypeAlias = Callable[[QueryParameters], HttpPage | Awaitable[HttpPage]]
TakePost: TypeAlias = Callable[[bytes], Awaitable[HttpPage]]


@dataclasses.dataclass(frozen=True, slots=True)
class PageRequest:
    """A request with the credentials of its client.

    Attributes:
        method, path: the HTTP method and the path, without the query.
        authorization: the Authorization header, or "" if absent.
        certificate: the verified client certificate, in the form of `ssl.SSLSocket.getpeercert`.
        host: the Host header, or "" if absent.
        fetch_site: the Sec-Fetch-Site header, with which browsers say who asks; "" if absent.
    """

    method: str
    path: str
    authorization: str = dataclasses.field(default="", repr=False)
    certificate: Mapping[str, Any] | None = None
    host: str = ""
    fetch_site: str = ""


class PageGuard(Protocol):
    """Decides whether a client may access a page."""

    async def find_denial_page(self, asker: PageRequest) -> HttpPage | None:
        """Return the error page for a denied request, or None if access is allowed."""
        ...


class TlsContextSource(Protocol):
    """Provides the TLS settings of each new connection."""

    def get_tls_context(self) -> ssl.SSLContext:
        """Return the settings of the next connection."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class PostRoutes:
    """Handlers of POST requests, keyed by path, and the size limit of a body."""

    by_path: Mapping[str, TakePost]
    max_bytes: int = 0


class HttpServer:
    """Serves pages, each at its path.

    Attributes:
        bound: the address on which the server listens.
    """

    def __init__(
        self,
        listen: addresses.ListenAddress,
        pages: Mapping[str, MakePage],
        *,
        guard: PageGuard | None = None,
        tls: TlsContextSource | None = None,
        posts: PostRoutes | None = None,
        limits: connections.ConnectionLimits = connections.DEFAULT_LIMITS,
    ) -> None:
        """Open the port; `run` serves `pages`, including pages that are added later.

        Args:
            listen: the address to listen on.
            pages: functions that make a page, keyed by path.
            guard: decides on access; None allows all requests.
            tls: the TLS settings of connections, or None for plain HTTP.
            posts: paths that accept POST, or None for no path.
            limits: limits for all clients and per address.

        Raises:
            ConfigurationError: the address is unavailable.
        """
        self._pages = pages
        self._guard = guard
        self._tls = tls
        self._posts = posts or PostRoutes({})
        self._limits = limits
        self._pace = connections.AddressRateLimiter(limits.requests_per_second)
        self._connections: connections.ConnectionAcceptor
        self._socket = _open_listening_socket(listen)
        host, port, *_ = self._socket.getsockname()
        self.bound = addresses.ListenAddress(host, port)

    async def run(self) -> NoReturn:
        """Serve until cancelled."""
        server = web.Server(self._handle_request)
        self._connections = connections.ConnectionAcceptor(
            self._socket,
            functools.partial(_make_protocol, server),
            tls=None if self._tls is None else self._tls.get_tls_context,
            limits=self._limits,
        )
        paths = ", ".join([*self._pages, *self._posts.by_path])
        scheme = "http" if self._tls is None else "https"
        _log.info("serving %s on %s://%s", paths, scheme, self.bound)
        try:
            await self._connections.run()
        finally:
            await server.shutdown(_CLOSING_SECONDS)  # lets answers in progress finish
            self._connections.drop_all_connections()

    async def _handle_request(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request completely; drop a client that does not read the answer in time."""
        self._connections.mark_recently_used(request.protocol)
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                await self._delay_above_rate_limit(request.remote or "")
                page = _FAILED
                with _log_page_failures(request.path):
                    page = await self._make_answer(request)
                response = _make_response(page, request)
                await response.prepare(request)
                await response.write_eof()
                return response
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError from None
        finally:
            self._connections.mark_recently_used(request.protocol)

    async def _delay_above_rate_limit(self, address: str) -> None:
        """Delay a request above the rate limit; later requests of its connection also wait."""
        now_seconds = asyncio.get_running_loop().time()
        wait_seconds = self._pace.compute_wait_seconds(address, now_seconds)
        self._pace.count_action(address, now_seconds)
        if wait_seconds > 0.0:
            await asyncio.sleep(wait_seconds)

    async def _make_answer(self, request: web.BaseRequest) -> HttpPage:
        """Return the page of a request, or an error page."""
        path = request.path
        make_page, take_post = self._pages.get(path), self._posts.by_path.get(path)
        if make_page is None and take_post is None:
            return HttpPage(b"page not found\n", status=404)  # needs no access review
        if self._guard is not None:
            refusal = await self._guard.find_denial_page(_make_page_request(request))
            if refusal is not None:
                return refusal
        if take_post is not None and request.method == "POST":
            return await self._handle_posted_body(request, take_post)
        if make_page is None or request.method not in _METHODS:
            return HttpPage(b"method not allowed\n", status=405)
        made = make_page(_parse_query(request))
        return await made if inspect.isawaitable(made) else made

    async def _handle_posted_body(self, request: web.BaseRequest, take_post: TakePost) -> HttpPage:
        """Read a limited body and return the answer of its handler."""
        limit_bytes = self._posts.max_bytes
        if (request.content_length or 0) > limit_bytes:
            return _TOO_LARGE
        body = bytearray()
        try:
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > limit_bytes:
                    return _TOO_LARGE
        except (OSError, RuntimeError, web.RequestPayloadError) as error:  # aiohttp: closed
            raise ConnectionResetError from error
        return await take_post(bytes(body))


class _Protocol(web.RequestHandler):
    """Answers a malformed request without its bytes, which can be a token."""

    def handle_error(self, request: web.BaseRequest, *_: object, **__: object) -> web.Response:
        """Return the error for a request that the parser refuses."""
        response = _make_response(_MALFORMED, request)
        response.force_close()
        return response


def _make_protocol(server: web.Server) -> _Protocol:
    return _Protocol(
        server,
        loop=asyncio.get_running_loop(),
        access_log=_silent,
        logger=_silent,
        keepalive_timeout=_IDLE_SECONDS,
        lingering_time=0.0,
        max_line_size=_MAX_LINE_BYTES,
        max_field_size=_MAX_LINE_BYTES,
        max_headers=_MAX_HEADERS,
        auto_decompress=False,
    )


_MALFORMED = HttpPage(
    b"the request is malformed, or one of its lines has more than %d bytes\n" % _MAX_LINE_BYTES,
    status=400,
)
_TOO_LARGE = HttpPage(b"the request body is too large\n", status=413)
_FAILED = HttpPage(b"the page could not be created; see the log\n", status=500)


@contextlib.contextmanager
def _log_page_failures(path: str) -> Iterator[None]:
    """Log an exception that a page raises, so that it does not end the process."""
    try:
        yield
    except ConnectionError:  # the client has disconnected
        raise
    except Exception:  # noqa: BLE001 - any bug in a page
        _log.exception("the page %s could not be rendered", path)


def _make_page_request(request: web.BaseRequest) -> PageRequest:
    transport = request.transport
    certificate = transport.get_extra_info("peercert") if transport is not None else None
    headers = request.headers
    return PageRequest(
        request.method,
        request.path,
        headers.get("Authorization", ""),
        certificate or None,
        headers.get("Host", ""),
        headers.get("Sec-Fetch-Site", ""),
    )


def _parse_query(request: web.BaseRequest) -> QueryParameters:
    asked = request.query
    return QueryParameters({name: tuple(asked.getall(name)) for name in asked})


def _make_response(page: HttpPage, request: web.BaseRequest) -> web.Response:
    """Return the response for a page; unless it has an ETag, its headers prevent caching."""
    headers = {
        "Content-Type": page.content_type,
        "Cache-Control": "no-cache" if page.etag else "no-store",
        "X-Content-Type-Options": "nosniff",
        "Server": "policysched",
        **page.headers,
    }
    if page.etag:
        headers["ETag"] = page.etag
        if request.headers.get("If-None-Match") == page.etag:
            return web.Response(headers=headers, status=304)
    if page.status == 405:  # noqa: PLR2004 - HTTP: Method Not Allowed
        headers["Allow"] = ", ".join(_METHODS)
    body = page.body
    if page.is_compressed:
        headers["Vary"] = "Accept-Encoding"
        if len(body) > _MIN_COMPRESSED_BYTES and _accepts_gzip(request):
            headers["Content-Encoding"] = "gzip"
            body = page.gzip_body or gzip.compress(body, compresslevel=1, mtime=0)
    return web.Response(body=body, headers=headers, status=page.status)


def _accepts_gzip(request: web.BaseRequest) -> bool:
    accepted = request.headers.get("Accept-Encoding", "").lower()
    return any(each.strip() == "gzip" for each in accepted.split(","))


def _open_listening_socket(listen: addresses.ListenAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        return socket.create_server((listen.host, listen.port), family=family)
    except OSError as error:
        problem = f"cannot listen on this address: {os.strerror(error.errno or 0)}"
        raise errors.ConfigurationError(f"`{listen}`", problem) from error
