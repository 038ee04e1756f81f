"""Configure sockets to detect a lost peer.

If the peer disappears without closing the connection, because its node failed or a firewall dropped
its state, the connection looks idle. TCP keepalive probes detect a lost peer on an idle connection,
and TCP_USER_TIMEOUT ends a connection whose writes are not acknowledged. If a proxy acknowledges
data but does not forward it, the timeouts of calls and watches detect that (`client`, `reflector`).
"""

from __future__ import annotations

import socket
from typing import Protocol

IDLE_SECONDS, INTERVAL_SECONDS, PROBES = 15, 5, 3
"""Keepalive probes: idle time before the first probe, interval, and number. A dead watch ends
within 30 s, as in Go (golang.org/x/net/http2: ReadIdleTimeout 30 s and PingTimeout 15 s in
k8s.io/apimachinery)."""

_DEAD_SECONDS = float(IDLE_SECONDS + PROBES * INTERVAL_SECONDS)


class SocketLike(Protocol):
    """A socket, or asyncio's wrapper of one."""

    def setsockopt(self, level: int, optname: int, value: int, /) -> None:
        """Set an option."""
        ...


def enable_tcp_keepalive(made: SocketLike, unacknowledged_seconds: float | None = None) -> None:
    """Enable TCP keepalive, and limit how long writes may stay unacknowledged.

    Args:
        made: the socket to configure.
        unacknowledged_seconds: how long sent bytes may stay unacknowledged (Linux), at most 30 s;
            None for 30 s, the time after which keepalive also ends an idle connection.
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
        if hasattr(socket, name):  # not every system has all of these options
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
