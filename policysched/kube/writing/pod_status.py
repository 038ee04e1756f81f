"""Write the `PodScheduled` condition and the nominated node into the status of pods.

`set_condition` and `nominate` only queue a note, which is a status to be written to a pod; `run`
writes to several pods at a time. For each pod, the newest note wins and writes are in order. A
value that the pod is known to have is not written again. If the pod has changed since the note was
queued, the server refuses the write and the pod is read; if the pod was bound or deleted, the note
is dropped.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import datetime
import logging
from typing import NoReturn, Protocol

import msgspec

from policysched import clock as clocks
from policysched.cluster.objects import objects, time_text, wire
from policysched.cluster.pods import pod_shape
from policysched.kube import errors
from policysched.kube.http import client
from policysched.kube.reading import decoding
from policysched.kube.writing import paths, status_patch

_logger = logging.getLogger(__name__)

POD_SCHEDULED = "PodScheduled"
SCHEDULING_GATED = "SchedulingGated"
"""The reason of the condition that the API server writes for a pod with scheduling gates."""
WORKERS = 4
REMEMBERED_SECONDS = 60.0
"""How long the last write to a pod is remembered while the watch does not show it. If the watch is
later than that, the server refuses the next write and the pod is read."""

MAX_CONFLICTS = 5
"""Maximum number of attempts for one note while other writers change the pod."""

WRITE_POLICY = client.CallRetryPolicy(timeout_seconds=15.0, max_attempts=12)
"""Many attempts, because no caller waits: an outage of a minute loses no write."""


class ConditionText(Protocol):
    """The content of a `PodScheduled` condition."""

    @property
    def status(self) -> str:
        """Return `True` or `False`."""
        ...

    @property
    def reason(self) -> str:
        """Return the machine-readable reason in one word."""
        ...

    @property
    def message(self) -> str:
        """Return one sentence for human readers."""
        ...

    @property
    def since_seconds(self) -> int | None:
        """Return when the condition began, in seconds since 1970; None for the time of writing."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class _PodStatusUpdate:
    """The status to be written to a pod.

    Attributes:
        pod: the pod's state when the note was queued.
        content: status, reason and message of the condition; None keeps the current condition.
        nominated_node_name: None keeps the current nomination.
        since_seconds: when the condition began, in seconds since 1970; None for the time of the
            write.
    """

    pod: objects.Pod
    content: tuple[str, str, str] | None
    nominated_node_name: str | None
    since_seconds: int | None = None

    def merge_over(self, older: _PodStatusUpdate | None) -> _PodStatusUpdate:
        """Merge this note with an older unwritten note; values of this note win."""
        if older is None:
            return self
        content = older.content if self.content is None else self.content
        nominated = self.nominated_node_name
        if nominated is None:
            nominated = older.nominated_node_name
        since = older.since_seconds if self.content is None else self.since_seconds
        return _PodStatusUpdate(self.pod, content, nominated, since)

    def apply_to(self, known: _KnownPodStatus) -> _KnownPodStatus:
        """Return the status that the pod has after this note is written."""
        content = known.content if self.content is None else self.content
        nominated = self.nominated_node_name
        if nominated is None:
            nominated = known.nominated_node_name
        return _KnownPodStatus(known.resource_version, content, nominated)


@dataclasses.dataclass(frozen=True, slots=True)
class _KnownPodStatus:
    """The known status of a pod, and the pod's resource version with that status."""

    resource_version: str
    content: tuple[str, str, str]
    nominated_node_name: str


@dataclasses.dataclass(frozen=True, slots=True)
class _WrittenPodStatus:
    """The last status written to a pod.

    Attributes:
        seen_version: the resource version of the pod when the note was queued.
        known: the status of the pod after the write.
        at_seconds: time of the write (monotonic clock).
    """

    seen_version: str
    known: _KnownPodStatus
    at_seconds: float


