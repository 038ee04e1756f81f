"""What is counted of requests to the API server."""

from __future__ import annotations

import pytest

from policysched.kube import errors
from policysched.kube.http import client
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import FakeServer, drop, json_body, status

PATH = "/api/v1/things"


@asynchronous
async def test_every_attempt_is_counted() -> None:
    """By status and method; without an answer it is an error, as client-go's metric has it."""
    async with FakeServer() as server, server.client() as api:
        server.on("POST", PATH, status(503), drop, json_body({}))
        await api.send_request("POST", PATH, policy=client.CallRetryPolicy(is_idempotent=True))
        server.on("GET", PATH, status(404))
        with pytest.raises(errors.ApiError):
            await api.send_request("GET", PATH)
        assert api.stats.counts == {
            ("503", "POST"): 1,
            ("<error>", "POST"): 1,
            ("200", "POST"): 1,
            ("404", "GET"): 1,
        }
        times = {verb: sum(made.counts) for (verb,), made in api.stats.durations}
        assert times == {"POST": 3, "GET": 1}
