"""Record Kubernetes events, most of them about pods, and write them in the background.

`record` only queues an event; `run` writes the queue. Events about one pod are written in order;
events about different pods are written concurrently (in LANES queues; each pod uses one of them).
If QUEUE_LIMIT events wait, new events are dropped and counted. Repetitions of an event become one
event with a count; see `event_series`.
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
_POD_NAME_LIMIT = 230  # of the 253 characters of an event's name; the time uses the rest

_LOOK_SECONDS = 30.0
"""Interval between searches for ended series; a series uses about a kilobyte until then."""

_TELL_AGAIN_SECONDS = 300.0
"""Minimum interval between two log messages about failed writes with the same cause."""

WRITE_POLICY = client.CallRetryPolicy(timeout_seconds=15.0, max_attempts=12)
"""As many attempts as client-go (maxTriesPerEvent). A repeated POST does not create a second event,
because the event has a name."""


class ApiEventRecorder:
    """Queues events and writes them to the API server.

    Attributes:
        dropped: number of events dropped because the queue was full.
        failed: number of writes abandoned after a failure.
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
        """Create a recorder that writes nothing until `run` is called.

        Args:
            api: sends the writes.
            clock: its wall clock provides the times of events.
            instance: names this process among its replicas, such as `policysched-<host>`; core/v1
                does not contain it.
            form: the format of events; None for events.k8s.io/v1.
            sleep: waits between two searches for ended series.
            queue_limit: maximum number of waiting events.
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
        self._told_at: dict[str, datetime.datetime] = {}  # last log of each kind

    @property
    def waiting_count(self) -> int:
        """Return the number of events that wait to be written."""
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
        """Queue an event about `pod`; never blocks.

        Repeated Normal events are not counted, because each occurs once for a pod; remembering one
        for each bound pod would use memory for minutes.

        Args:
            pod: the pod that the event is about.
            event_type: its value is `Normal` or `Warning`.
            reason: the cause, in one word.
            action: the attempted action, in one word.
            note: one sentence, truncated at the limit of the format.
            reporting_controller: the scheduler's name.
            equal_by: replaces the note in comparisons with earlier events.
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
        """Queue an event about an object that is not a pod; never blocks."""
        text = (event_type, reason, action, self._truncate_note(note), self._form.controller)
        self._queue_or_count_event(about, text, text)

    def record_event_without_object(
        self, event_type: str, reason: str, action: str, note: str
    ) -> None:
        """Queue an event that is not about an object of the cluster; never blocks.

        Every event must name an object, so this event names the namespace `kube-system`.
        """
        self.record_object_event(_CLUSTER, event_type, reason, action, note)

    def _queue_or_count_event(
        self,
        about: event_series.InvolvedObject,
        text: tuple[str, str, str, str, str],
        compared: tuple[str, ...],
    ) -> None:
        """Queue an event, or count an earlier event with the same `compared` values."""
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
        """Write events until cancelled."""
        async with asyncio.TaskGroup() as group:
            for lane in self._lanes:
                group.create_task(self._write_queued_events(lane))
            group.create_task(self._finish_idle_series_periodically())
        raise AssertionError  # the tasks do not return

    async def flush(self) -> None:
        """Wait until all events queued so far are written or abandoned; `run` must be running."""
        for lane in self._lanes:
            await lane.join()

    def _enqueue_new_event(
        self, about: event_series.InvolvedObject, text: tuple[str, str, str, str, str]
    ) -> event_series.CountedEvent | None:
        """Queue a new event; return None if the queue is full."""
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
            # All events about one object use the same lane, which preserves their order.
            self._lanes[hash(event.pod.uid) % LANES].put_nowait(event)

    def _enqueue_final_count(self, event: event_series.CountedEvent | None) -> None:
        """Queue a forgotten event if the server does not have its final count."""
        if event is not None and event.is_server_count_outdated:
            self._enqueue_event(event)

    async def _finish_idle_series_periodically(self) -> NoReturn:
        while True:
            await self._sleep(_LOOK_SECONDS)
            for event in self._series.pop_idle_events(self._clock.now()):
                self._enqueue_final_count(event)

    async def _write_queued_events(
        self, lane: asyncio.Queue[event_series.CountedEvent]
    ) -> NoReturn:
        """Write the events of one lane in order; a failure abandons only its own event."""
        while True:
            event = await lane.get()
            event.is_waiting = False
            try:
                await self._write_event(event)
            except errors.FencedWriteError:
                pass  # the next leader reports it
            except errors.KubeError as error:
                self._count_and_log_failure(error)
            finally:
                lane.task_done()

    async def _write_event(self, event: event_series.CountedEvent) -> None:
        """Create the event on the server or update its count."""
        count = event.count
        if event.written_count == 0 or not await self._patch_event_count(event):
            await self._post_event(event)
        event.written_count = count
        event.written_at = self._clock.now()

    async def _post_event(self, event: event_series.CountedEvent) -> None:
        path, body = self._form.make_event_post_request(event)
        with contextlib.suppress(errors.ConflictError):  # an earlier attempt created the event
            await self._api.send_request("POST", path, body, policy=WRITE_POLICY)

    async def _patch_event_count(self, event: event_series.CountedEvent) -> bool:
        """Write the count; return False if the server no longer has the event (after an hour)."""
        path, body = self._form.make_event_count_patch_request(event)
        try:
            await self._api.send_request(
                "PATCH", path, body, content_type=client.MERGE_PATCH, policy=WRITE_POLICY
            )
        except errors.NotFoundError:
            return False
        return True

    def _make_event_name(self, pod_name: str, now: datetime.datetime) -> str:
        """Return `<pod>.<nanoseconds in hex>`, as in client-go.

        The clock has a resolution of microseconds; a counter supplies the last three digits, so
        that events of the same microsecond have different names.
        """
        microseconds = round(now.timestamp() * 1_000_000)
        unique = microseconds * 1000 + next(self._numbers) % 1000
        return f"{pod_name[:_POD_NAME_LIMIT].rstrip('-.')}.{unique:x}"

    def _count_and_log_failure(self, error: errors.KubeError) -> None:
        """Count a failure; log each kind of failure at most once in _TELL_AGAIN_SECONDS.

        Writes of other events can succeed between failures, for example while only one namespace is
        being deleted.
        """
        self.failed += 1
        kind = getattr(error, "reason", type(error).__name__)
        now = self._clock.now()
        told_at = self._told_at.get(kind)
        if told_at is None or (now - told_at).total_seconds() >= _TELL_AGAIN_SECONDS:
            self._told_at[kind] = now
            _logger.warning("events are not written: %s", error)

    def _truncate_note(self, note: str) -> str:
        """Return the note, truncated with an ellipsis if it exceeds the limit of the format."""
        limit_bytes = self._form.note_limit_bytes
        if len(note) <= limit_bytes // 4:  # a character has at most four bytes
            return note
        encoded = note.encode()
        if len(encoded) <= limit_bytes:
            return note
        return encoded[: limit_bytes - len(_CUT_MARK)].decode(errors="ignore") + _CUT_MARK
