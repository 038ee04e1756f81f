"""Connections that a server accepts: so many at once, each with the TLS settings of its moment.

One neighbour on the network must not keep others out by opening connections and being slow: the
handshake has a limit, and where there are too many connections, the one gives way that has done
nothing for longest. Nor must it keep the process from its work: each address may do only so much a
second.
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
"""How long to wait where the process has no file descriptor left."""


_MAX_ADDRESSES = 1024
_AHEAD_SECONDS = 4.0


@dataclasses.dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What clients may do; after a quiet time, four times as much in one second.

    Attributes:
        at_once: connections, of everybody.
        new_per_second: new connections of one address; each costs a handshake, a millisecond.
        requests_per_second: of one address.
    """

    at_once: int = 100
    new_per_second: float = 50.0
    requests_per_second: float = 200.0


DEFAULT_LIMITS = ConnectionLimits()


_NOISE = ("SSL connection is closed", "socket.send() raised exception.")


def _is_log_record_kept(record: logging.LogRecord) -> bool:
    """Drop what asyncio says of each write to a client that has gone: any client can cause it."""
    return record.msg not in _NOISE


class AddressRateLimiter:
    """How often each address may do something; more at once where it has been quiet."""

    def __init__(self, per_second: float) -> None:
        """Let each address do so much."""
        self._seconds = 1.0 / per_second
        self._ahead_seconds = _AHEAD_SECONDS - self._seconds
        self._paid_until: collections.OrderedDict[str, float] = collections.OrderedDict()

    def compute_wait_seconds(self, address: str, now_seconds: float) -> float:
        """Return how long to wait before doing it once more, 0.0 for not at all."""
        paid_until = max(self._paid_until.get(address, 0.0), now_seconds)
        return max(0.0, paid_until - self._ahead_seconds - now_seconds)

    def count_action(self, address: str, now_seconds: float) -> None:
        """Note that it was done once more, or will be after the wait."""
        paid_until = max(self._paid_until.pop(address, 0.0), now_seconds)
        self._paid_until[address] = paid_until + self._seconds
        if len(self._paid_until) > _MAX_ADDRESSES:
            self._paid_until.popitem(last=False)


@dataclasses.dataclass(slots=True, eq=False)
class _AcceptedConnection:
    """One connection; without `transport` its handshake is under way."""

    opening: asyncio.Task[None] | None = None
    transport: asyncio.BaseTransport | None = None

    @property
    def is_open(self) -> bool:
        return self.transport is None or not self.transport.is_closing()

    def drop_connection(self) -> None:
        """End it at once, whatever the other side does."""
        if isinstance(self.transport, asyncio.Transport):
            self.transport.abort()
        elif self.opening is not None:
            self.opening.cancel()


class ConnectionAcceptor:
    """Accepts connections and hands each to a protocol of its own."""

    def __init__(
        self,
        listening: socket.socket,
        new_protocol: Callable[[], asyncio.Protocol],
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        limits: ConnectionLimits = DEFAULT_LIMITS,
    ) -> None:
        """Accept from `listening` once `run` runs.

        Args:
            listening: a socket that listens.
            new_protocol: makes the protocol of one connection.
            tls: returns the settings of the next connection; None for the clear.
            limits: how many connections there may be.
        """
        self._listening = listening
        self._new_protocol = new_protocol
        self._tls = tls
        self._limit = limits.at_once
        self._pace = AddressRateLimiter(limits.new_per_second)
        self._by_protocol: dict[
            asyncio.BaseProtocol, _AcceptedConnection
        ] = {}  # the last used are last

    def __len__(self) -> int:
        """Return how many connections there are."""
        self._forget_closed_connections()
        return len(self._by_protocol)

    async def run(self) -> NoReturn:
        """Accept until cancelled."""
        logging.getLogger("asyncio").addFilter(_is_log_record_kept)  # the same one is added once
        loop = asyncio.get_running_loop()
        self._listening.setblocking(False)
        try:
            while True:
                try:
                    accepted, (host, *_) = await loop.sock_accept(self._listening)
                except OSError as error:
                    _log.warning("no connection could be accepted: %s", error.strerror)
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
        """End all connections at once."""
        for each in self._by_protocol.values():
            each.drop_connection()

    def note_use(self, protocol: asyncio.BaseProtocol) -> None:
        """Note that a connection is in use."""
        connection = self._by_protocol.pop(protocol, None)
        if connection is not None:
            self._by_protocol[protocol] = connection

    def _admit_connection(self, accepted: socket.socket) -> None:
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
        tls = self._tls() if self._tls is not None else None
        limits = {} if tls is None else _TLS_LIMITS
        try:
            connection.transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, accepted, ssl=tls, **limits
            )
        except OSError as error:  # also ssl.SSLError and a handshake that took too long
            _log.debug("a connection did not come about: %s", error)
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
