"""Bind volumes to claims, and request the provisioning of volumes.

Each write is a merge patch, because fields that the scheduler does not decode must not change. The
patch contains the resource version on which the decision is based. If the object has a newer
version, the server answers with a conflict and writes nothing; therefore a call can be repeated
after any failure. After a conflict the object is read, to check whether an earlier attempt of the
same call produced the newer version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from policysched.cluster.objects import storage_objects
from policysched.framework import handles
from policysched.kube import errors
from policysched.kube.http import client
from policysched.kube.reading import decoding
from policysched.kube.writing import paths, write_errors

WRITE_POLICY = client.CallRetryPolicy(timeout_seconds=15.0, max_attempts=5)

WrittenT = TypeVar(
    "WrittenT", storage_objects.PersistentVolume, storage_objects.PersistentVolumeClaim
)

_encoder = msgspec.json.Encoder()


class ApiVolumeWriter:
    """Writes volumes and claims through the API server; any number of calls may be in flight."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api

    async def write_volume(
        self, volume: storage_objects.PersistentVolume
    ) -> storage_objects.PersistentVolume | handles.WriteError:
        """Write the claimRef and the annotation BOUND_BY_CONTROLLER; return the new volume."""
        body = {
            "metadata": _make_patch_metadata(volume, storage_objects.BOUND_BY_CONTROLLER),
            "spec": {"claimRef": volume.spec.claim_ref},
        }
        path = paths.format_volume_path(volume.metadata.name)
        return await self._write_patch(path, body, volume, _has_same_claim)

    async def write_claim(
        self, claim: storage_objects.PersistentVolumeClaim
    ) -> storage_objects.PersistentVolumeClaim | handles.WriteError:
        """Write the annotation with the selected node; return the new claim."""
        meta = claim.metadata
        body = {"metadata": _make_patch_metadata(claim, storage_objects.SELECTED_NODE)}
        path = paths.format_claim_path(meta.namespace, meta.name)
        return await self._write_patch(path, body, claim, _has_same_node)

    async def _write_patch(
        self,
        path: str,
        body: object,
        wanted: WrittenT,
        is_written: Callable[[WrittenT, WrittenT], bool],
    ) -> WrittenT | handles.WriteError:
        """Send a patch; resolve a conflict, and return any other failure as an error."""
        try:
            answer = await self._api.send_request(
                "PATCH",
                path,
                _encoder.encode(body),
                content_type=client.MERGE_PATCH,
                policy=WRITE_POLICY,
            )
            return decoding.decode_single_object(answer, type(wanted))
        except errors.ConflictError as error:
            return await self._resolve_conflict(path, wanted, is_written, error)
        except errors.KubeError as error:
            return write_errors.make_write_error(error)

    async def _resolve_conflict(
        self,
        path: str,
        wanted: WrittenT,
        is_written: Callable[[WrittenT, WrittenT], bool],
        conflict: errors.ConflictError,
    ) -> WrittenT | handles.WriteError:
        """Return the object's newest version if it has the wanted change, else the conflict."""
        try:
            body = await self._api.send_request("GET", path, policy=WRITE_POLICY)
            newest = decoding.decode_single_object(body, type(wanted))
        except errors.KubeError as error:
            return write_errors.make_write_error(error)
        return newest if is_written(newest, wanted) else write_errors.make_write_error(conflict)


def _make_patch_metadata(
    item: storage_objects.PersistentVolume | storage_objects.PersistentVolumeClaim, key: str
) -> dict[str, object]:
    """Return metadata with the resource version and, if the object has it, the annotation `key`."""
    annotations = item.metadata.annotations
    metadata: dict[str, object] = {
        "annotations": {key: annotations[key]} if key in annotations else {}
    }
    if item.metadata.resource_version:
        metadata["resourceVersion"] = item.metadata.resource_version
    return metadata


def _has_same_claim(
    newest: storage_objects.PersistentVolume, wanted: storage_objects.PersistentVolume
) -> bool:
    claim, other = newest.spec.claim_ref, wanted.spec.claim_ref
    if newest.metadata.uid != wanted.metadata.uid or claim is None or other is None:
        return False
    return (claim.namespace, claim.name, claim.uid) == (other.namespace, other.name, other.uid)


def _has_same_node(
    newest: storage_objects.PersistentVolumeClaim, wanted: storage_objects.PersistentVolumeClaim
) -> bool:
    key = storage_objects.SELECTED_NODE
    is_same = newest.metadata.uid == wanted.metadata.uid
    return is_same and newest.metadata.annotations.get(key) == wanted.metadata.annotations.get(key)
