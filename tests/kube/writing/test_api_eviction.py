"""Requests to the Eviction API, and what its answers mean."""

from __future__ import annotations

import pytest

from policysched.cluster.objects import objects
from policysched.kube import errors
from policysched.kube.writing import api_eviction
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import FakeServer, json_body, status

PATH = "/api/v1/namespaces/default/pods/web/eviction"
METADATA = objects.ObjectMeta(name="web", namespace="default", uid="u")


@asynchronous
async def test_an_eviction_is_bound_to_the_uid() -> None:
    """A pod that was created again under the same name stays."""
    async with FakeServer() as server:
        server.on("POST", PATH, json_body({"kind": "Status"}))
        async with server.client() as api:
            await api_eviction.EvictionClient(api).create_eviction(METADATA)
        (request,) = server.requests
    assert request.body == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": "default", "name": "web"},
        "deleteOptions": {"preconditions": {"uid": "u"}},
    }


@asynchronous
async def test_a_refusal_is_not_repeated() -> None:
    """429 says that a disruption budget allows no eviction now."""
    async with FakeServer() as server:
        server.on("POST", PATH, status(429, "TooManyRequests", "Cannot evict pod"))
        async with server.client() as api:
            with pytest.raises(errors.TooManyRequestsError, match="Cannot evict pod"):
                await api_eviction.EvictionClient(api).create_eviction(METADATA)
        assert len(server.requests) == 1
