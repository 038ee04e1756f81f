"""Binding pods to nodes by the binding subresource.

The binding carries the pod's uid, so a pod that was deleted and created anew under the same name is
never bound by mistake. The server binds a pod at most once, whatever it is asked, so the call may
be repeated: the answer to the second attempt may then be a conflict with our own first one.
Therefore a conflict, and a call without any answer, are settled by reading the pod.
"""

from __future__ import annotations

import msgspec

from policysched.cluster import objects, pod_shape
from policysched.framework import interface
from policysched.kube import client, decoding, errors, paths

BIND_POLICY = client.CallPolicy(timeout_seconds=15.0, max_attempts=3)
_CHECK_POLICY = client.CallPolicy(timeout_seconds=10.0, max_attempts=3)


class _Target(msgspec.Struct, frozen=True):
    name: str
    kind: str = "Node"


class _BindingMeta(msgspec.Struct, frozen=True):
    name: str
    namespace: str
    uid: str


class _Binding(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _BindingMeta
    target: _Target
    api_version: str = "v1"
    kind: str = "Binding"


_encoder = msgspec.json.Encoder()


class ApiBinder:
    """Binds through the API server; any number of calls may be in flight."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> interface.BindError | None:
        """Bind `pod`; None when it is bound to `node_name` afterwards.

        An error whose text says that the outcome is not known means that the pod may still turn
        out to be bound: the watch will tell.
        """
        metadata = pod.pod.metadata
        binding = _Binding(
            _BindingMeta(metadata.name, metadata.namespace, metadata.uid), _Target(node_name)
        )
        path = paths.pod_binding(metadata.namespace, metadata.name)
        try:
            await self._api.request("POST", path, _encoder.encode(binding), policy=BIND_POLICY)
        except errors.KubeError as error:
            return await self._settle(metadata, node_name, error)
        return None

    async def _settle(
        self, metadata: objects.ObjectMeta, node_name: str, error: errors.KubeError
    ) -> interface.BindError | None:
        """Find out what a failed call has led to."""
        match error:
            case errors.NotFoundError():
                return interface.BindError(f"the pod is gone: {error.message}")
            case errors.ConflictError() | errors.ServerError():
                pass
            case errors.TransportError() if error.may_have_arrived:
                pass
            case errors.ApiError():
                return interface.BindError(error.message)
            case _:
                return interface.BindError(str(error))
        try:
            bound_to = await self._node_of(metadata)
        except errors.NotFoundError:
            return interface.BindError("the pod is gone")
        except errors.KubeError as check_error:
            return interface.BindError(
                f"the outcome is not known: {error}; the pod could not be read: {check_error}"
            )
        return _verdict(bound_to, node_name, error)

    async def _node_of(self, metadata: objects.ObjectMeta) -> str | None:
        """Return the node that the pod is bound to, None where it is another pod by now."""
        path = paths.pod(metadata.namespace, metadata.name)
        body = await self._api.request("GET", path, policy=_CHECK_POLICY)
        pod = decoding.decode_object(body, objects.Pod)
        return pod.spec.node_name if pod.metadata.uid == metadata.uid else None


def _verdict(
    bound_to: str | None, node_name: str, error: errors.KubeError
) -> interface.BindError | None:
    if bound_to is None:
        return interface.BindError("the pod is gone: another one has its name")
    if bound_to == node_name:
        return None
    if bound_to:
        return interface.BindError(f"the pod is already bound to `{bound_to}`", is_conflict=True)
    if isinstance(error, errors.ConflictError):
        return interface.BindError(error.message)
    return interface.BindError(f"the outcome is not known, the pod is not bound so far: {error}")
