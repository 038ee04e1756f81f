"""Report on policies through metrics, events on the ConfigMap, and a debug page."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable

from prometheus_client import core

from policysched.kube import config_maps
from policysched.observability import event_recorders
from policysched.reload import state as states
from policysched.serving import http_server

PATH = "/debug/policies"

_ACTION = "Reloading"


def collect_reload_metrics(state: states.PolicyState) -> Iterable[core.Metric]:
    """Yield metrics about the version in use, and about loaded and refused versions."""
    reloads = core.CounterMetricFamily(
        "policysched_reload",
        "Versions of the policies that were offered since the start, by outcome.",
        labels=("result",),
    )
    for result in (states.OfferOutcome.LOADED, states.OfferOutcome.REFUSED):
        reloads.add_metric((result.value,), state.reloads[result])
    yield reloads
    info = core.GaugeMetricFamily(
        "policysched_policy_info", "1 for the version in use.", labels=("hash",)
    )
    info.add_metric((state.current.hash,), 1)
    yield info
    yield core.GaugeMetricFamily(
        "policysched_reload_last_success_timestamp_seconds",
        "Time at which the current version came into use.",
        value=state.current.loaded_at.timestamp(),
    )
    yield core.GaugeMetricFamily(
        "policysched_policy_refused",
        "1 while the newest version is refused or rolled back, and an earlier one is in use.",
        value=int(state.refused is not None),
    )
    yield core.GaugeMetricFamily(
        "policysched_policy_frozen",
        "1 while an annotation holds back other versions.",
        value=int(state.is_frozen),
    )


def make_policies_page(state: states.PolicyState) -> http_server.HttpPage:
    """Return the state and the texts as JSON; see schemas/debug-policies.schema.json."""
    current = state.current
    refused = None
    if state.refused is not None:
        refused = {
            "hash": state.refused.hash or None,
            "at": _format_time(state.refused_at),
            "errors": state.refused.details,
        }
    document = {
        "origin": state.origin,
        "hash": current.hash,
        "loadedAt": _format_time(current.loaded_at),
        "frozen": state.is_frozen,
        "reloads": {
            result.value: state.reloads[result]
            for result in (states.OfferOutcome.LOADED, states.OfferOutcome.REFUSED)
        },
        "refused": refused,
        "rollout": None if state.rollout is None else state.rollout.as_json(),
        "warnings": list(current.warnings),
        "texts": [{"name": text.name, "text": text.text} for text in current.texts],
    }
    return http_server.make_json_page(document)


def _format_time(time: datetime.datetime | None) -> str | None:
    return time.isoformat() if time else None


class PolicyEventRecorder:
    """Records reloads as events on the ConfigMap, which `kubectl describe` shows."""

    def __init__(
        self,
        recorder: event_recorders.ObjectEventRecorder,
        target: Callable[[], config_maps.ConfigMap | None],
        state: states.PolicyState,
    ) -> None:
        """Record events through `recorder` about the ConfigMap that `target` returns."""
        self._recorder = recorder
        self._target = target
        self._state = state

    def record_reload_event(self, event: states.ReloadEvent) -> None:
        """Queue an event about the outcome of an offer."""
        target = self._target()
        if target is None:
            return
        event_type, reason, note = self._describe_event(event)
        self._recorder.record_object_event(
            target.involved_object, event_type, reason, _ACTION, note
        )

    def _describe_event(self, event: states.ReloadEvent) -> tuple[str, str, str]:
        """Return the type, the reason and the note of an event."""
        current = self._state.current.hash
        match event.outcome:
            case states.OfferOutcome.LOADED:
                warning = _format_first_warning(self._state.current.warnings)
                note = f"version {event.hash} is in use{warning}"
                return "Normal", "PoliciesLoaded", note
            case states.OfferOutcome.KEPT:
                return "Normal", "PoliciesLoaded", f"version {event.hash} is still in use"
            case states.OfferOutcome.FROZEN:
                held = f", {event.hash} is held back" if event.hash not in ("", current) else ""
                return "Normal", "PoliciesFrozen", f"version {current} stays in use{held}"
            case states.OfferOutcome.REFUSED:
                what = f"version {event.hash}" if event.hash else "the current content"
                note = f"{what} is refused, {current} stays in use: {event.summary}"
                return "Warning", "PoliciesRefused", note
            case states.OfferOutcome.STAGED:
                rollout = self._state.rollout
                stage = "" if rollout is None else rollout.describe_stage()
                reason = "RolloutStagePassed" if rollout and rollout.stage else "RolloutStarted"
                return "Normal", reason, f"version {event.hash}: {stage}; {current} is in force"
            case states.OfferOutcome.ROLLED_BACK:
                note = f"version {event.hash} is rolled back to {current}: {event.summary}"
                return "Warning", "PoliciesRolledBack", note


def _format_first_warning(warnings: tuple[str, ...]) -> str:
    if not warnings:
        return ""
    more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
    return f", with a warning: {warnings[0]}{more}"
