"""Write allocations and reservations of ResourceClaims.

The writes are JSON patches, because fields that the scheduler does not decode must not change, and
parameters for drivers must be copied as they are (a merge patch would drop their nulls). A patch
contains the resource version on which the decision is based. If the claim has a newer version, the
server answers with a conflict and writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from policysched.cluster.objects import device_objects, objects
from policysched.cluster.pods import pod_shape
from policysched.framework import handles
from policysched.kube import errors
from policysched.kube.http import client
from policysched.kube.reading import decoding
from policysched.kube.writing import paths, write_errors

WRITE_POLICY = client.CallRetryPolicy(timeout_seconds=15.0, max_attempts=5)
CREATE_POLICY = client.CallRetryPolicy(timeout_seconds=15.0, max_attempts=1)
"""A retry after a lost answer would create a second claim."""

_encoder = msgspec.json.Encoder()


class ApiClaimWriter:
    """Reads and writes claims through the API server; any number of calls may be in flight."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api

    async def read(
        self, claim: device_objects.ResourceClaim
    ) -> device_objects.ResourceClaim | handles.WriteError:
        """Return the newest version of a claim."""
        return await self._call("GET", _format_path(claim))

    async def write_finalizers(
        self, claim: device_objects.ResourceClaim
    ) -> device_objects.ResourceClaim | handles.WriteError:
        """Write the finalizers of a claim; return its new version."""
        patch = _make_patch(claim, {"/metadata/finalizers": claim.metadata.finalizers})
        return await self._call("PATCH", _format_path(claim), patch)

    async def write_status(
        self, claim: device_objects.ResourceClaim
    ) -> device_objects.ResourceClaim | handles.WriteError:
        """Write allocation and reservations of a claim; return its new version.

        Without an allocation, the reports of drivers on its devices are also removed.
        """
        fields: dict[str, object] = {
            "/status/allocation": claim.allocation,
            "/status/reservedFor": claim.status.reserved_for or None,
        }
        if claim.allocation is None:
            fields["/status/devices"] = None
        return await self._call(
            "PATCH", _format_path(claim) + "/status", _make_patch(claim, fields)
        )

    async def unreserve(
        self, claim: device_objects.ResourceClaim, pod: pod_shape.PodInfo
    ) -> handles.WriteError | None:
        """Remove the reservation of a pod from a claim, whatever its version."""
        reserved = [{"$patch": "delete", "uid": pod.pod.metadata.uid}]
        body = {"metadata": {"uid": claim.metadata.uid}, "status": {"reservedFor": reserved}}
        path = _format_path(claim) + "/status"
        content_type = client.STRATEGIC_MERGE_PATCH
        answer = await self._call("PATCH", path, _encoder.encode(body), content_type)
        return answer if isinstance(answer, handles.WriteError) else None

    async def create(
        self, claim: device_objects.ResourceClaim, name_prefix: str
    ) -> device_objects.ResourceClaim | handles.WriteError:
        """Create a claim; the API server makes its name from `name_prefix`. Return the claim."""
        meta = claim.metadata
        body = {
            "apiVersion": device_objects.API_VERSION,
            "kind": "ResourceClaim",
            "metadata": {
                "generateName": name_prefix,
                "namespace": meta.namespace,
                "annotations": meta.annotations,
                "ownerReferences": meta.owner_references,
            },
            "spec": claim.spec,
        }
        path = paths.format_resource_claims_path(meta.namespace)
        return await self._call(
            "POST", path, _encoder.encode(body), client.JSON, policy=CREATE_POLICY
        )

    async def delete(self, claim: device_objects.ResourceClaim) -> handles.WriteError | None:
        """Delete a claim, whatever its version."""
        body = _encoder.encode({"preconditions": {"uid": claim.metadata.uid}})
        try:
            await self._api.send_request(
                "DELETE",
                _format_path(claim),
                body,
                content_type=client.JSON,
                policy=WRITE_POLICY,
            )
        except errors.NotFoundError:
            return None
        except errors.KubeError as error:
            return write_errors.make_write_error(error)
        return None

    async def write_extended_resource_status(
        self, pod: pod_shape.PodInfo, status: objects.PodExtendedResourceClaimStatus
    ) -> handles.WriteError | None:
        """Write the claim for the extended resources of a pod into its status."""
        meta = pod.pod.metadata
        body = {
            "metadata": {"uid": meta.uid},
            "status": {"extendedResourceClaimStatus": status},
        }
        try:
            await self._api.send_request(
                "PATCH",
                paths.format_pod_status_path(meta.namespace, meta.name),
                _encoder.encode(body),
                content_type=client.MERGE_PATCH,
                policy=WRITE_POLICY,
            )
        except errors.KubeError as error:
            return write_errors.make_write_error(error)
        return None

    async def _call(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        content_type: str = client.JSON_PATCH,
        policy: client.CallRetryPolicy = WRITE_POLICY,
    ) -> device_objects.ResourceClaim | handles.WriteError:
        try:
            answer = await self._api.send_request(
                method,
                path,
                body,
                content_type=content_type,
                policy=policy,
            )
            return decoding.decode_single_object(answer, device_objects.ResourceClaim)
        except errors.KubeError as error:
            return write_errors.make_write_error(error)


def _make_patch(claim: device_objects.ResourceClaim, fields: Mapping[str, object]) -> bytes:
    """Return a JSON patch that sets fields; None removes one."""
    operations: list[dict[str, object]] = [
        {"op": "add", "path": path, "value": value} for path, value in fields.items()
    ]
    version = claim.metadata.resource_version
    operations.append({"op": "replace", "path": "/metadata/resourceVersion", "value": version})
    return _encoder.encode(operations)


def _format_path(claim: device_objects.ResourceClaim) -> str:
    return paths.format_resource_claim_path(claim.metadata.namespace, claim.metadata.name)
