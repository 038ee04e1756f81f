from __future__ import annotations

import asyncio
import contextlib
import io
import re
from collections.abc import AsyncIterator

import aiohttp
import pytest

from policysched import errors
from policysched.config import addresses
from policysched.page import page_server
from policysched.serving import security_headers, static_files
from tests.cli import clusters
from tests.kube.asynchronous import asynchronous
from tests.page import servers
from tests.realcluster import process

KEY = {"Authorization": "Bearer secret"}


@contextlib.asynccontextmanager
async def _serving() -> AsyncIterator[tuple[str, aiohttp.ClientSession]]:
    source = servers.make_source([clusters.node("a"), clusters.pod("new")])
    address = addresses.ListenAddress("127.0.0.1", process.free_port())
    server = page_server.PageServer(address, source, servers.TEXTS, servers.CLOCK, "secret")
    task = asyncio.create_task(server._server.run())
    async with aiohttp.ClientSession(auto_decompress=False) as client:
        try:
            yield server.url.partition("/#")[0], client
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


@pytest.mark.parametrize(
    "headers, status",
    [
        pytest.param(KEY, 200, id="key"),
        pytest.param({}, 401, id="no key"),
        pytest.param({"Authorization": "Bearer secret2"}, 401, id="wrong key"),
        pytest.param({"Authorization": "Bearer sécret"}, 401, id="not ASCII"),
        pytest.param({**KEY, "Host": "evil.example"}, 421, id="foreign name"),
        pytest.param({**KEY, "Sec-Fetch-Site": "cross-site"}, 403, id="another site"),
        pytest.param({**KEY, "Sec-Fetch-Site": "same-site"}, 403, id="another port"),
        pytest.param({**KEY, "Sec-Fetch-Site": "same-origin"}, 200, id="the page"),
    ],
)
def test_data_needs_the_key_and_the_own_site(headers: dict[str, str], status: int) -> None:
    """Other web sites and users get nothing, whatever the browser sends for them."""

    @asynchronous
    async def ask() -> None:
        async with _serving() as (url, client):
            async with client.get(f"{url}/api/status", headers=headers) as answer:
                assert answer.status == status
            async with client.post(f"{url}/api/step", headers=headers, data="next") as answer:
                assert answer.status == (404 if status == 200 else status)

    ask()


@asynchronous
async def test_files_are_open_but_not_to_foreign_names() -> None:
    """A shared link arrives as `cross-site` without a key; the file holds no data."""
    async with _serving() as (url, client):
        headers = {"Sec-Fetch-Site": "cross-site"}
        async with client.get(f"{url}/", headers=headers) as answer:
            assert answer.status == 200
            assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
            for name, value in security_headers.HEADERS.items():
                assert answer.headers[name] == value
        async with client.get(f"{url}/", headers={"Host": "evil.example"}) as answer:
            assert answer.status == 421


@asynchronous
async def test_a_file_is_sent_once() -> None:
    """A browser that has a file gets 304, and a changed ETag gets the file."""
    async with _serving() as (url, client):
        async with client.get(f"{url}/main.js") as answer:
            etag = answer.headers["ETag"]
            assert answer.headers["Content-Encoding"] == "gzip"
        async with client.get(f"{url}/main.js", headers={"If-None-Match": etag}) as answer:
            assert (answer.status, await answer.read()) == (304, b"")
        async with client.get(f"{url}/main.js", headers={"If-None-Match": '"old"'}) as answer:
            assert answer.status == 200


@asynchronous
async def test_a_client_without_gzip_gets_the_bytes() -> None:
    """Compression is the client's choice."""
    async with (
        _serving() as (url, client),
        client.get(f"{url}/main.js", headers={"Accept-Encoding": "identity"}) as answer,
    ):
        assert "Content-Encoding" not in answer.headers
        assert (await answer.read()).startswith(b"// The frame of the page")


@pytest.mark.parametrize(
    "method, path, status",
    [
        pytest.param("GET", "/../pyproject.toml", 404, id="up"),
        pytest.param("GET", "/%2e%2e/pyproject.toml", 404, id="encoded"),
        pytest.param("GET", "/views/", 404, id="folder"),
        pytest.param("GET", "/api/unknown", 404, id="unknown"),
        pytest.param("GET", "/api/step", 405, id="get of a step"),
        pytest.param("POST", "/api/status", 405, id="post of data"),
        pytest.param("DELETE", "/api/status", 405, id="delete"),
        pytest.param("OPTIONS", "/api/status", 405, id="preflight"),
    ],
)
def test_only_known_paths_and_methods_answer(method: str, path: str, status: int) -> None:
    """There is no way to other files, and no preflight is allowed."""

    @asynchronous
    async def ask() -> None:
        async with (
            _serving() as (url, client),
            client.request(method, url + path, headers=KEY) as answer,
        ):
            assert answer.status == status
            assert not [name for name in answer.headers if name.startswith("Access-Control")]

    ask()


@asynchronous
async def test_a_key_of_any_bytes_is_wrong() -> None:
    """Headers need not be text."""
    async with _serving() as (url, _):
        host = url.removeprefix("http://")
        address, _, port = host.partition(":")
        stream, writing = await asyncio.open_connection(address, int(port))
        request = f"GET /api/status HTTP/1.1\r\nHost: {host}\r\n".encode()
        writing.write(request + b"Authorization: Bearer \xff\xfe\r\nConnection: close\r\n\r\n")
        assert (await stream.readline()).startswith(b"HTTP/1.1 401")
        writing.close()


@asynchronous
async def test_a_long_body_is_refused() -> None:
    """All edited policies have room in a mebibyte."""
    async with (
        _serving() as (url, client),
        client.post(
            f"{url}/api/step", headers=KEY, data=io.BytesIO(b"x" * ((1 << 20) + 1))
        ) as answer,
    ):
        assert answer.status == 413


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])  # noqa: S104 - must be refused
def test_the_page_is_not_served_to_the_network(host: str) -> None:
    """Only loopback addresses are accepted."""
    source = servers.make_source([clusters.node("a")])
    with pytest.raises(errors.UsageError, match="is not a loopback address"):
        page_server.PageServer(
            addresses.ListenAddress(host, 0), source, servers.TEXTS, servers.CLOCK
        )


def test_our_scripts_make_no_markup_and_load_nothing_foreign() -> None:
    """The policy of the browser forbids it as well; a test says so before a browser does."""
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|Function\("
    )
    for file in static_files.FOLDER.rglob("*"):
        if file.suffix in (".js", ".css", ".html") and file.parent.name != "vendor":
            text = file.read_text(encoding="utf-8")
            assert not forbidden.search(text), file
            assert "://" not in text, file


def test_vendored_files_are_those_that_the_list_names() -> None:
    """Each has its origin, its licence and its hash."""
    vendor = static_files.FOLDER / "vendor"
    listed = dict(
        re.findall(
            r"^(\S+)\s+sha256:([0-9a-f]{64})", (vendor / "README.md").read_text(), re.MULTILINE
        )
    )
    assert {path.name for path in vendor.glob("*.js")} == set(listed)
    for name, digest in listed.items():
        assert static_files.compute_digest((vendor / name).read_bytes()) == digest
