"""Formats of events: events.k8s.io/v1 and the older core/v1.

The API server stores one object for both. Only core/v1 can set the field `source`, which names the
reporting component; in events.k8s.io/v1, only `reportingController` names it.
"""

from __future__ import annotations

import datetime
from typing import Protocol

import msgspec

from policysched.cluster.objects import time_text
from policysched.kube.events import event_series
from policysched.kube.writing import paths

WORD_LIMIT = 128
"""Length limit of reason, action and reportingInstance (pkg/apis/core/validation/events.go)."""

_DEFAULT_NAMESPACE = "default"
"""Namespace of events about objects without a namespace (client-go, tools/record)."""

_encoder = msgspec.json.Encoder()


class EventFormat(Protocol):
    """Serialises events for one version of the events API.

    Attributes:
        note_limit_bytes: longer notes are truncated.
        controller: the reporting controller of events about objects that are not pods.
    """

    note_limit_bytes: int
    controller: str

    def make_event_post_request(self, event: event_series.CountedEvent) -> tuple[str, bytes]:
        """Return the path and the body of the POST that creates an event."""
        ...

    def make_event_count_patch_request(self, event: event_series.CountedEvent) -> tuple[str, bytes]:
        """Return the event's path and a merge patch that updates its count."""
        ...


class _EventMeta(msgspec.Struct, frozen=True):
    name: str
    namespace: str


# --- events.k8s.io/v1 ----------------------------------------------------------------------------


class _EventSeries(msgspec.Struct, frozen=True, rename="camel"):
    count: int
    last_observed_time: str


class _EventsV1Event(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _EventMeta
    event_time: str
    reporting_controller: str
    reporting_instance: str
    action: str
    reason: str
    regarding: event_series.InvolvedObject
    note: str
    type: str
    series: _EventSeries | msgspec.UnsetType = msgspec.UNSET
    api_version: str = "events.k8s.io/v1"
    kind: str = "Event"


class _EventSeriesPatch(msgspec.Struct, frozen=True):
    series: _EventSeries


class EventsV1Format:
    """events.k8s.io/v1, as in kube-scheduler."""

    note_limit_bytes = 1024  # pkg/apis/core/validation/events.go
    controller = "policysched"

    def __init__(self, instance: str) -> None:
        """Report events as `instance`, the name of this process, such as `policysched-<host>`."""
        self._instance = instance[:WORD_LIMIT]

    def make_event_post_request(self, event: event_series.CountedEvent) -> tuple[str, bytes]:
        """Return the path and the body."""
        event_type, reason, action, note, reporting_controller = event.text
        series = _EventSeries(event.count, format_micro_time(event.last_at))
        body = _EventsV1Event(
            metadata=_EventMeta(event.name, event.pod.namespace),
            event_time=format_micro_time(event.first_at),
            reporting_controller=reporting_controller,
            reporting_instance=self._instance,
            action=action[:WORD_LIMIT],
            reason=reason[:WORD_LIMIT],
            regarding=event.pod,
            note=note,
            type=event_type,
            series=series if event.count > 1 else msgspec.UNSET,
        )
        return paths.format_events_path(event.pod.namespace), _encoder.encode(body)

    def make_event_count_patch_request(self, event: event_series.CountedEvent) -> tuple[str, bytes]:
        """Return the path and the patch."""
        patch = _EventSeriesPatch(_EventSeries(event.count, format_micro_time(event.last_at)))
        return paths.format_event_path(event.pod.namespace, event.name), _encoder.encode(patch)


# --- core/v1 -------------------------------------------------------------------------------------


class _EventSource(msgspec.Struct, frozen=True):
    component: str


class _CoreEvent(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _EventMeta
    involved_object: event_series.InvolvedObject
    reason: str
    message: str
    source: _EventSource
    first_timestamp: str
    last_timestamp: str
    count: int
    type: str
    reporting_component: str
    api_version: str = "v1"
    kind: str = "Event"


class _EventCountPatch(msgspec.Struct, frozen=True, rename="camel"):
    count: int
    last_timestamp: str


class CoreV1EventFormat:
    """core/v1, as in Karmada (client-go, tools/record/event.go)."""

    note_limit_bytes = 32 * 1024
    """The API has no limit for notes; only etcd limits the size of the whole object."""

    def __init__(self, controller: str) -> None:
        """Report events as the component `controller`."""
        self.controller = controller

    def make_event_post_request(self, event: event_series.CountedEvent) -> tuple[str, bytes]:
        """Return the path and the body."""
        event_type, reason, _, note, component = event.text
        namespace = event.pod.namespace or _DEFAULT_NAMESPACE
        body = _CoreEvent(
            metadata=_EventMeta(event.name, namespace),
            involved_object=event.pod,
            reason=reason[:WORD_LIMIT],
            message=note,
            source=_EventSource(component),
            first_timestamp=time_text.format_rfc3339(event.first_at),
            last_timestamp=time_text.format_rfc3339(event.last_at),
            count=event.count,
            type=event_type,
            reporting_component=component,
        )
        return paths.format_core_events_path(namespace), _encoder.encode(body)

    def make_event_count_patch_request(self, event: event_series.CountedEvent) -> tuple[str, bytes]:
        """Return the path and the patch."""
        patch = _EventCountPatch(event.count, time_text.format_rfc3339(event.last_at))
        namespace = event.pod.namespace or _DEFAULT_NAMESPACE
        return paths.format_core_event_path(namespace, event.name), _encoder.encode(patch)


def format_micro_time(time: datetime.datetime) -> str:
    """Format `time` as metav1.MicroTime: RFC 3339 with microseconds."""
    return time.astimezone(datetime.UTC).isoformat(timespec="microseconds")
