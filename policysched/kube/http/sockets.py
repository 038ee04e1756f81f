"""Make sockets for aiohttp that detect a lost peer."""

from __future__ import annotations

import socket
from collections.abc import Callable

import aiohttp

from policysched.connections import keepalive


def make_keepalive_socket_factory(
    unacknowledged_seconds: float | None = None,
) -> Callable[[aiohttp.AddrInfoType], socket.socket]:
    """Return an aiohttp socket factory that enables keepalive; see `keepalive`."""

    def make(address: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, *_ = address
        made = socket.socket(family, kind, protocol)
        keepalive.enable_tcp_keepalive(made, unacknowledged_seconds)
        return made

    return make
