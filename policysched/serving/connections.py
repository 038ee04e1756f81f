"""Accept a limited number of connections, each with the TLS settings in effect when it starts.

A host that opens many slow connections must not lock out other hosts: the handshake has a timeout,
and if there are too many connections, the least recently used connection is closed. A host must not
overload the process: the rates of connections and requests per address are limited.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import logging
import socket
import ssl
from collections.abc import Callable
from typing import NoReturn

_log = logging.getLogger(__name__)

_HANDSHAKE_SECONDS = 5.0
_SHUTDOWN_SECONDS = 1.0
_NO_MORE_FILES_SECONDS = 1.0
"""Delay before the next attempt to accept if the process has no free file descriptor."""


_MAX_ADDRESSES = 1024
_AHEAD_SECONDS = 4.0


@dataclasses.dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits for clients; after a pause, an address can use four seconds' worth of a rate at once.

    Attributes:
        at_once: maximum number of open connections from all clients.
        new_per_second: new connections per address; each costs a handshake of about 1 ms.
        requests_per_second: requests per address.
    """

    at_once: int = 100
    new_per_second: float = 50.0
    requests_per_second: float = 200.0


DEFAULT_LIMITS = ConnectionLimits()


_NOISE = ("SSL connection is closed", "socket.send() raised exception.")


def _is_log_record_kept(record: logging.LogRecord) -> bool:
    """Filter out asyncio's warnings about closed connections, which any client can cause."""
    return record.msg not in _NOISE


class AddressRateLimiter:
    """Limits the rate of actions of each address, with bursts after a pause."""

    def __init__(self, per_second: float) -> None:
        """Allow each address `per_second` actions per second."""
        self._seconds = 1.0 / per_second
        self._ahead_seconds = _AHEAD_SECONDS - self._seconds
        self._paid_until: collections.OrderedDict[str, float] = collections.OrderedDict()

    def compute_wait_seconds(self, address: str, now_seconds: float) -> float:
        """Return the seconds to wait before the next action, or 0.0 if it is allowed now."""
        paid_until = max(self._paid_until.get(address, 0.0), now_seconds)
        return max(0.0, paid_until - self._ahead_seconds - now_seconds)

    def count_action(self, address: str, now_seconds: float) -> None:
        """Count an action that happens now or after the wait."""
        paid_until = max(self._paid_until.pop(address, 0.0), now_seconds)
        self._paid_until[address] = paid_until + self._seconds
        if len(self._paid_until) > _MAX_ADDRESSES:
            self._paid_until.popitem(last=False)


@dataclasses.dataclass(slots=True, eq=False)
class _AcceptedConnection:
    """An accepted connection; `transport` is None during the handshake."""

    opening: asyncio.Task[None] | None = None
    transport: asyncio.BaseTransport | None = None

    @property
    def is_open(self) -> bool:
        return self.transport is None or not self.transport.is_closing()

    def drop_connection(self) -> None:
        """Close the connection immediately, without waiting for the client."""
        if isinstance(self.transport, asyncio.Transport):
            self.transport.abort()
        elif self.opening is not None:
            self.opening.cancel()


class ConnectionAcceptor:
    """Accepts connections and creates a protocol for each."""

    def __init__(
        self,
        listening: socket.socket,
        new_protocol: Callable[[], asyncio.Protocol],
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        limits: ConnectionLimits = DEFAULT_LIMITS,
    ) -> None:
        """Accept connections from `listening` while `run` runs.

        Args:
            listening: a listening socket.
            new_protocol: creates the protocol of one connection.
            tls: returns the TLS settings of the next connection; None for connections without TLS.
            limits: limits for all clients and per address.
        """
        self._listening = listening
        self._new_protocol = new_protocol
        self._tls = tls
        self._limit = limits.at_once
        self._pace = AddressRateLimiter(limits.new_per_second)
        self._by_protocol: dict[
            asyncio.BaseProtocol, _AcceptedConnection
        ] = {}  # least recently used first

    def __len__(self) -> int:
        """Return the number of open connections."""
        self._forget_closed_connections()
        return len(self._by_protocol)

    async def run(self) -> NoReturn:
        """Accept connections until cancelled."""
        # Adding the same filter again has no effect.
        logging.getLogger("asyncio").addFilter(_is_log_record_kept)
        loop = asyncio.get_running_loop()
        self._listening.setblocking(False)
        try:
            while True:
                try:
                    accepted, (host, *_) = await loop.sock_accept(self._listening)
                except OSError as error:
                    _log.warning("connections cannot be accepted: %s", error.strerror)
                    await asyncio.sleep(_NO_MORE_FILES_SECONDS)
                    continue
                if self._pace.compute_wait_seconds(host, loop.time()) > 0.0:
                    accepted.close()
                    continue
                self._pace.count_action(host, loop.time())
                self._admit_connection(accepted)
        finally:
            self._listening.close()

    def drop_all_connections(self) -> None:
        """Close all connections immediately."""
        for each in self._by_protocol.values():
            each.drop_connection()

    def mark_recently_used(self, protocol: asyncio.BaseProtocol) -> None:
        """Mark a connection as recently used."""
        connection = self._by_protocol.pop(protocol, None)
        if connection is not None:
            self._by_protocol[protocol] = connection

    def _admit_connection(self, accepted: socket.socket) -> None:
        """Start the protocol of a connection; at the limit, close the least recently used one."""
        self._forget_closed_connections()
        if len(self._by_protocol) >= self._limit:
            idle = next(iter(self._by_protocol))
            self._by_protocol.pop(idle).drop_connection()
        protocol, connection = self._new_protocol(), _AcceptedConnection()
        self._by_protocol[protocol] = connection
        connection.opening = asyncio.create_task(
            self._open_protocol(accepted, protocol, connection)
        )

    async def _open_protocol(
        self, accepted: socket.socket, protocol: asyncio.Protocol, connection: _AcceptedConnection
    ) -> None:
        """Perform the handshake, if any, and connect the protocol to the socket."""
        tls = self._tls() if self._tls is not None else None
        limits = {} if tls is None else _TLS_LIMITS
        try:
            connection.transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, accepted, ssl=tls, **limits
            )
        except OSError as error:  # includes ssl.SSLError and handshake timeouts
            _log.debug("a connection could not be established: %s", error)
            self._by_protocol.pop(protocol, None)
            accepted.close()
        except asyncio.CancelledError:
            accepted.close()
            raise

    def _forget_closed_connections(self) -> None:
        closed = [key for key, each in self._by_protocol.items() if not each.is_open]
        for protocol in closed:
            del self._by_protocol[protocol]


_TLS_LIMITS = {
    "ssl_handshake_timeout": _HANDSHAKE_SECONDS,
    "ssl_shutdown_timeout": _SHUTDOWN_SECONDS,
}
