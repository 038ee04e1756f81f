"""Record events about bindings, and the same events about their resource templates."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from policysched.kube.events import event_series

if TYPE_CHECKING:
    from policysched.karmada import objects
    from policysched.kube.events import event_recorder
    from policysched.observability import event_recorders

_log = logging.getLogger("policysched")

_API_VERSION = "work.karmada.io/v1alpha2"
_ACTION = "Scheduling"
_FLUSH_SECONDS = 5.0


class ApiBindingEventRecorder:
    """Records events; see `karmada.scheduler.binding_scheduler.BindingEventRecorder`."""

    def __init__(self, recorder: event_recorders.ObjectEventRecorder) -> None:
        """Record events through `recorder`."""
        self._recorder = recorder

    def record(self, binding: objects.Binding, event_type: str, reason: str, note: str) -> None:
        """Queue an event about the binding, and the same event about its resource template."""
        for about in (
            _make_binding_reference(binding),
            _make_resource_template_reference(binding.spec.resource),
        ):
            self._recorder.record_object_event(about, event_type, reason, _ACTION, note)


def _make_binding_reference(binding: objects.Binding) -> event_series.InvolvedObject:
    meta = binding.metadata
    return event_series.InvolvedObject(
        meta.namespace, meta.name, meta.uid, meta.resource_version, _API_VERSION, binding.kind
    )


def _make_resource_template_reference(
    resource: objects.ObjectReference,
) -> event_series.InvolvedObject:
    """Return the object reference of a resource template, for events."""
    return event_series.InvolvedObject(
        resource.namespace,
        resource.name,
        resource.uid,
        resource_version="",
        api_version=resource.api_version,
        kind=resource.kind,
    )


async def flush_binding_events(recorder: event_recorder.ApiEventRecorder) -> None:
    """Write pending events within a timeout; log a warning if some remain."""
    try:
        async with asyncio.timeout(_FLUSH_SECONDS):
            await recorder.flush()
    except TimeoutError:
        _log.warning("some events were not written before shutdown")
