"""Bind pods to nodes through the binding subresource.

The binding contains the pod's uid, so a pod that was deleted and created again under the same name
is never bound by mistake. The server binds a pod at most once, so the call can be repeated. If the
first attempt bound the pod, the server answers the second with a conflict.

A call whose answer was lost may have bound the pod. The pod's resources on the node must stay
reserved until the outcome is known, so the binder reads the pod, without a time limit: during an
outage of the API server the binding stays in flight and its pod stays assumed.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

import msgspec

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import handles
from policysched.kube import errors
from policysched.kube.http import client
from policysched.kube.reading import decoding
from policysched.kube.writing import paths

BIND_POLICY = client.CallRetryPolicy(timeout_seconds=15.0, max_attempts=3, is_idempotent=False)
"""The client repeats calls that certainly had no effect; `ApiBinder` resolves all others."""
_CHECK_POLICY = client.CallRetryPolicy(timeout_seconds=10.0, max_attempts=3)
_MAX_SERVER_ERRORS = 3
"""Maximum number of calls if the server answers 5xx and has not bound the pod."""


class _BindingTarget(msgspec.Struct, frozen=True):
    name: str
    kind: str = "Node"


class _BindingMeta(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    namespace: str
    uid: str
    annotations: dict[str, str] = {}


class _Binding(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _BindingMeta
    target: _BindingTarget
    api_version: str = "v1"
    kind: str = "Binding"


_encoder = msgspec.json.Encoder()


class _UnknownBindOutcome(enum.Enum):
    """The outcome of the call is not known yet."""

    OPEN = enum.auto()


class ApiBinder:
    """Binds pods through the API server; any number of calls may be in flight."""

    def __init__(
        self, api: client.ApiClient, make_annotations: Callable[[], dict[str, str]] = dict
    ) -> None:
        """Add annotations to each pod that is bound; the API server writes both at once."""
        self._api = api
        self._make_annotations = make_annotations

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> handles.BindError | None:
        """Bind `pod`; return None only if it is certainly bound to `node_name`."""
        metadata = pod.pod.metadata
        path = paths.format_pod_binding_path(metadata.namespace, metadata.name)
        target = _BindingMeta(
            metadata.name, metadata.namespace, metadata.uid, self._make_annotations()
        )
        body = _encoder.encode(_Binding(target, _BindingTarget(node_name)))
        failures = 0
        may_be_bound = False
        while True:
            try:
                await self._api.send_request("POST", path, body, policy=BIND_POLICY)
            except errors.KubeError as error:
                failures += 1
                may_be_bound = may_be_bound or _may_have_bound(error)
                if not may_be_bound:
                    return _make_bind_error(error)
                outcome = await self._resolve_failed_binding(metadata, node_name, error, failures)
                if not isinstance(outcome, _UnknownBindOutcome):
                    return outcome
            else:
                return None
            await self._api.pause_between_attempts(failures)

    async def _resolve_failed_binding(
        self, metadata: objects.ObjectMeta, node_name: str, error: errors.KubeError, failures: int
    ) -> handles.BindError | _UnknownBindOutcome | None:
        """Determine the result of a failed call by reading the pod."""
        try:
            bound_to = await self._read_bound_node(metadata)
        except errors.NotFoundError:
            return handles.BindError("the pod no longer exists")
        except errors.KubeError:
            return _UnknownBindOutcome.OPEN
        if bound_to == "" and _is_worth_repeating(error, failures):
            return _UnknownBindOutcome.OPEN
        return _make_error_unless_bound_to(bound_to, node_name, error)

    async def _read_bound_node(self, metadata: objects.ObjectMeta) -> str | None:
        """Return the pod's node, "" if it is unbound, or None if another pod has its name."""
        path = paths.format_pod_path(metadata.namespace, metadata.name)
        body = await self._api.send_request("GET", path, policy=_CHECK_POLICY)
        pod = decoding.decode_single_object(body, objects.Pod)
        return pod.spec.node_name if pod.metadata.uid == metadata.uid else None


def _may_have_bound(error: errors.KubeError) -> bool:
    match error:
        case errors.ConflictError() | errors.ServerError():
            return True
        case errors.TransportError():
            return error.may_have_arrived
        case _:
            return False


def _is_worth_repeating(error: errors.KubeError, failures: int) -> bool:
    """Return whether to repeat the call for a pod that is not bound yet.

    The server may still be processing a call without an answer; the next call reveals the result.
    """
    match error:
        case errors.TransportError():
            return True
        case errors.ServerError():
            return failures < _MAX_SERVER_ERRORS
        case _:
            return False


def _make_bind_error(error: errors.KubeError) -> handles.BindError:
    match error:
        case errors.NotFoundError():
            return handles.BindError(f"the pod no longer exists: {error.message}")
        case errors.ApiError():
            return handles.BindError(error.message)
        case _:
            return handles.BindError(str(error))


def _make_error_unless_bound_to(
    bound_to: str | None, node_name: str, error: errors.KubeError
) -> handles.BindError | None:
    """Return None if the pod is bound to `node_name`, else the reason why not."""
    if bound_to is None:
        return handles.BindError("the pod no longer exists: another pod has its name")
    if bound_to == node_name:
        return None
    if bound_to:
        return handles.BindError(f"the pod is already bound to `{bound_to}`")
    return _make_bind_error(error)
