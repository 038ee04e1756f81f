"""ConfigMaps as they are followed, read and written."""

from __future__ import annotations

import base64

import pytest

from policysched.kube import config_maps, errors
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import FakeServer, json_body, status

COLLECTION = "/api/v1/namespaces/prod/configmaps"
PATH = f"{COLLECTION}/policies"
STORED = {
    "metadata": {"namespace": "prod", "name": "policies", "uid": "u", "resourceVersion": "7"},
    "data": {"a.policy": "text"},
    "binaryData": {"b": base64.b64encode(b"\x00\xff").decode()},
}


async def _read(server: FakeServer) -> config_maps.ConfigMap | None:
    async with server.client() as api:
        return await config_maps.ConfigMapClient(api).read_config_map("prod", "policies")


def test_one_object_is_followed() -> None:
    """Whoever may read this one ConfigMap only may list and watch it so."""
    resource = config_maps.make_config_map_resource("prod", "policies")
    assert (
        resource.make_list_path(limit=0) == f"{COLLECTION}?fieldSelector=metadata.name%3Dpolicies"
    )


@asynchronous
async def test_what_is_read() -> None:
    """Texts as they are, binary values decoded; one that is missing is no error."""
    async with FakeServer() as server:
        server.on("GET", PATH, json_body(STORED), status(404, "NotFound", "no"))
        found = await _read(server)
        assert found is not None
        assert (found.namespaced_name, found.data, found.binary_data) == (
            "prod/policies",
            {"a.policy": "text"},
            {"b": b"\x00\xff"},
        )
        assert await _read(server) is None


@asynchronous
async def test_what_is_created() -> None:
    """A ConfigMap of binary values."""
    async with FakeServer() as server, server.client() as api:
        server.on("POST", COLLECTION, json_body({}))
        await config_maps.ConfigMapClient(api).create_config_map(
            "prod", "policies", {"b": b"\xff"}, {"l": "v"}
        )
        body = server.requests[0].body
        assert body["metadata"] == {"namespace": "prod", "name": "policies", "labels": {"l": "v"}}
        assert body["binaryData"] == {"b": "/w=="}


@asynchronous
async def test_annotations_are_of_this_very_object() -> None:
    """Whatever its version is by now; another object of its name is left alone."""
    async with FakeServer() as server, server.client() as api:
        server.on("GET", PATH, json_body(STORED))
        server.on("PATCH", PATH, json_body({}), status(409, "Conflict", "another uid"))
        store = config_maps.ConfigMapClient(api)
        found = await store.read_config_map("prod", "policies")
        assert found is not None
        await store.annotate_config_map(found, {"a": "1", "b": None})
        assert server.requests[1].body == {
            "metadata": {"uid": "u", "annotations": {"a": "1", "b": None}}
        }
        assert server.requests[1].headers["Content-Type"] == "application/merge-patch+json"
        with pytest.raises(errors.ConflictError):
            await store.annotate_config_map(found, {"a": "1"})


@asynchronous
async def test_keys_are_changed_in_this_very_version() -> None:
    """Values are set and dropped; binary ones are encoded. The answer has the next version."""
    async with FakeServer() as server, server.client() as api:
        server.on("GET", PATH, json_body(STORED))
        newer = STORED | {"metadata": {**STORED["metadata"], "resourceVersion": "8"}}
        server.on("PATCH", PATH, json_body(newer))
        store = config_maps.ConfigMapClient(api)
        found = await store.read_config_map("prod", "policies")
        assert found is not None
        changed = await store.change_config_map(
            found,
            data={"a.policy": None, "c.policy": "new"},
            binary_data={"b": None, "d": b"\xff"},
            annotations={"x": "y"},
        )
        assert changed.metadata.resource_version == "8"
        assert server.requests[1].body == {
            "metadata": {"resourceVersion": "7", "annotations": {"x": "y"}},
            "data": {"a.policy": None, "c.policy": "new"},
            "binaryData": {"b": None, "d": "/w=="},
        }


@pytest.mark.parametrize(
    "error, is_final",
    [
        (errors.ForbiddenError(403, "Forbidden", ""), True),
        (errors.ApiError(422, "Invalid", ""), True),
        (errors.ApiError(413, "RequestEntityTooLarge", ""), True),
        (errors.ConflictError(409, "Conflict", ""), False),
        (errors.NotFoundError(404, "NotFound", ""), False),
        (errors.UnauthorizedError(401, "Unauthorized", ""), False),
        (errors.TooManyRequestsError(429, "TooManyRequests", ""), False),
        (errors.ServerError(500, "InternalError", ""), False),
        (errors.TransportError("", may_have_arrived=True), False),
        (errors.FencedWriteError(""), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_which_writes_are_given_up(error: errors.KubeError, *, is_final: bool) -> None:
    """Those that fail again however often they are made."""
    assert config_maps.is_final_failure(error) is is_final
