"""The moves of the loop guard in a ConfigMap, and evictions, on a server that answers as told."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from policysched import errors
from policysched.auditing import api_moves, loop_guard, moving
from policysched.cluster.pods import pod_shape
from policysched.kube import config_maps
from policysched.kube import errors as kube_errors
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import FakeServer, drop, json_body, status

_PATH = "/api/v1/namespaces/kube-system/configmaps/audit"


def _make_config_map(version: str, moves: str = "") -> dict[str, Any]:
    metadata = {"namespace": "kube-system", "name": "audit", "resourceVersion": version}
    return {"metadata": metadata, "data": {"moves": moves}}


def _make_guard(*workloads: str) -> loop_guard.LoopGuard:
    at = builders.EPOCH.isoformat()
    guard = loop_guard.LoopGuard((), datetime.timedelta(days=1))
    guard.add(loop_guard.WorkloadMove(each, "rule", "node", at) for each in workloads)
    return guard


@asynchronous
async def test_a_write_continues_from_its_own_answer() -> None:
    """Another command may write after it: its version must not be taken for the own one."""
    async with FakeServer() as server, server.client() as api:
        server.on("GET", _PATH, json_body(_make_config_map("7")), json_body(_make_config_map("9")))
        server.on(
            "PATCH", _PATH, json_body(_make_config_map("8")), json_body(_make_config_map("10"))
        )
        client = config_maps.ConfigMapClient(api)
        store = api_moves.ConfigMapGuardStore(client, "kube-system/audit", is_required=True)
        assert await store.read() == []
        await store.write(_make_guard("one"))
        await store.write(_make_guard("one", "two"))
        versions = [each.body["metadata"]["resourceVersion"] for each in server.requests[1:]]
        assert versions == ["7", "8"]


@asynchronous
async def test_damaged_moves_are_not_replaced() -> None:
    """Its version is not that of the next write, so the server refuses this."""
    async with FakeServer() as server, server.client() as api:
        damaged = json_body(_make_config_map("8", "damaged"))
        server.on("GET", _PATH, json_body(_make_config_map("7")), damaged)
        server.on("PATCH", _PATH, json_body(_make_config_map("9")))
        client = config_maps.ConfigMapClient(api)
        store = api_moves.ConfigMapGuardStore(client, "kube-system/audit", is_required=True)
        await store.read()
        with pytest.raises(errors.InputError, match="is not a list of moves"):
            await store.read()
        await store.write(_make_guard("one"))
        assert server.requests[-1].body["metadata"]["resourceVersion"] == "7"


@pytest.mark.parametrize(
    "code, kind",
    [
        (400, moving.EvictionNotMadeError),
        (401, moving.EvictionNotMadeError),
        (403, moving.EvictionNotMadeError),
        (404, moving.EvictionRefusedError),
        (409, moving.EvictionRefusedError),
        (410, moving.EvictionNotMadeError),
        (422, moving.EvictionNotMadeError),
        (429, moving.EvictionRefusedError),
        (500, kube_errors.ServerError),
    ],
)
@asynchronous
async def test_which_evictions_were_certainly_not_made(code: int, kind: type[Exception]) -> None:
    """Those with a status 4xx; after 5xx, the pod may be gone."""
    pod = pod_shape.PodShapeCache().make_pod_info(builders.make_pod("p").build())
    async with FakeServer() as server, server.client() as api:
        server.on("POST", "/api/v1/namespaces/default/pods/p/eviction", status(code, "x", "no"))
        with pytest.raises(errors.RemoteError) as failure:
            await api_moves.ApiViolatorEvictor(api).evict(pod)
        assert type(failure.value) is kind


@asynchronous
async def test_an_eviction_that_did_not_arrive_was_not_made() -> None:
    """The server is gone; one that breaks off the connection may have evicted the pod."""
    pod = pod_shape.PodShapeCache().make_pod_info(builders.make_pod("p").build())
    async with FakeServer() as server, server.client() as api:
        server.on("POST", "/api/v1/namespaces/default/pods/p/eviction", drop)
        with pytest.raises(kube_errors.TransportError):
            await api_moves.ApiViolatorEvictor(api).evict(pod)
        await server.__aexit__(None, None, None)
        with pytest.raises(moving.EvictionNotMadeError):
            await api_moves.ApiViolatorEvictor(api).evict(pod)
