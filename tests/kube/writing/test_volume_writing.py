"""Writing claimRefs and selected nodes: what is sent, and what each answer means."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from policysched.cluster.objects import storage_objects
from policysched.framework import handles
from policysched.kube.writing import volume_writing
from tests import storage_builders
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import Answer, FakeServer, drop, json_body, status

REFERENCE = storage_objects.ClaimReference(
    api_version="v1",
    kind="PersistentVolumeClaim",
    namespace="default",
    name="data",
    uid="uid-data",
    resource_version="7",
)
VOLUME = storage_builders.make_volume(
    "disk-1",
    claim=REFERENCE,
    meta={
        "resource_version": "41",
        "annotations": {storage_objects.BOUND_BY_CONTROLLER: "yes", "other": "stays"},
    },
)
CLAIM = storage_builders.make_claim(
    "data",
    annotations={storage_objects.SELECTED_NODE: "n1", "other": "stays"},
    meta={"resource_version": "42"},
)
VOLUME_PATH = "/api/v1/persistentvolumes/disk-1"
CLAIM_PATH = "/api/v1/namespaces/default/persistentvolumeclaims/data"
CONFLICT = status(409, "Conflict", "the object has been modified")
MODIFIED = handles.WriteError("the object has been modified", is_conflict=True)


def stored(item: Any, **changes: Any) -> Answer:
    """Answer with an object in a newer version, with other parts as `changes` say."""
    meta = msgspec.structs.replace(item.metadata, resource_version="99")
    newer = msgspec.structs.replace(item, **{"metadata": meta, **changes})
    return json_body(msgspec.to_builtins(newer))


def with_claim(uid: str) -> storage_objects.PersistentVolumeSpec:
    """Return the spec of the volume with a claimRef to the claim of this uid."""
    return msgspec.structs.replace(
        VOLUME.spec, claim_ref=msgspec.structs.replace(REFERENCE, uid=uid)
    )


def refused(message: str) -> handles.WriteError:
    """Spell a refusal shortly."""
    return handles.WriteError(message)


async def write(
    item: storage_objects.PersistentVolume | storage_objects.PersistentVolumeClaim,
    server: FakeServer,
) -> Any:
    """Return what the writer answers: a refusal, or the version of the written object."""
    async with server.client() as api:
        writer = volume_writing.ApiVolumeWriter(api)
        if isinstance(item, storage_objects.PersistentVolume):
            answer: Any = await writer.write_volume(item)
        else:
            answer = await writer.write_claim(item)
    return answer if isinstance(answer, handles.WriteError) else answer.metadata.resource_version


@asynchronous
async def test_a_volume_as_it_is_promised() -> None:
    """Only the claimRef and its annotation are written, and only to the version decided about."""
    async with FakeServer() as server:
        server.on("PATCH", VOLUME_PATH, stored(VOLUME))
        assert await write(VOLUME, server) == "99"
        (request,) = server.requests
        assert request.headers["Content-Type"] == "application/merge-patch+json"
        assert request.body == {
            "metadata": {
                "resourceVersion": "41",
                "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
            },
            "spec": {
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": "default",
                    "name": "data",
                    "uid": "uid-data",
                    "resourceVersion": "7",
                }
            },
        }


@asynchronous
async def test_a_volume_of_the_user_stays_the_users() -> None:
    """A volume whose claimRef a user has set does not get the annotation of a controller."""
    meta = msgspec.structs.replace(VOLUME.metadata, annotations={})
    async with FakeServer() as server:
        server.on("PATCH", VOLUME_PATH, stored(VOLUME))
        await write(msgspec.structs.replace(VOLUME, metadata=meta), server)
        assert server.requests[0].body["metadata"]["annotations"] == {}


@asynchronous
async def test_a_claim_as_its_node_is_selected() -> None:
    """Only the annotation is written, and only to the version decided about."""
    async with FakeServer() as server:
        server.on("PATCH", CLAIM_PATH, stored(CLAIM))
        assert await write(CLAIM, server) == "99"
        (request,) = server.requests
        assert request.body == {
            "metadata": {
                "resourceVersion": "42",
                "annotations": {"volume.kubernetes.io/selected-node": "n1"},
            }
        }


@pytest.mark.parametrize(
    "item, path, patches, gets, outcome",
    [
        pytest.param(VOLUME, VOLUME_PATH, [status(503), stored(VOLUME)], [], "99", id="again"),
        pytest.param(
            VOLUME, VOLUME_PATH, [drop, CONFLICT], [stored(VOLUME)], "99", id="answer lost"
        ),
        pytest.param(
            VOLUME,
            VOLUME_PATH,
            [CONFLICT],
            [stored(VOLUME, spec=with_claim("other"))],
            MODIFIED,
            id="volume of another claim",
        ),
        pytest.param(
            VOLUME,
            VOLUME_PATH,
            [CONFLICT],
            [stored(VOLUME, spec=msgspec.structs.replace(VOLUME.spec, claim_ref=None))],
            MODIFIED,
            id="volume changed otherwise",
        ),
        pytest.param(
            VOLUME,
            VOLUME_PATH,
            [CONFLICT],
            [stored(VOLUME, metadata=msgspec.structs.replace(VOLUME.metadata, uid="new"))],
            MODIFIED,
            id="another volume of that name",
        ),
        pytest.param(
            VOLUME,
            VOLUME_PATH,
            [CONFLICT],
            [status(404, "NotFound", "no such volume")],
            refused("no such volume"),
            id="volume gone",
        ),
        pytest.param(
            VOLUME,
            VOLUME_PATH,
            [status(403, "Forbidden", "not allowed")],
            [],
            refused("not allowed"),
            id="forbidden",
        ),
        pytest.param(CLAIM, CLAIM_PATH, [drop, CONFLICT], [stored(CLAIM)], "99", id="claim lost"),
        pytest.param(
            CLAIM,
            CLAIM_PATH,
            [CONFLICT],
            [stored(storage_builders.make_claim("data"))],
            MODIFIED,
            id="claim without the node",
        ),
    ],
)
@asynchronous
async def test_what_the_answers_mean(
    item: storage_objects.PersistentVolume | storage_objects.PersistentVolumeClaim,
    path: str,
    patches: list[Answer],
    gets: list[Answer],
    outcome: handles.WriteError | str,
) -> None:
    """A write has succeeded exactly when the server has what was to be written."""
    async with FakeServer() as server:
        server.on("PATCH", path, *patches)
        server.on("GET", path, *gets)
        assert await write(item, server) == outcome
