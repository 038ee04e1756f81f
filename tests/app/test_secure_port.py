from __future__ import annotations

import asyncio
import random
import socket
import ssl
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from policysched import clock as clocks
from policysched import errors
from policysched.app import secure_port
from policysched.config import config
from policysched.kube import access_reviews
from policysched.kube.auth import credentials, kubeconfig
from policysched.serving import http_server
from tests.kube import fake_server
from tests.kube.asynchronous import asynchronous
from tests.realcluster import process

OPEN = ("/livez", "/readyz", "/healthz")
BY_RIGHT = ("/metrics", "/debug/", "/debug/tasks", "/debug/policies", "/livez/ping")


def _free_address() -> str:
    return f"127.0.0.1:{process.free_port()}"


def _connection(server: fake_server.FakeServer) -> kubeconfig.ApiClientConfig:
    known = credentials.Credentials(
        fake_server.StaticSource("ours"), credentials.Credential("Bearer ours"), server.clock
    )
    return kubeconfig.ApiClientConfig(server.url, None, known)


def _joined(serving: config.ServingConfig, connection: Any) -> Any:
    """Return a process that is well, and whose parts have added two pages."""
    synced = asyncio.Event()
    synced.set()
    return SimpleNamespace(
        config=config.Config(serving=serving),
        clock=clocks.SystemClock(),
        rng=random.Random(1),
        connection=connection,
        elector=SimpleNamespace(is_leading=False, overdue_seconds=lambda: 0.0),
        stopping=asyncio.Event(),
        scheduler=SimpleNamespace(counters=SimpleNamespace(attempts={})),
        sync=SimpleNamespace(is_ready=True, describe_unsynced_profiles=lambda _: ""),
        profiles=SimpleNamespace(
            current=SimpleNamespace(by_name={"policysched": None}), get_profiles=lambda: ()
        ),
        background=[],
        pages={
            "/metrics": lambda _: http_server.HttpPage(b"metrics"),
            "/debug/policies": lambda _: http_server.HttpPage(b"policies"),
        },
    )


async def _statuses(url: str, paths: tuple[str, ...], token: str = "") -> list[int]:
    """Return what is answered to each path."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    found = []
    async with aiohttp.ClientSession() as client:
        for path in paths:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            async with client.get(url + path, ssl=context, headers=headers) as answer:
                found.append(answer.status)
    return found


@asynchronous
async def test_in_the_clear_there_are_metrics_and_health_alone() -> None:
    """Whoever reaches the address sees them, and nothing else."""
    address = _free_address()
    joined = _joined(config.ServingConfig(metrics_address=address), None)
    secure_port.add_http_servers(joined)
    (serving,) = (asyncio.create_task(each) for each in joined.background)
    assert await _statuses(f"http://{address}", ("/metrics", *OPEN)) == [200] * 4
    others = ("/debug/", "/debug/policies", "/livez/ping", "/")
    assert await _statuses(f"http://{address}", others) == [404] * 4
    serving.cancel()


@asynchronous
async def test_the_secure_port_asks_the_api_server_about_everybody_but_health() -> None:
    """Of it alone, on connections of its own; its answers hold."""
    user = {"username": "prometheus", "groups": ["system:authenticated"]}
    async with fake_server.FakeServer() as server:
        server.on("GET", access_reviews.AUTHORITY, fake_server.status(403))
        answer = {"status": {"authenticated": True, "user": user}}
        server.on("POST", access_reviews.TOKEN_REVIEWS, fake_server.json_body(answer))
        server.on(
            "POST",
            access_reviews.ACCESS_REVIEWS,
            fake_server.json_body({"status": {"allowed": True}}),
        )
        address = _free_address()
        joined = _joined(config.ServingConfig(secure_address=address), _connection(server))
        secure_port.add_http_servers(joined)
        (serving,) = (asyncio.create_task(each) for each in joined.background)
        assert await _statuses(f"https://{address}", (*OPEN, *BY_RIGHT), "t") == [200] * 8
        asked = [each.body for each in server.requests if each.method == "POST"]
        assert await _statuses(f"https://{address}", BY_RIGHT, "t") == [200] * 5
        serving.cancel()
    assert asked[0]["spec"] == {"token": "t"}
    paths = [each["spec"]["nonResourceAttributes"]["path"] for each in asked[1:]]
    assert paths == list(BY_RIGHT)
    assert asked[1]["spec"]["user"] == "prometheus"
    assert len([each for each in server.requests if each.method == "POST"]) == len(asked)


@asynchronous
async def test_without_authorization_nobody_looks_inside() -> None:
    """What everybody may see must not be what people debug with."""
    open_to_all = config.AuthorizationConfig(enabled=False)
    address = _free_address()
    async with fake_server.FakeServer() as server:
        joined = _joined(
            config.ServingConfig(secure_address=address, authorization=open_to_all),
            _connection(server),
        )
        secure_port.add_http_servers(joined)
        (serving,) = (asyncio.create_task(each) for each in joined.background)
        url = f"https://{address}"
        assert await _statuses(url, ("/metrics", "/livez/ping", *OPEN)) == [200] * 5
        assert await _statuses(url, ("/debug/", "/debug/tasks", "/debug/policies")) == [404] * 3
        serving.cancel()
    assert server.requests == []


@pytest.mark.parametrize("field", ["secure_address", "metrics_address"])
def test_an_address_that_is_taken_ends_the_process(field: str) -> None:
    """Before anything has begun."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", process.free_port()))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        serving = config.ServingConfig(**{field: address})  # type: ignore[arg-type]  # one of two texts
        joined = _joined(serving, _connection(fake_server.FakeServer()))

        async def add() -> None:
            secure_port.add_http_servers(joined)

        with pytest.raises(
            errors.ConfigurationError, match="cannot listen on this address: Address already"
        ):
            asyncio.run(add())
    assert joined.background == []


@pytest.mark.parametrize("is_shown", [False, True])
def test_the_files_of_the_page_are_open_and_its_data_is_not(*, is_shown: bool) -> None:
    """Without `serving.page`, there is none."""

    @asynchronous
    async def check() -> None:
        async with fake_server.FakeServer() as server:
            server.on("GET", access_reviews.AUTHORITY, fake_server.status(403))
            refused = {"status": {"allowed": False}}
            server.on("POST", access_reviews.ACCESS_REVIEWS, fake_server.json_body(refused))
            address = _free_address()
            settings = config.ServingConfig(secure_address=address, page=is_shown)
            joined = _joined(settings, _connection(server))
            secure_port.add_http_servers(joined)
            (serving,) = (asyncio.create_task(each) for each in joined.background)
            url = f"https://{address}"
            files = ("/ui", "/ui/", "/ui/main.js", "/ui/vendor/preact.js")
            assert await _statuses(url, files) == [200 if is_shown else 404] * 4
            assert not any(each.method == "POST" for each in server.requests)
            assert await _statuses(url, ("/debug/policies",)) == [403]
            serving.cancel()

    check()
