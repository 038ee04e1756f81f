"""A small HTTP server for pages that the process tells about itself, in its own event loop.

Pages are made when they are asked for, between two steps of the scheduler, so that they need no
locks; they must be quick.
"""

from __future__ import annotations

import asyncio
import dataclasses
import ipaddress
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import NoReturn, TypeAlias

from aiohttp import web

from policysched import errors

_log = logging.getLogger(__name__)

_MAX_PORT = 65535


@dataclasses.dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 lets the system choose one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """A body and its content type, such as `text/plain; charset=utf-8`."""

    body: bytes
    content_type: str
    status: int = 200


MakePage: TypeAlias = Callable[[], Page]


def address(text: str) -> Address:
    """Return the address that `HOST:PORT` says; the host is an IP address or `localhost`.

    Raises:
        UsageError: it is no address.
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    is_port = port.isascii() and port.isdigit() and int(port) <= _MAX_PORT
    if not colon or not is_port or not _is_host(host):
        raise errors.UsageError(f"`{text}` is no address; write 127.0.0.1:9153 or [::1]:9153")
    return Address("127.0.0.1" if host == "localhost" else host, int(port))


def _is_host(text: str) -> bool:
    if text == "localhost":
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


class HttpServer:
    """Serves pages by path.

    Attributes:
        bound: where it listens.
    """

    def __init__(self, listen: Address, pages: Mapping[str, MakePage]) -> None:
        """Take the port; `pages` are served once `run` runs.

        Raises:
            ConfigurationError: it cannot listen there.
        """
        self._socket = _listening(listen)
        self._pages = dict(pages)
        host, port, *_ = self._socket.getsockname()
        self.bound = Address(host, port)

    async def run(self) -> NoReturn:
        """Serve until cancelled."""
        app = web.Application()
        for path, make_page in self._pages.items():
            app.router.add_get(path, _handler(make_page))
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.SockSite(runner, self._socket).start()
            _log.info("serving %s on http://%s", ", ".join(self._pages), self.bound)
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()
        raise AssertionError  # the event is never set


def _listening(listen: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        return socket.create_server((listen.host, listen.port), family=family)
    except OSError as error:
        problem = f"cannot listen there: {error.strerror}"
        raise errors.ConfigurationError(f"`{listen}`", problem) from error


def _handler(make_page: MakePage) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(_request: web.Request) -> web.Response:
        page = make_page()
        headers = {"Content-Type": page.content_type, "Cache-Control": "no-store"}
        return web.Response(body=page.body, headers=headers, status=page.status)

    return handle
