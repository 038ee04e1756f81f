"""Serve /debug/queue: the pods that wait for a node, each with its queue and its last failure.

Pods whose schedulerName has no profile are in no queue; they are listed beside them.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections import Counter

from policysched import clock as clocks
from policysched.framework import queued_pod
from policysched.framework.answers import rejections
from policysched.observability.live_page import debug_forms
from policysched.queue import scheduling_queue
from policysched.scheduler import decisions
from policysched.scheduler import scheduler as schedulers
from policysched.serving import http_server, json_answers, query_parameters

MOST_PODS = 1000
_DEFAULT_LIMIT = 200
_MAX_MESSAGE_CHARACTERS = 1024
_MAX_NAME_CHARACTERS = 253
"""Limit of a schedulerName, because the API server accepts any text."""
_POD_SCHEDULED = "PodScheduled"


class QueuePage:
    """Makes the page from the scheduling queue."""

    def __init__(self, scheduler: schedulers.Scheduler, clock: clocks.Clock) -> None:
        """Show the waiting pods of `scheduler`, whose monotonic times are those of `clock`."""
        self._queue = scheduler.queue
        self._decisions = scheduler.decisions
        self._unserved = scheduler.events.pods.unserved
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
        latest = {each.uid: each for each in self._decisions}
        page = debug_forms.QueueDocument(
            now.isoformat(timespec="milliseconds"),
            self._queue.in_flight_count,
            self._queue.count_pending_pods(),
            [
                self._describe_pod(name, queued, offset, latest.get(queued.uid))
                for name, queued in itertools.islice(self._queue.iterate_queues(), limit)
            ],
            len(self._unserved),
            [
                debug_forms.UnservedPod(
                    each.key, rejections.cut(each.spec.scheduler_name, _MAX_NAME_CHARACTERS)
                )
                for each in itertools.islice(self._unserved, limit)
            ],
        )
        return json_answers.make_json_answer(page)

    def _describe_pod(
        self,
        name: str,
        queued: queued_pod.QueuedPodInfo,
        offset: datetime.datetime,
        decision: decisions.SchedulingDecision | None,
    ) -> debug_forms.WaitingPod:
        """Describe a pod; `offset` is the wall-clock time of the monotonic time 0."""
        pod = queued.info.pod
        is_backing_off = name == scheduling_queue.BACKOFF
        retry_seconds = self._compute_latest_retry_seconds(name, queued)
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
            created_at=pod.metadata.creation_timestamp or "",
            retry_at="" if retry_seconds is None else _format_time(offset, retry_seconds),
            rejected_by=_list_rejecting_filters(decision),
            gates=[gate.name for gate in pod.spec.scheduling_gates],
        )

    def _compute_latest_retry_seconds(
        self, name: str, queued: queued_pod.QueuedPodInfo
    ) -> float | None:
        """Return the monotonic time at which a timer queues a pod again, or None without a timer.

        A change of the cluster can queue it earlier.
        """
        if name == scheduling_queue.BACKOFF:
            return queued.backoff_until_seconds
        if name != scheduling_queue.UNSCHEDULABLE:
            return None
        settings, next_seconds = self._queue.settings, self._queue.next_flush_seconds
        due_seconds = queued.timestamp_seconds + settings.max_unschedulable_seconds
        flushes = max(0, math.ceil((due_seconds - next_seconds) / settings.flush_interval_seconds))
        flush_seconds = next_seconds + flushes * settings.flush_interval_seconds
        return max(flush_seconds, queued.backoff_until_seconds)


def _list_rejecting_filters(decision: decisions.SchedulingDecision | None) -> list[str]:
    """Return the rules and plugins that rejected nodes, those that rejected the most first."""
    if decision is None:
        return []
    counts: Counter[str] = Counter()
    for each in decision.rejections:
        counts[each.answer.source_name] += each.node_count
    return [name for name, _ in counts.most_common()]


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
