"""HTTP/1.1 connections for frequent short calls: bindings, events, conditions.

Each connection serves one call at a time: a request is one write, an answer usually one read.
aiohttp uses 2.9 times the CPU time (103 µs instead of 35 µs for a call, `python -m benchmarks
calls`), and a pod needs at least two calls. `client` uses aiohttp for watches and proxies, for
which CPU time does not matter (docs/decisions/0012-connections-for-calls.md).
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import ssl
import sys
import urllib.parse
from collections.abc import Callable
from typing import NamedTuple, cast

import httptools

from policysched.connections import keepalive

CONNECT_TIMEOUT_SECONDS = 10.0
KEEPALIVE_SECONDS = 60.0
"""Shorter than the 90 s after which kube-apiserver closes an idle connection (net/http server)."""

_FIRST_FINAL_STATUS = 200  # lower codes precede the final answer

_READ_BYTES = 64 * 1024
"""Limit of one read: four TLS records (RFC 8446, section 5.1)."""


class NoConnectionError(OSError):
    """No connection could be opened; nothing was sent."""


@dataclasses.dataclass(frozen=True, slots=True)
class ServerAddress:
    """How to reach a server.

    Attributes:
        url: base URL; calls append their paths.
        ssl_context: TLS of connections; None for plain HTTP.
        server_hostname: name expected in the server's certificate, or None for the URL's host.
    """

    url: str
    ssl_context: ssl.SSLContext | None
    server_hostname: str | None = None


class CallResponse(NamedTuple):
    """The answer of the server to a call.

    Attributes:
        status: the HTTP status.
        retry_after: the `Retry-After` header, or None if absent.
        body: the whole body.
    """

    status: int
    retry_after: str | None
    body: bytes


class CallConnections:
    """Connections to one server, opened on demand and kept for KEEPALIVE_SECONDS."""

    def __init__(
        self,
        address: ServerAddress,
        limit: int,
        unacknowledged_seconds: float | None = None,
        *,
        max_body_bytes: int = sys.maxsize,
        connect_timeout_seconds: float = CONNECT_TIMEOUT_SECONDS,
    ) -> None:
        """Create an empty pool.

        Args:
            address: the server.
            limit: maximum number of connections; additional calls wait for a free connection.
            unacknowledged_seconds: how long sent bytes may stay unacknowledged, or None for the
                limit in `keepalive`.
            max_body_bytes: limit of an answer; a longer one loses its connection.
            connect_timeout_seconds: limit for opening a connection, with TLS.
        """
        url = urllib.parse.urlsplit(address.url)
        self._host = url.hostname or ""
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._base_path = url.path.rstrip("/")
        self._host_line = f"Host: {url.netloc.rpartition('@')[2]}\r\n"
        self._ssl_context = address.ssl_context
        self._server_hostname = address.server_hostname
        self._unacknowledged_seconds = unacknowledged_seconds
        self._max_body_bytes = max_body_bytes
        self._connect_timeout_seconds = connect_timeout_seconds
        self._places = asyncio.Semaphore(limit)
        self._idle: collections.deque[_CallConnection] = collections.deque()
        self._is_closed = False
        self._read_buffer = memoryview(bytearray(_READ_BYTES))

    async def call(
        self, method: str, path: str, headers: str, body: bytes, look: Callable[[], object] | None
    ) -> CallResponse:
        """Send a call and return its answer.

        Args:
            method: the HTTP method.
            path: path and query, encoded.
            headers: lines that end with CR LF, without `Host` and `Content-Length`.
            body: the body of the request.
            look: called immediately before the bytes are sent; if it raises, nothing is sent.

        Raises:
            NoConnectionError: nothing was sent.
            ssl.SSLCertVerificationError: the server is not trusted, so nothing was sent.
            OSError: the connection was lost before the whole answer was received.
        """
        line = f"{method} {self._base_path}{path} HTTP/1.1\r\n"
        length = f"Content-Length: {len(body)}\r\n" if body or method != "GET" else ""
        request = f"{line}{self._host_line}{headers}{length}\r\n".encode() + body
        async with self._places:
            connection = self._pop_idle_connection() or await self._open_connection()
            try:
                if look is not None:
                    look()
                return await connection.send_request(request)
            finally:
                self._keep_or_close_connection(connection)

    def close(self) -> None:
        """Close all idle connections; connections in use are closed when their calls end."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    def _pop_idle_connection(self) -> _CallConnection | None:
        """Return the most recently used idle connection that is still open, or None."""
        oldest_seconds = asyncio.get_running_loop().time() - KEEPALIVE_SECONDS
        while self._idle and self._idle[0].idle_since_seconds < oldest_seconds:
            self._idle.popleft().close()
        while self._idle:
            # Use the newest connection first, so that surplus connections become idle and are
            # closed.
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        return None

    def _keep_or_close_connection(self, connection: _CallConnection) -> None:
        if connection.is_reusable and not self._is_closed:
            connection.idle_since_seconds = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.close()

    async def _open_connection(self) -> _CallConnection:
        """Open a connection with TCP keepalive, and with TLS if the server uses it."""
        try:
            async with asyncio.timeout(self._connect_timeout_seconds):
                transport, made = await asyncio.get_running_loop().create_connection(
                    lambda: _CallConnection(self._read_buffer, self._max_body_bytes),
                    self._host,
                    self._port,
                    ssl=self._ssl_context,
                    server_hostname=self._server_hostname if self._ssl_context else None,
                )
        except ssl.SSLCertVerificationError:
            raise
        except OSError as error:
            raise NoConnectionError(str(error) or type(error).__name__) from error
        keepalive.enable_tcp_keepalive(
            transport.get_extra_info("socket"), self._unacknowledged_seconds
        )
        return made


