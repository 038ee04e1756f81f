"""Serve /debug/queue: the pods that wait for a node, each with its queue and its last failure."""

from __future__ import annotations

import datetime
import itertools

from policysched import clock as clocks
from policysched.framework import queued_pod
from policysched.framework.answers import rejections
from policysched.observability.live_page import debug_forms
from policysched.queue import scheduling_queue
from policysched.serving import http_server, json_answers, query_parameters

MOST_PODS = 1000
_DEFAULT_LIMIT = 200
_MAX_MESSAGE_CHARACTERS = 1024
_POD_SCHEDULED = "PodScheduled"


class QueuePage:
    """Makes the page from the scheduling queue."""

    def __init__(self, queue: scheduling_queue.SchedulingQueue, clock: clocks.Clock) -> None:
        """Show the pods of `queue`, whose monotonic times are those of `clock`."""
        self._queue = queue
        self._clock = clock

    def make_page(self, query: http_server.QueryParameters) -> http_server.HttpPage:
        """Return at most `limit` pods, by default 200; see `debug_forms.QueueDocument`.

        Raises:
            ParameterError: a parameter is unknown or invalid.
        """
        query_parameters.check_names(query, ("limit",))
        limit = query_parameters.parse_count(query, "limit", _DEFAULT_LIMIT, MOST_PODS)
        now = self._clock.now()
        offset = now - datetime.timedelta(seconds=self._clock.monotonic_seconds())
        page = debug_forms.QueueDocument(
            now.isoformat(timespec="milliseconds"),
            self._queue.in_flight_count,
            self._queue.count_pending_pods(),
            [
                self._describe_pod(name, queued, offset)
                for name, queued in itertools.islice(self._queue.iterate_queues(), limit)
            ],
        )
        return json_answers.make_json_answer(page)

    def _describe_pod(
        self, name: str, queued: queued_pod.QueuedPodInfo, offset: datetime.datetime
    ) -> debug_forms.WaitingPod:
        """Describe a pod; `offset` is the wall-clock time of the monotonic time 0."""
        pod = queued.info.pod
        is_backing_off = name == scheduling_queue.BACKOFF
        plugins = queued.unschedulable_plugins | queued.pending_plugins
        return debug_forms.WaitingPod(
            pod=queued.info.key,
            uid=queued.uid,
            profile=pod.spec.scheduler_name,
            priority=pod.spec.priority or 0,
            queue=name,
            since=_format_time(offset, queued.timestamp_seconds),
            attempts=queued.attempts,
            backoff_until=_format_time(offset, queued.backoff_until_seconds)
            if is_backing_off
            else "",
            plugins=sorted(plugins | ({queued.gating_plugin} if queued.is_gated else set())),
            message=rejections.cut(_find_message(queued), _MAX_MESSAGE_CHARACTERS),
            nominated_node=self._queue.nominator.get_nominated_node(queued.uid) or "",
        )


def _find_message(queued: queued_pod.QueuedPodInfo) -> str:
    """Return the message of the last failure as written, or as another process wrote it."""
    _, message = queued.reported
    if message:
        return message
    return next(
        (
            each.message
            for each in queued.info.pod.status.conditions
            if each.type == _POD_SCHEDULED and each.status == "False"
        ),
        "",
    )


def _format_time(offset: datetime.datetime, monotonic_seconds: float) -> str:
    time = offset + datetime.timedelta(seconds=monotonic_seconds)
    return time.isoformat(timespec="milliseconds")
