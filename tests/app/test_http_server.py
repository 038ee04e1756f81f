from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from policysched import errors
from policysched.app import http_server
from tests.kube.asynchronous import asynchronous

LOOPBACK = http_server.Address("127.0.0.1", 0)


@pytest.mark.parametrize(
    "text, host, port",
    [
        pytest.param("127.0.0.1:9153", "127.0.0.1", 9153, id="ipv4"),
        pytest.param("[::1]:9153", "::1", 9153, id="ipv6"),
        pytest.param("localhost:0", "127.0.0.1", 0, id="localhost"),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, host: str, port: int) -> None:
    """IP addresses of both kinds, and the name that everybody writes."""
    assert http_server.address(text) == http_server.Address(host, port)


@pytest.mark.parametrize(
    "text", ["9153", ":9153", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "example.com:80", "a:b"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """An empty host would listen everywhere, which nobody should get by a slip."""
    with pytest.raises(errors.UsageError, match="is no address"):
        http_server.address(text)


def test_an_address_is_written_as_it_is_read() -> None:
    """IPv6 addresses stand between brackets."""
    for text in ("127.0.0.1:9153", "[::1]:9153"):
        assert str(http_server.address(text)) == text


@contextlib.asynccontextmanager
async def _serving(server: http_server.HttpServer) -> AsyncIterator[str]:
    task = asyncio.create_task(server.run())
    try:
        yield f"http://{server.bound}"
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@asynchronous
async def test_pages_are_made_when_they_are_asked_for() -> None:
    """Each request gets the page of that moment; other paths and methods get errors."""
    asked: list[int] = []

    def page(query: http_server.Query) -> http_server.Page:
        asked.append(1)
        return http_server.Page(f"{len(asked)}".encode(), "text/plain; charset=utf-8")

    async with (
        _serving(http_server.HttpServer(LOOPBACK, {"/metrics": page})) as url,
        aiohttp.ClientSession() as client,
    ):
        for expected in ("1", "2"):
            async with client.get(f"{url}/metrics") as answer:
                assert (answer.status, await answer.text()) == (200, expected)
        async with client.get(f"{url}/other") as answer:
            assert answer.status == 404
        async with client.post(f"{url}/metrics") as answer:
            assert answer.status == 405


def test_a_port_that_is_taken_is_told() -> None:
    """The error names the address and the reason."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = http_server.Address("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(errors.ConfigurationError, match="cannot listen there"):
            http_server.HttpServer(listen, {})