class _CallConnection(asyncio.BufferedProtocol):
    """One connection, with the HTTP parser of its answers.

    For a protocol without its own buffer, asyncio's TLS allocates two buffers of 256 KiB for each
    answer, which costs more than the rest of a call (see `malloc_tuning.py`).

    Attributes:
        idle_since_seconds: when the last call ended, by the clock of the event loop.
    """

    def __init__(self, read_buffer: memoryview, max_body_bytes: int) -> None:
        """Use `read_buffer`, which all connections of a loop share: it is empty between reads."""
        self.idle_since_seconds = 0.0
        self._max_body_bytes = max_body_bytes
        self._body_bytes = 0
        self._read_buffer = read_buffer
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[CallResponse] | None = None
        self._retry_after: str | None = None
        self._body: list[bytes] = []
        self._has_length = False
        self._reads_to_end = False
        self._stays = True

    @property
    def is_open(self) -> bool:
        """Whether neither side has closed the connection."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def is_reusable(self) -> bool:
        """Whether the connection can serve another call."""
        return self._answer is None and self._stays and self.is_open

    def send_request(self, request: bytes) -> asyncio.Future[CallResponse]:
        """Send a request; the future receives its answer.

        Raises:
            ConnectionResetError: the connection is already closed.
        """
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the server has closed it")
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def close(self) -> None:
        """Close immediately, without the closing handshake of TLS, which is not needed."""
        if self._transport is not None:
            self._transport.abort()

    def _fail_pending_call(self, error: Exception) -> None:
        """Fail the call that waits for an answer."""
        answer, self._answer = self._answer, None
        self._stays = False
        if answer is not None and not answer.done():
            answer.set_exception(error)

    # --- called by the transport ------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the connected transport."""
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for the next part of an answer."""
        del sizehint
        return self._read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse the next part of an answer."""
        if self._answer is None:  # the server sent bytes without a request
            self.close()
            return
        try:
            self._parser.feed_data(self._read_buffer[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail_pending_call(ConnectionError(f"the answer is not HTTP: {error}"))
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        """End an answer that has no length; otherwise, fail the pending call."""
        self._transport = None
        if error is None and self._reads_to_end:
            self._end_answer()
        else:
            early = "the server closed the connection before the end of the answer"
            self._fail_pending_call(error or ConnectionResetError(early))

    # --- called by the parser ---------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the `Retry-After` header, and whether the length of the body is known."""
        lower = name.lower()
        if lower == b"retry-after":
            self._retry_after = value.decode("latin-1")
        elif lower in {b"content-length", b"transfer-encoding"}:
            self._has_length = True

    def on_headers_complete(self) -> None:
        """Without a length, the end of the connection ends the answer (RFC 9112, section 6.3)."""
        is_final = self._parser.get_status_code() >= _FIRST_FINAL_STATUS
        self._reads_to_end = is_final and not self._has_length

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body."""
        self._body_bytes += len(body)
        if self._body_bytes <= self._max_body_bytes:
            self._body.append(body)
            return
        text = f"the answer exceeds {self._max_body_bytes} bytes"
        self._fail_pending_call(ConnectionError(text))
        self.close()

    def on_message_complete(self) -> None:
        """Pass the answer to the call that waits for it."""
        if self._parser.get_status_code() < _FIRST_FINAL_STATUS:
            self._has_length = False
            return
        self._stays = self._parser.should_keep_alive()
        self._end_answer()

    def _end_answer(self) -> None:
        status = self._parser.get_status_code()
        made = CallResponse(status, self._retry_after, b"".join(self._body))
        self._retry_after = None
        self._body_bytes = 0
        self._body.clear()
        self._has_length = self._reads_to_end = False
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_result(made)
