"""Connections that a server accepts: so many at once, each with the TLS settings of its moment.

One neighbour on the network must not keep others out by opening connections and being slow: the
handshake has a limit, and where there are too many connections, the one gives way that has done
nothing for longest.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import socket
import ssl
from collections.abc import Callable
from typing import NoReturn

_log = logging.getLogger(__name__)

MAX_CONNECTIONS = 100
_HANDSHAKE_SECONDS = 5.0
_SHUTDOWN_SECONDS = 1.0
_NO_MORE_FILES_SECONDS = 1.0
"""How long to wait where the process has no file descriptor left."""


@dataclasses.dataclass(slots=True, eq=False)
class _Connection:
    """One connection; without `transport` its handshake is under way."""

    opening: asyncio.Task[None] | None = None
    transport: asyncio.BaseTransport | None = None

    @property
    def is_open(self) -> bool:
        return self.transport is None or not self.transport.is_closing()

    def drop(self) -> None:
        """End it at once, whatever the other side does."""
        if isinstance(self.transport, asyncio.Transport):
            self.transport.abort()
        elif self.opening is not None:
            self.opening.cancel()


class Connections:
    """Accepts connections and hands each to a protocol of its own."""

    def __init__(
        self,
        listening: socket.socket,
        new_protocol: Callable[[], asyncio.Protocol],
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        limit: int = MAX_CONNECTIONS,
    ) -> None:
        """Accept from `listening` once `run` runs.

        Args:
            listening: a socket that listens.
            new_protocol: makes the protocol of one connection.
            tls: returns the settings of the next connection; None for the clear.
            limit: how many connections there may be.
        """
        self._listening = listening
        self._new_protocol = new_protocol
        self._tls = tls
        self._limit = limit
        self._by_protocol: dict[asyncio.BaseProtocol, _Connection] = {}  # the last used are last

    def __len__(self) -> int:
        """Return how many connections there are."""
        self._forget_closed()
        return len(self._by_protocol)

    async def run(self) -> NoReturn:
        """Accept until cancelled."""
        loop = asyncio.get_running_loop()
        self._listening.setblocking(False)
        try:
            while True:
                try:
                    accepted, _ = await loop.sock_accept(self._listening)
                except OSError as error:
                    _log.warning("no connection could be accepted: %s", error.strerror)
                    await asyncio.sleep(_NO_MORE_FILES_SECONDS)
                    continue
                self._admit(accepted)
        finally:
            self._listening.close()

    def drop_all(self) -> None:
        """End all connections at once."""
        for each in self._by_protocol.values():
            each.drop()

    def touch(self, protocol: asyncio.BaseProtocol) -> None:
        """Note that a connection is in use."""
        connection = self._by_protocol.pop(protocol, None)
        if connection is not None:
            self._by_protocol[protocol] = connection

    def _admit(self, accepted: socket.socket) -> None:
        self._forget_closed()
        if len(self._by_protocol) >= self._limit:
            idle = next(iter(self._by_protocol))
            self._by_protocol.pop(idle).drop()
        protocol, connection = self._new_protocol(), _Connection()
        self._by_protocol[protocol] = connection
        connection.opening = asyncio.create_task(self._open(accepted, protocol, connection))

    async def _open(
        self, accepted: socket.socket, protocol: asyncio.Protocol, connection: _Connection
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

    def _forget_closed(self) -> None:
        closed = [key for key, each in self._by_protocol.items() if not each.is_open]
        for protocol in closed:
            del self._by_protocol[protocol]


_TLS_LIMITS = {
    "ssl_handshake_timeout": _HANDSHAKE_SECONDS,
    "ssl_shutdown_timeout": _SHUTDOWN_SECONDS,
}
