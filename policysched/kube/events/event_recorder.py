"""Kubernetes events, nearly all about pods, written behind everything else.

`record` only takes a note; `run` writes. Events of one pod are written in order, those of different
pods several at a time (LANES, each pod in one of them). When more than QUEUE_LIMIT are waiting, new
ones are dropped and counted. Equal events become one with a count, see `event_series`.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import enum
import itertools
import logging
from typing import NoReturn

from policysched import clock as clocks
from policysched.cluster.pods import pod_shape
from policysched.kube import errors
from policysched.kube.events import event_formats, event_series
from policysched.kube.http import client

_logger = logging.getLogger(__name__)

LANES = 8
QUEUE_LIMIT = 10_000

_CUT_MARK = " ..."
_NORMAL = "Normal"
_SYSTEM_NAMESPACE = "kube-system"
_CLUSTER = event_series.InvolvedObject(
    _SYSTEM_NAMESPACE, _SYSTEM_NAMESPACE, uid="", resource_version="", kind="Namespace"
)
_POD_NAME_LIMIT = 230  # of 253 for the event's name; the rest is the time

_LOOK_SECONDS = 30.0
"""Between two looks for series that have ended: each pod leaves a kilobyte until then."""

_TELL_AGAIN_SECONDS = 300.0
"""Between two lines of the log about writes that fail for the same cause."""

WRITE_POLICY = client.CallRetryPolicy(timeout_seconds=15.0, max_attempts=12)
"""Patient, as client-go (maxTriesPerEvent). A repeated POST does not write twice: it has a name."""


class ApiEventRecorder:
    """Writes events through the API server.

    Attributes:
        dropped: how many events found no room.
        failed: how many writes were given up.
    """

    def __init__(
        self,
        api: client.ApiClient,
        clock: clocks.Clock,
        *,
        instance: str = "",
        form: event_formats.EventFormat | None = None,
        sleep: client.Sleep = asyncio.sleep,
        queue_limit: int = QUEUE_LIMIT,
    ) -> None:
        """Prepare; nothing is written until `run` runs.

        Args:
            api: the connection.
            clock: gives the events their times.
            instance: which of several equal processes this one is, such as `policysched-<host>`;
                the form of core/v1 does not tell it.
            form: how events are written; None for events.k8s.io/v1.
            sleep: how to wait between two looks for series that have ended.
            queue_limit: how many events may wait.
        """
        self.dropped = 0
        self.failed = 0
        self._api = api
        self._clock = clock
        self._form = form or event_formats.EventsV1Format(instance)
        self._sleep = sleep
        self._queue_limit = queue_limit
        self._series = event_series.RecentEvents()
        self._numbers = itertools.count()
        self._lanes: tuple[asyncio.Queue[event_series.CountedEvent], ...] = tuple(
            asyncio.Queue() for _ in range(LANES)
        )
        self._told_at: dict[str, datetime.datetime] = {}  # when failures of a kind were logged

    @property
    def waiting_count(self) -> int:
        """How many events are waiting to be written."""
        return sum(lane.qsize() for lane in self._lanes)

    def record(  # noqa: PLR0913 - the fields of an event
        self,
        pod: pod_shape.PodInfo,
        event_type: enum.Enum,
        reason: str,
        action: str,
        note: str,
        reporting_controller: str,
        *,
        equal_by: str | None = None,
    ) -> None:
        """Note an event about `pod`; never blocks.

        A Normal one happens to a pod once, so it is not remembered to be counted up: each pod that
        is bound would be, for minutes.

        Args:
            pod: what it is about.
            event_type: its value is `Normal` or `Warning`.
            reason: why, in one word.
            action: what was being done, in one word.
            note: one sentence, cut where the form has a limit.
            reporting_controller: the scheduler's name.
            equal_by: compared with that of earlier events, instead of the note.
        """
        meta = pod.pod.metadata
        about = event_series.InvolvedObject(
            meta.namespace, meta.name, meta.uid, meta.resource_version
        )
        text = (
            str(event_type.value),
            reason,
            action,
            self._truncate_note(note),
            reporting_controller,
        )
        if text[0] == _NORMAL:
            self._enqueue_new_event(about, text)
            return
        compared = text if equal_by is None else (*text[:3], equal_by, reporting_controller)
        self._queue_or_count_event(about, text, compared)

    def record_object_event(
        self,
        about: event_series.InvolvedObject,
        event_type: str,
        reason: str,
        action: str,
        note: str,
    ) -> None:
        """Note an event about an object that is no pod; never blocks."""
        text = (event_type, reason, action, self._truncate_note(note), self._form.controller)
        self._queue_or_count_event(about, text, text)

    def record_event_without_object(
        self, event_type: str, reason: str, action: str, note: str
    ) -> None:
        """Note an event that is about no object of the cluster; never blocks.

        It is about the namespace of the cluster's own components, for an event has to be about
        something.
        """
        self.record_object_event(_CLUSTER, event_type, reason, action, note)

    def _queue_or_count_event(
        self,
        about: event_series.InvolvedObject,
        text: tuple[str, str, str, str, str],
        compared: tuple[str, ...],
    ) -> None:
        """Queue an event, or count an earlier one up that is equal in what is compared."""
        now = self._clock.now()
        key = (about.kind, about.namespace, about.name, about.uid, compared)
        event = self._series.count_repeated_event(key, now)
        if event is not None:
            if event.is_count_update_due(now):
                self._enqueue_event(event)
            return
        event = self._enqueue_new_event(about, text)
        if event is not None:
            self._enqueue_final_count(self._series.add_event(key, event))

    async def run(self) -> NoReturn:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            for lane in self._lanes:
                group.create_task(self._write_lane(lane))
            group.create_task(self._run_series_finishing())
        raise AssertionError  # the tasks do not return

    async def flush(self) -> None:
        """Return when everything noted so far is written or given up; `run` must be running."""
        for lane in self._lanes:
            await lane.join()

    def _enqueue_new_event(
        self, about: event_series.InvolvedObject, text: tuple[str, str, str, str, str]
    ) -> event_series.CountedEvent | None:
        """Queue an event that occurs for the first time; None where there is no room."""
        if self.waiting_count >= self._queue_limit:
            self.dropped += 1
            return None
        now = self._clock.now()
        name = self._make_event_name(about.name, now)
        event = event_series.CountedEvent(name, about, text, first_at=now, last_at=now)
        self._enqueue_event(event)
        return event

    def _enqueue_event(self, event: event_series.CountedEvent) -> None:
        if not event.is_waiting:
            event.is_waiting = True
            self._lanes[hash(event.pod.uid) % LANES].put_nowait(event)

    def _enqueue_final_count(self, event: event_series.CountedEvent | None) -> None:
        """See to the final count of an event that is forgotten."""
        if event is not None and event.is_server_behind:
            self._enqueue_event(event)

    async def _run_series_finishing(self) -> NoReturn:
        while True:
            await self._sleep(_LOOK_SECONDS)
            for event in self._series.pop_idle_events(self._clock.now()):
                self._enqueue_final_count(event)

    async def _write_lane(self, lane: asyncio.Queue[event_series.CountedEvent]) -> NoReturn:
        while True:
            event = await lane.get()
            event.is_waiting = False
            try:
                await self._write_event(event)
            except errors.FencedWriteError:
                pass  # it is the next leader's to say
            except errors.KubeError as error:
                self._count_and_log_failure(error)
            finally:
                lane.task_done()

    async def _write_event(self, event: event_series.CountedEvent) -> None:
        """Bring the server's event to what we know."""
        count = event.count
        if event.written_count == 0 or not await self._patch_event_count(event):
            await self._post_event(event)
        event.written_count = count
        event.written_at = self._clock.now()

    async def _post_event(self, event: event_series.CountedEvent) -> None:
        path, body = self._form.make_event_post_request(event)
        with contextlib.suppress(errors.ConflictError):  # an attempt before had arrived
            await self._api.send_request("POST", path, body, policy=WRITE_POLICY)

    async def _patch_event_count(self, event: event_series.CountedEvent) -> bool:
        """Write the count; False where the server has forgotten the event (after an hour)."""
        path, body = self._form.make_event_count_patch_request(event)
        try:
            await self._api.send_request(
                "PATCH", path, body, content_type=client.MERGE_PATCH, policy=WRITE_POLICY
            )
        except errors.NotFoundError:
            return False
        return True

    def _make_event_name(self, pod_name: str, now: datetime.datetime) -> str:
        """Return `<pod>.<nanoseconds in hex>` as client-go; below microseconds it is a counter."""
        microseconds = round(now.timestamp() * 1_000_000)
        unique = microseconds * 1000 + next(self._numbers) % 1000
        return f"{pod_name[:_POD_NAME_LIMIT].rstrip('-.')}.{unique:x}"

    def _count_and_log_failure(self, error: errors.KubeError) -> None:
        """Count a failure; tell of those of a kind now and then, for there may be many.

        Others may well be written meanwhile, as in a cluster where one namespace is being deleted.
        """
        self.failed += 1
        kind = getattr(error, "reason", type(error).__name__)
        now = self._clock.now()
        told_at = self._told_at.get(kind)
        if told_at is None or (now - told_at).total_seconds() >= _TELL_AGAIN_SECONDS:
            self._told_at[kind] = now
            _logger.warning("events are not written: %s", error)

    def _truncate_note(self, note: str) -> str:
        """Return the note, its end replaced by an ellipsis where it is too long."""
        limit_bytes = self._form.note_limit_bytes
        if len(note) <= limit_bytes // 4:  # no character is longer than four bytes
            return note
        encoded = note.encode()
        if len(encoded) <= limit_bytes:
            return note
        return encoded[: limit_bytes - len(_CUT_MARK)].decode(errors="ignore") + _CUT_MARK
