"""Delete the victims of a preemption.

First the `DisruptionTarget` condition records the reason, so that controllers do not count the
pod's end as a failure; then the pod is deleted gracefully. Both calls contain the pod's uid, so a
pod created again under the same name is not affected. Both can be repeated, so that an eviction
survives a short outage (`framework/preemption/executor.go`, PreemptPod).

A conflict can mean that another pod now has the name, that an admission webhook refused the call,
or that the server gave up patching a busy pod. Only in the first case is the victim gone, so the
pod is read after a conflict.
"""

from __future__ import annotations

import msgspec

from policysched import clock as clocks
from policysched.cluster.objects import objects, time_text
from policysched.cluster.pods import pod_shape
from policysched.kube import errors
from policysched.kube.http import client
from policysched.kube.reading import decoding
from policysched.kube.writing import paths, pod_status, status_patch

DISRUPTION_TARGET = "DisruptionTarget"

EVICT_POLICY = client.CallRetryPolicy(timeout_seconds=15.0, max_attempts=6)
"""The pauses between attempts add up to at most about three seconds, because the preemptor waits
for them. After a failure, it may find another node."""


class _UidPrecondition(msgspec.Struct, frozen=True):
    """Makes the server refuse the call (409) if the pod of that name has another uid."""

    uid: str


class _ConditionsStatus(msgspec.Struct, frozen=True):
    conditions: tuple[status_patch.ConditionPatch]


class _PodConditionPatch(msgspec.Struct, frozen=True):
    metadata: _UidPrecondition
    status: _ConditionsStatus


class _DeleteOptions(msgspec.Struct, frozen=True, rename="camel"):
    preconditions: _UidPrecondition
    kind: str = "DeleteOptions"
    api_version: str = "v1"


_encoder = msgspec.json.Encoder()


class ApiPodEvictor:
    """Evicts pods through the API server; any number of calls may be in flight."""

    def __init__(self, api: client.ApiClient, clock: clocks.Clock) -> None:
        """Send calls through `api`; `clock` provides the times of conditions."""
        self._api = api
        self._clock = clock

    async def evict(self, victim: pod_shape.PodInfo, condition: pod_status.ConditionText) -> bool:
        """Write the victim's `DisruptionTarget` condition and begin its graceful deletion.

        Returns:
            False if the pod with this uid no longer existed.

        Raises:
            KubeError: the API server refused a call, or all attempts failed; the pod may still
                exist.
        """
        pod = victim.pod
        try:
            if not _shows_condition(pod, condition):
                await self._patch_condition(pod, condition)
            await self._delete_pod(pod)
        except errors.NotFoundError:
            return False
        except errors.ConflictError:
            if await self._is_pod_on_server(pod):
                raise
            return False
        return True

    async def _is_pod_on_server(self, pod: objects.Pod) -> bool:
        """Return whether a pod with this name and uid exists on the server."""
        path = paths.format_pod_path(pod.metadata.namespace, pod.metadata.name)
        try:
            body = await self._api.send_request("GET", path, policy=EVICT_POLICY)
        except errors.NotFoundError:
            return False
        return decoding.decode_single_object(body, objects.Pod).metadata.uid == pod.metadata.uid

    async def _patch_condition(self, pod: objects.Pod, condition: pod_status.ConditionText) -> None:
        """Write the `DisruptionTarget` condition if the pod still has this uid."""
        metadata = pod.metadata
        patch = status_patch.ConditionPatch(
            type=DISRUPTION_TARGET,
            status=condition.status,
            reason=condition.reason,
            message=condition.message,
            last_transition_time=time_text.format_rfc3339(self._clock.now()),
            observed_generation=metadata.generation,
        )
        await self._api.send_request(
            "PATCH",
            paths.format_pod_status_path(metadata.namespace, metadata.name),
            _encoder.encode(
                _PodConditionPatch(_UidPrecondition(metadata.uid), _ConditionsStatus((patch,)))
            ),
            content_type=client.STRATEGIC_MERGE_PATCH,
            policy=EVICT_POLICY,
        )

    async def _delete_pod(self, pod: objects.Pod) -> None:
        metadata = pod.metadata
        body = _encoder.encode(_DeleteOptions(_UidPrecondition(metadata.uid)))
        path = paths.format_pod_path(metadata.namespace, metadata.name)
        await self._api.send_request("DELETE", path, body, policy=EVICT_POLICY)


def _shows_condition(pod: objects.Pod, condition: pod_status.ConditionText) -> bool:
    """Return whether the pod, as last watched, already has the condition of an earlier attempt."""
    wanted = (DISRUPTION_TARGET, condition.status, condition.reason, condition.message)
    return any((c.type, c.status, c.reason, c.message) == wanted for c in pod.status.conditions)
