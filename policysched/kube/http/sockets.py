"""Sockets that notice when nobody is there any more.

A connection whose other side has gone without a word, by a lost node or a firewall that forgot it,
looks like one that is silent. The kernel asks a silent one whether it lives, and a write that is
not acknowledged ends it. What a proxy acknowledges and then sits on is noticed by the limits of
calls and by the silence of watches (`client`, `reflector`).
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Protocol

import aiohttp

IDLE_SECONDS, INTERVAL_SECONDS, PROBES = 15, 5, 3
"""Asked after so much silence, then so often: a dead watch ends within 30 s, as those of Go do
(golang.org/x/net/http2: ReadIdleTimeout 30 s and PingTimeout 15 s in k8s.io/apimachinery)."""

_DEAD_SECONDS = float(IDLE_SECONDS + PROBES * INTERVAL_SECONDS)


class SocketLike(Protocol):
    """A socket, or what asyncio gives out of one."""

    def setsockopt(self, level: int, optname: int, value: int, /) -> None:
        """Set an option."""
        ...


def make_keepalive_socket_factory(
    unacknowledged_seconds: float | None = None,
) -> Callable[[aiohttp.AddrInfoType], socket.socket]:
    """Return what makes such sockets; see `enable_tcp_keepalive`."""

    def make(address: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, *_ = address
        made = socket.socket(family, kind, protocol)
        enable_tcp_keepalive(made, unacknowledged_seconds)
        return made

    return make


def enable_tcp_keepalive(made: SocketLike, unacknowledged_seconds: float | None = None) -> None:
    """Let the kernel look after a socket.

    Args:
        made: the socket.
        unacknowledged_seconds: how long bytes that were sent may wait to be acknowledged (Linux);
            None for as long as a silent one has.
    """
    limit_seconds = min(unacknowledged_seconds or _DEAD_SECONDS, _DEAD_SECONDS)
    options = {
        "TCP_KEEPIDLE": IDLE_SECONDS,
        "TCP_KEEPINTVL": INTERVAL_SECONDS,
        "TCP_KEEPCNT": PROBES,
        "TCP_USER_TIMEOUT": int(limit_seconds * 1000),
    }
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in options.items():
        if hasattr(socket, name):  # not every system has all of them
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
