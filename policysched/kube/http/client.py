"""Send requests to one API server over persistent connections; bodies are bytes.

    async with client.ApiClient(connection, rng=rng) as api:
        body = await api.send_request("GET", "/api/v1/nodes/node-1")

A call is repeated, with growing and jittered pauses, if that is safe: always after 429 (the server
did not process it) and if no connection was opened; after 5xx and lost answers only if the call's
policy declares it idempotent. A 401 causes one more attempt if another credential is available. The
server limits requests by API priority and fairness; a `rate_limit.TokenBucket` adds a client-side
limit. With a `fence.WriteFence`, requests other than GET are sent only while this process may
write, and end before another process may write.

Calls use the connections of `connections`, which need a third of aiohttp's CPU time; streams,
and all requests through a proxy, use aiohttp.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import math
import random
import types
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple, Self, TypeVar

import aiohttp
import yarl

from policysched import backoff
from policysched.connections import call_connections
from policysched.kube import errors
from policysched.kube.auth import kubeconfig
from policysched.kube.http import (
    fence,
    fenced_sending,
    rate_limit,
    request_headers,
    request_stats,
    sockets,
    transport_failures,
)

JSON = request_headers.JSON
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"

BACKOFF = backoff.Backoff(first_seconds=0.1, max_seconds=10.0)
MAX_RETRY_AFTER_SECONDS = 60.0
"""Upper limit of the pause that a server requests before the call is repeated."""

_FIRST_FAILURE_STATUS = 300  # redirects fail: a credential must not reach another server

Sleep = Callable[[float], Awaitable[None]]
T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class CallRetryPolicy:
    """Timeout and number of attempts of a call.

    Attributes:
        timeout_seconds: limit of one attempt, from waiting for a connection to the last byte.
        max_attempts: maximum number of attempts.
        is_idempotent: whether two calls have the same effect as one call.
    """

    timeout_seconds: float = 30.0
    max_attempts: int = 5
    is_idempotent: bool = True


DEFAULT_POLICY = CallRetryPolicy()


class _ApiCall(NamedTuple):
    method: str
    path: str
    body: bytes
    content_type: str
    timeout_seconds: float | None
    stall_seconds: float | None = None


class ApiClient:
    """Connections of one user to one API server; an asynchronous context manager.

    Attributes:
        stats: counts and durations of requests.
    """

    def __init__(
        self,
        connection: kubeconfig.ApiClientConfig,
        *,
        rng: random.Random,
        sleep: Sleep = asyncio.sleep,
        max_connections: int = 128,
        limit: rate_limit.TokenBucket | None = None,
        fence: fence.WriteFence | None = None,
    ) -> None:
        """Create a client; connections are opened on demand.

        Args:
            connection: settings of the server, the credentials and the proxy.
            rng: randomises the pauses between attempts.
            sleep: waits for a number of seconds.
            max_connections: maximum number of connections; additional calls wait for a free
                connection. Each watch uses one connection.
            limit: each attempt and each stream waits for a token.
            fence: determines whether this process may write now, and how long a write may take.
        """
        self._connection = connection
        self._credentials = connection.credentials
        self._rng = rng
        self._sleep = sleep
        self._max_connections = max_connections
        self._limit = limit
        self._fence = fence
        self._session: aiohttp.ClientSession | None = None
        self._certificate_generation = self._credentials.certificate_generation
        self._calls: call_connections.CallConnections | None = None
        self._headers = request_headers.RequestHeaderCache()
        self.stats = request_stats.RequestStats()

    async def __aenter__(self) -> Self:
        """Open the client; a closed client can be opened again."""
        self._open_connections()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        """Close all connections."""
        if self._calls is not None:
            self._calls.close()
        await self._get_open_session().close()

    async def send_request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str = JSON,
        policy: CallRetryPolicy = DEFAULT_POLICY,
    ) -> bytes:
        """Send a call and return the body of its answer.

        Args:
            method: the HTTP method.
            path: path and query, encoded.
            body: the body of the request.
            content_type: the media type of `body`.
            policy: timeout and number of attempts.

        Raises:
            ApiError: the server refused the last attempt.
            TransportError: the last attempt got no answer.
            FencedWriteError: this process must no longer write; the last attempt was not sent.
        """
        call = _ApiCall(method, path, body, content_type, policy.timeout_seconds)
        failures = 0
        while True:
            await self._wait_for_rate_limit()
            try:
                return await self._send_with_credential_retry(self._send_call_and_read_body, call)
            except errors.KubeError as error:
                failures += 1
                wait_seconds = self._compute_retry_seconds(error, failures, policy)
                if wait_seconds is None or failures >= policy.max_attempts:
                    raise
            await self._sleep(wait_seconds)

    async def pause_between_attempts(self, failures: int) -> None:
        """Wait as long as a call waits after `failures` failures in a row."""
        await self._sleep(BACKOFF.compute_wait_seconds(failures, self._rng))

    @contextlib.asynccontextmanager
    async def open_stream(
        self, path: str, *, stall_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a stream of bytes, in a single attempt.

        Args:
            path: path and query, encoded.
            stall_seconds: how long the server may be silent.

        Raises:
            ApiError: the server refused the request.
            StalledStreamError: the stream began, and then received no data for too long.
            TransportError: the stream did not begin, or was cut off.
        """
        call = _ApiCall("GET", path, b"", JSON, None, stall_seconds)
        await self._wait_for_rate_limit()
        response = await self._send_with_credential_retry(self._send_call, call)
        try:
            yield self._iterate_chunks(response, call)
        finally:
            _abandon_stream(response)

    async def _wait_for_rate_limit(self) -> None:
        if self._limit is not None:
            wait_seconds = self._limit.reserve_token()
            if wait_seconds > 0:
                await self._sleep(wait_seconds)

    async def _send_with_credential_retry(
        self, send: Callable[[_ApiCall], Awaitable[T]], call: _ApiCall
    ) -> T:
        """Send the call; if the server rejects the credential, retry with another credential."""
        if self._credentials.is_renewal_due():
            await self._credentials.renew_credential()
        await self._drop_old_certificate_connections()
        authorization = self._credentials.authorization
        try:
            return await send(call)
        except errors.UnauthorizedError:
            if not await self._credentials.replace_rejected_credential(authorization):
                raise
        await self._drop_old_certificate_connections()
        return await send(call)

    async def _send_call_and_read_body(self, call: _ApiCall) -> bytes:
        """Send the call once and return the body of a successful answer."""
        if self._calls is None:
            return await self._read_response(await self._send_call(call), call)
        return await self._exchange_directly(call, self._calls)

    async def _exchange_directly(
        self, call: _ApiCall, calls: call_connections.CallConnections
    ) -> bytes:
        """Send a call once over a connection of `call_connections`."""
        look: Callable[[], object] | None = None
        if self._fence is not None and call.method != "GET":
            call = _limit_call_time(call, self._fence.compute_allowed_write_seconds())
            look = self._fence.compute_allowed_write_seconds
        time_seconds = asyncio.get_running_loop().time
        started_seconds, code = time_seconds(), request_stats.NO_ANSWER
        try:
            async with asyncio.timeout(call.timeout_seconds):
                lines = self._make_call_headers(call).lines
                answer = await calls.call(call.method, call.path, lines, call.body, look)
            code = str(answer.status)
        except transport_failures.FAILURES as error:
            raise self._make_transport_error(error, call) from error
        finally:
            self.stats.count_request(call.method, code, time_seconds() - started_seconds)
        if answer.status < _FIRST_FAILURE_STATUS:
            return answer.body
        raise errors.from_response(answer.status, answer.body, answer.retry_after)

    async def _send_call(self, call: _ApiCall) -> aiohttp.ClientResponse:
        """Send a request once through aiohttp; return the response with its body unread."""
        if self._fence is not None and call.method != "GET":
            call = _limit_call_time(call, self._fence.compute_allowed_write_seconds())
        session = self._get_open_session()
        connection = self._connection
        write = fenced_sending.CallAttemptTrace()
        time_seconds = asyncio.get_running_loop().time
        started_seconds, code = time_seconds(), request_stats.NO_ANSWER
        try:
            response = await session.request(
                call.method,
                yarl.URL(connection.server + call.path, encoded=True),
                data=call.body or None,
                headers=self._make_call_headers(call).by_name,
                timeout=_make_timeout(call),
                allow_redirects=False,
                proxy=connection.proxy,
                server_hostname=connection.server_hostname,
                trace_request_ctx=write,
            )
            code = str(response.status)
        except transport_failures.FAILURES as error:
            if write.is_held_back:
                raise errors.FencedWriteError(
                    "the lease expired before the write was sent"
                ) from error
            raise self._make_transport_error(error, call) from error
        finally:
            self.stats.count_request(call.method, code, time_seconds() - started_seconds)
        if response.status < _FIRST_FAILURE_STATUS:
            return response
        body = await self._read_response(response, call)
        raise errors.from_response(response.status, body, response.headers.get("Retry-After"))

    async def _read_response(self, response: aiohttp.ClientResponse, call: _ApiCall) -> bytes:
        try:
            async with response:
                return await response.read()
        except transport_failures.READ_FAILURES as error:
            raise self._make_transport_error(error, call) from error

    async def _iterate_chunks(
        self, response: aiohttp.ClientResponse, call: _ApiCall
    ) -> AsyncIterator[bytes]:
        """Yield the chunks of a stream; convert exceptions of aiohttp."""
        try:
            async for chunk in response.content.iter_any():
                yield chunk
        except TimeoutError as error:
            text = str(self._make_transport_error(error, call))
            raise errors.StalledStreamError(text, may_have_arrived=True) from error
        except transport_failures.READ_FAILURES as error:
            raise self._make_transport_error(error, call) from error

    def _compute_retry_seconds(
        self, error: errors.KubeError, failures: int, policy: CallRetryPolicy
    ) -> float | None:
        """Return the pause before the next attempt, or None to give up."""
        wait_seconds = BACKOFF.compute_wait_seconds(failures, self._rng)
        match error:
            case errors.CertificateError():
                return None
            case errors.TransportError() if policy.is_idempotent or not error.may_have_arrived:
                return wait_seconds
            case errors.TooManyRequestsError():
                pass
            case errors.ServerError() if policy.is_idempotent:
                pass
            case _:
                return None
        asked_seconds = min(error.retry_after_seconds or 0.0, MAX_RETRY_AFTER_SECONDS)
        return asked_seconds + wait_seconds

    def _make_call_headers(self, call: _ApiCall) -> request_headers.Headers:
        return self._headers.get_headers(call.content_type, self._credentials.authorization)

    async def _drop_old_certificate_connections(self) -> None:
        """Close the connections that were opened with another client certificate."""
        generation = self._credentials.certificate_generation
        if generation == self._certificate_generation:
            return
        self._certificate_generation = generation
        old, old_calls = self._get_open_session(), self._calls
        self._open_connections()
        if old_calls is not None:
            old_calls.close()
        await old.close()

    def _open_connections(self) -> None:
        """Create the connections for calls and streams; through a proxy, aiohttp serves both."""
        self._session = self._make_session()
        if self._connection.proxy is None:
            self._calls = call_connections.CallConnections(
                call_connections.ServerAddress(
                    self._connection.server,
                    self._connection.ssl_context,
                    self._connection.server_hostname,
                ),
                self._max_connections,
                self._get_last_writes_seconds(),
            )

    def _get_last_writes_seconds(self) -> float | None:
        return None if self._fence is None else self._fence.last_writes_seconds

    def _make_session(self) -> aiohttp.ClientSession:
        """Create the aiohttp session, with keepalive sockets and the fence check."""
        context = self._connection.ssl_context
        connector = aiohttp.TCPConnector(
            ssl=True if context is None else context,
            limit=self._max_connections,
            keepalive_timeout=call_connections.KEEPALIVE_SECONDS,
            socket_factory=sockets.make_keepalive_socket_factory(self._get_last_writes_seconds()),
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trace_configs=None
            if self._fence is None
            else [fenced_sending.make_fence_trace(self._fence)],
        )

    def _get_open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("the client is used outside of `async with`")
        return self._session

    def _make_transport_error(self, error: Exception, call: _ApiCall) -> errors.TransportError:
        what = f"{call.method} {call.path.partition('?')[0]} at {self._connection.server}"
        return transport_failures.make_transport_error(error, what)


def _limit_call_time(call: _ApiCall, limit_seconds: float) -> _ApiCall:
    """Return the call with a time limit for the client and, in `timeout`, for the server."""
    seconds = min(limit_seconds, call.timeout_seconds or limit_seconds)
    sign = "&" if "?" in call.path else "?"
    return call._replace(path=f"{call.path}{sign}timeout={seconds:.3f}s", timeout_seconds=seconds)


def _make_timeout(call: _ApiCall) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(
        total=call.timeout_seconds,
        sock_connect=call_connections.CONNECT_TIMEOUT_SECONDS,
        sock_read=call.stall_seconds,
        ceil_threshold=math.inf,  # otherwise aiohttp rounds it up to a whole second
    )


def _abandon_stream(response: aiohttp.ClientResponse) -> None:
    """Abort the connection of a stream; reading the rest to reuse it is not worthwhile.

    An event loop that is shutting down would stop before the closing handshake of TLS ends.
    """
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()