class _StatusPatch(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    conditions: tuple[status_patch.ConditionPatch, ...] = ()
    nominated_node_name: str | msgspec.UnsetType = msgspec.UNSET


class _PodPreconditions(msgspec.Struct, frozen=True, rename="camel"):
    """Makes the server refuse the patch (409) if the pod has another uid or has changed."""

    uid: str
    resource_version: str


class _PodPatch(msgspec.Struct, frozen=True):
    metadata: _PodPreconditions
    status: _StatusPatch


_encoder = msgspec.json.Encoder()


class ApiPodStatusWriter:
    """Writes the status of pods outside the scheduling cycle.

    Attributes:
        failed: number of writes abandoned after a failure.
    """

    def __init__(self, api: client.ApiClient, clock: clocks.Clock) -> None:
        """Create a writer that writes nothing until `run` is called."""
        self.failed = 0
        self._api = api
        self._clock = clock
        self._notes: dict[str, _PodStatusUpdate] = {}
        self._in_work: set[str] = set()
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._written: collections.OrderedDict[str, _WrittenPodStatus] = collections.OrderedDict()

    def set_condition(
        self,
        pod: pod_shape.PodInfo,
        condition: ConditionText,
        nominated_node_name: str | None = None,
    ) -> None:
        """Queue a condition for writing; never blocks.

        Args:
            pod: the newest known state of the pod.
            condition: the new `PodScheduled` condition.
            nominated_node_name: the node on which preemption makes room for the pod, "" to remove
                the nomination, or None to keep it.
        """
        content = (condition.status, condition.reason, condition.message)
        self._enqueue_status_update(
            pod.uid,
            _PodStatusUpdate(pod.pod, content, nominated_node_name, condition.since_seconds),
        )

    def nominate(self, pod: pod_shape.PodInfo, node_name: str) -> None:
        """Queue only the nominated node ("" removes the nomination); never blocks."""
        self._enqueue_status_update(pod.uid, _PodStatusUpdate(pod.pod, None, node_name))

    def _enqueue_status_update(self, uid: str, note: _PodStatusUpdate) -> None:
        waiting = self._notes.get(uid)
        self._notes[uid] = note.merge_over(waiting)
        if waiting is None and uid not in self._in_work:
            self._queue.put_nowait(uid)

    async def run(self) -> NoReturn:
        """Write queued notes until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._write_queued_updates())
        raise AssertionError  # the workers do not return

    async def flush(self) -> None:
        """Wait until all notes queued so far are written or abandoned; `run` must be running."""
        await self._queue.join()

    async def _write_queued_updates(self) -> NoReturn:
        while True:
            uid = await self._queue.get()
            try:
                await self._write_newest(uid)
            finally:
                self._queue.task_done()

    async def _write_newest(self, uid: str) -> None:
        """Write the newest note of the pod `uid`; count and log a failure."""
        note = self._notes.pop(uid)
        self._in_work.add(uid)
        try:
            await self._write_or_drop(note)
        except (errors.NotFoundError, errors.FencedWriteError):
            pass  # the pod is gone, or the next leader writes its status
        except errors.KubeError as error:
            self.failed += 1
            _logger.warning("the status of pod %s was not written: %s", note.pod.key, error)
        finally:
            self._in_work.discard(uid)
            if uid in self._notes:  # queued again during the write
                self._queue.put_nowait(uid)

    async def _write_or_drop(self, note: _PodStatusUpdate) -> None:
        """Write the note unless it changes nothing; retry while other writers change the pod."""
        for _ in range(MAX_CONFLICTS):
            known = self._get_newest_known_status(note.pod)
            if note.apply_to(known) == known:
                return
            try:
                await self._write_status_update(note, known)
            except errors.ConflictError:
                newest = await self._read_pod(note.pod)
                # Drop the note if its pod was replaced or bound.
                if newest.metadata.uid != note.pod.metadata.uid or newest.spec.node_name:
                    return
                note = dataclasses.replace(note, pod=newest)
            else:
                return

    async def _write_status_update(self, note: _PodStatusUpdate, known: _KnownPodStatus) -> None:
        """Send the patch of a note and remember the resulting status."""
        metadata = note.pod.metadata
        body = await self._api.send_request(
            "PATCH",
            paths.format_pod_status_path(metadata.namespace, metadata.name),
            _encoder.encode(_make_status_patch(note, known, self._clock.now())),
            content_type=client.STRATEGIC_MERGE_PATCH,
            policy=WRITE_POLICY,
        )
        now_known = dataclasses.replace(
            note.apply_to(known), resource_version=_read_resource_version(body)
        )
        self._remember_written_status(metadata, now_known)

    def _remember_written_status(
        self, metadata: objects.ObjectMeta, known: _KnownPodStatus
    ) -> None:
        """Remember the written status; forget writes older than REMEMBERED_SECONDS."""
        now_seconds = self._clock.monotonic_seconds()
        self._written[metadata.uid] = _WrittenPodStatus(
            metadata.resource_version, known, now_seconds
        )
        self._written.move_to_end(metadata.uid)
        while now_seconds - next(iter(self._written.values())).at_seconds > REMEMBERED_SECONDS:
            self._written.popitem(last=False)

    @property
    def remembered_count(self) -> int:
        """Return the number of pods whose last write is remembered."""
        return len(self._written)

    async def _read_pod(self, pod: objects.Pod) -> objects.Pod:
        path = paths.format_pod_path(pod.metadata.namespace, pod.metadata.name)
        body = await self._api.send_request("GET", path, policy=WRITE_POLICY)
        return decoding.decode_single_object(body, objects.Pod)

    def _get_newest_known_status(self, pod: objects.Pod) -> _KnownPodStatus:
        """Return the status written since this version of the pod, or else the pod's own status."""
        metadata = pod.metadata
        written = self._written.get(metadata.uid)
        if written is not None and written.seen_version == metadata.resource_version:
            return written.known
        shown = next((one for one in pod.status.conditions if one.type == POD_SCHEDULED), None)
        content = (shown.status, shown.reason, shown.message) if shown else ("", "", "")
        return _KnownPodStatus(metadata.resource_version, content, pod.status.nominated_node_name)


def _make_status_patch(
    note: _PodStatusUpdate, known: _KnownPodStatus, now: datetime.datetime
) -> _PodPatch:
    """Return a strategic merge patch, which merges conditions by type and keeps absent fields."""
    metadata = note.pod.metadata
    conditions: tuple[status_patch.ConditionPatch, ...] = ()
    if note.content is not None:
        status, reason, message = note.content
        since = now
        if note.since_seconds is not None:
            since = datetime.datetime.fromtimestamp(note.since_seconds, datetime.UTC)
        # The pod waits since its first attempt, not since its gates were set. Policies that read
        # this time may come later. (kube-scheduler leaves the time of the gates.)
        is_old = known.content[0] == status and known.content[1] != SCHEDULING_GATED
        condition = status_patch.ConditionPatch(
            type=POD_SCHEDULED,
            status=status,
            reason=reason,
            message=message,
            last_transition_time=None if is_old else time_text.format_rfc3339(since),
            observed_generation=metadata.generation,
        )
        conditions = (condition,)
    nominated = note.nominated_node_name
    return _PodPatch(
        _PodPreconditions(metadata.uid, known.resource_version),
        _StatusPatch(conditions, msgspec.UNSET if nominated is None else nominated),
    )


def _read_resource_version(body: bytes) -> str:
    """Return the resource version of the object in an answer."""
    try:
        return msgspec.json.decode(body, type=decoding.VersionedObject).metadata.resource_version
    except wire.UNREADABLE as error:
        raise errors.UndecodableAnswerError(f"the answer is not an object: {error}") from error
