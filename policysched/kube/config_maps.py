"""Read, write and watch individual ConfigMaps.

Every write is a merge patch that contains the resource version or the uid of the ConfigMap as read.
If the object on the server differs, the server answers with a conflict and writes nothing. Fields
unknown to this program stay unchanged.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

import msgspec

from policysched.cluster.objects import objects
from policysched.kube import errors
from policysched.kube.events import event_series
from policysched.kube.http import client
from policysched.kube.reading import decoding, resources
from policysched.kube.writing import paths

WRITE_POLICY = client.CallRetryPolicy(timeout_seconds=15.0, max_attempts=5)

MAX_BYTES = 1024 * 1024
"""Limit of the total size of a ConfigMap's values (pkg/apis/core/types.go, MaxSecretSize)."""

Changes = Mapping[str, str | None]
"""New values, keyed by the name of an annotation or a data key; None removes the entry."""


class ConfigMap(objects.WireStruct, frozen=True):
    """A ConfigMap; binary values are decoded from base64."""

    metadata: objects.ObjectMeta = objects.ObjectMeta()
    data: dict[str, str] = msgspec.field(default_factory=dict)
    binary_data: dict[str, bytes] = msgspec.field(default_factory=dict)

    @property
    def namespaced_name(self) -> str:
        """Return `namespace/name`."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def involved_object(self) -> event_series.InvolvedObject:
        """Return the object reference for events about this ConfigMap."""
        meta = self.metadata
        return event_series.InvolvedObject(
            meta.namespace, meta.name, meta.uid, meta.resource_version, kind="ConfigMap"
        )


def make_config_map_resource(namespace: str, name: str) -> resources.ApiResource[ConfigMap]:
    """Return a collection for a reflector that contains only this ConfigMap."""
    return resources.ApiResource(
        name=f"configmap {namespace}/{name}",
        path=paths.format_config_maps_path(namespace),
        kind=ConfigMap,
        field_selector=f"metadata.name={name}",
    )


class ConfigMapClient:
    """Reads and writes ConfigMaps through one API client."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api

    async def read_config_map(self, namespace: str, name: str) -> ConfigMap | None:
        """Return a ConfigMap, or None if it does not exist.

        Raises:
            KubeError: the ConfigMap could not be read.
        """
        try:
            body = await self._api.send_request(
                "GET", paths.format_config_map_path(namespace, name)
            )
        except errors.NotFoundError:
            return None
        return decoding.decode_single_object(body, ConfigMap)

    async def create_config_map(
        self,
        namespace: str,
        name: str,
        binary_data: Mapping[str, bytes],
        labels: Mapping[str, str],
    ) -> None:
        """Create a ConfigMap.

        Raises:
            ConflictError: the ConfigMap already exists.
            KubeError: it was not created, or the outcome is unknown.
        """
        content = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"namespace": namespace, "name": name, "labels": labels},
            "binaryData": {key: _encode_base64(value) for key, value in binary_data.items()},
        }
        body = msgspec.json.encode(content)
        await self._api.send_request(
            "POST", paths.format_config_maps_path(namespace), body, policy=WRITE_POLICY
        )

    async def annotate_config_map(self, config_map: ConfigMap, annotations: Changes) -> None:
        """Change annotations of the ConfigMap with this uid, at any resource version.

        Raises:
            ConflictError: an object with another uid now has this name.
            NotFoundError: the ConfigMap was deleted.
            KubeError: the ConfigMap was not written, or the outcome is unknown.
        """
        metadata = {"uid": config_map.metadata.uid, "annotations": annotations}
        await self._patch_config_map(config_map, {"metadata": metadata})

    async def change_config_map(
        self,
        config_map: ConfigMap,
        *,
        data: Changes | None = None,
        binary_data: Mapping[str, bytes | None] | None = None,
        annotations: Changes | None = None,
    ) -> ConfigMap:
        """Change keys and annotations if the ConfigMap has not changed since it was read.

        Return the changed ConfigMap, which the next change needs.

        Raises:
            ConflictError: the ConfigMap has changed.
            KubeError: the ConfigMap was not written, or the outcome is unknown.
        """
        metadata = {
            "resourceVersion": config_map.metadata.resource_version,
            "annotations": annotations or {},
        }
        binary = {
            key: None if value is None else _encode_base64(value)
            for key, value in (binary_data or {}).items()
        }
        body = await self._patch_config_map(
            config_map, {"metadata": metadata, "data": data or {}, "binaryData": binary}
        )
        return decoding.decode_single_object(body, ConfigMap)

    async def _patch_config_map(self, config_map: ConfigMap, patch: Mapping[str, object]) -> bytes:
        path = paths.format_config_map_path(config_map.metadata.namespace, config_map.metadata.name)
        body = msgspec.json.encode(patch)
        return await self._api.send_request(
            "PATCH", path, body, content_type=client.MERGE_PATCH, policy=WRITE_POLICY
        )


def is_final_failure(error: errors.KubeError) -> bool:
    """Return whether the same write would fail in the same way on every later attempt."""
    is_busy = isinstance(error, (errors.TooManyRequestsError, errors.ServerError))
    is_stale = isinstance(error, (errors.ConflictError, errors.NotFoundError))
    is_unknown = isinstance(error, errors.UnauthorizedError)  # the credential may be renewed
    return isinstance(error, errors.ApiError) and not (is_busy or is_stale or is_unknown)


def _encode_base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
