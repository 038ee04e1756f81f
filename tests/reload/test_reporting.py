"""What people are told about policies."""

from __future__ import annotations

import prometheus_client
import pytest
from prometheus_client import exposition, parser

from policysched.cluster.objects import objects
from policysched.kube import config_maps
from policysched.kube.events import event_series
from policysched.lang import source
from policysched.observability import exporter
from policysched.reload import reporting, versions
from policysched.reload import state as states
from tests import builders
from tests.observability import kept_events, page_forms

REFUSAL = versions.VersionRefusal(
    "bad0", "a.policy:1:1: PS001: oh", "error[PS001]: oh", ValueError()
)
META = objects.ObjectMeta(name="policies", namespace="prod", uid="u", resource_version="7")


def _state() -> states.PolicyState:
    texts = (source.SourceText("a.policy", "text"),)
    return states.PolicyState("here", states.VersionInUse("900d", texts, builders.EPOCH))


def _metrics(state: states.PolicyState) -> dict[str, float]:
    own = exporter.MetricsExporter()
    registry = prometheus_client.CollectorRegistry()
    own.registry = registry
    own.add_collector(lambda: reporting.collect_reload_metrics(state))
    text = exposition.generate_latest(registry).decode()
    return {
        sample.name + "".join(f"[{value}]" for value in sample.labels.values()): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics() -> None:
    """Which version is in use, since when, and whether another one is wanted."""
    state = _state()
    expected = {
        "policysched_reload_total[loaded]": 0,
        "policysched_reload_total[refused]": 0,
        "policysched_policy_info[900d]": 1,
        "policysched_reload_last_success_timestamp_seconds": builders.EPOCH.timestamp(),
        "policysched_policy_refused": 0,
        "policysched_policy_frozen": 0,
    }
    assert _metrics(state) == expected
    state.record_refusal(REFUSAL, builders.EPOCH)
    state.is_frozen = True
    assert _metrics(state) == expected | {
        "policysched_reload_total[refused]": 1,
        "policysched_policy_refused": 1,
        "policysched_policy_frozen": 1,
    }


def test_the_page_has_the_texts_and_the_errors() -> None:
    """What decides, and what was to decide."""
    state = _state()
    assert page_forms.read("policies", reporting.make_policies_page(state).body)["refused"] is None
    state.record_refusal(REFUSAL, builders.EPOCH)
    said = page_forms.read("policies", reporting.make_policies_page(state).body)
    assert said == {
        "origin": "here",
        "rollout": None,
        "hash": "900d",
        "loadedAt": "2026-01-05T12:00:00+00:00",
        "frozen": False,
        "reloads": {"loaded": 0, "refused": 1},
        "refused": {
            "hash": "bad0",
            "at": "2026-01-05T12:00:00+00:00",
            "errors": "error[PS001]: oh",
        },
        "warnings": [],
        "texts": [{"name": "a.policy", "text": "text"}],
    }


@pytest.mark.parametrize(
    "told, event_type, reason, note",
    [
        pytest.param(
            states.ReloadEvent(states.OfferOutcome.LOADED, "11e7"),
            *("Normal", "PoliciesLoaded", "version 11e7 is in use"),
            id="loaded",
        ),
        pytest.param(
            states.ReloadEvent(states.OfferOutcome.KEPT, "900d"),
            *("Normal", "PoliciesLoaded", "version 900d is still in use"),
            id="kept",
        ),
        pytest.param(
            states.ReloadEvent(states.OfferOutcome.FROZEN, "11e7"),
            *("Normal", "PoliciesFrozen", "version 900d stays in use, 11e7 is held back"),
            id="held-back",
        ),
        pytest.param(
            states.ReloadEvent(states.OfferOutcome.FROZEN, "900d"),
            *("Normal", "PoliciesFrozen", "version 900d stays in use"),
            id="frozen",
        ),
        pytest.param(
            states.ReloadEvent(states.OfferOutcome.REFUSED, "bad0", "all", "a.policy:1:1: oh"),
            *("Warning", "PoliciesRefused"),
            "version bad0 is refused, 900d stays in use: a.policy:1:1: oh",
            id="refused",
        ),
        pytest.param(
            states.ReloadEvent(states.OfferOutcome.REFUSED, "", "gone", "gone"),
            *("Warning", "PoliciesRefused"),
            "the current content is refused, 900d stays in use: gone",
            id="gone",
        ),
    ],
)
def test_events(told: states.ReloadEvent, event_type: str, reason: str, note: str) -> None:
    """They are about the ConfigMap."""
    recorder = kept_events.KeptEvents()
    events = reporting.PolicyEventRecorder(recorder, lambda: config_maps.ConfigMap(META), _state())
    events.record_reload_event(told)
    assert recorder.events == [(event_type, reason, "Reloading", note)]
    assert recorder.about == [
        event_series.InvolvedObject("prod", "policies", "u", "7", "v1", "ConfigMap")
    ]


def test_without_a_config_map_there_is_no_event() -> None:
    """There has never been one."""
    recorder = kept_events.KeptEvents()
    told = states.ReloadEvent(states.OfferOutcome.REFUSED, "")
    reporting.PolicyEventRecorder(recorder, lambda: None, _state()).record_reload_event(told)
    assert recorder.events == []


def test_a_listener_that_fails_keeps_nobody_from_being_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its failure is logged."""
    state = _state()
    told: list[states.ReloadEvent] = []
    state.listeners += [lambda _told: 1 // 0, told.append]  # type: ignore[list-item]  # it fails
    state.record_unchanged_offer()
    assert [each.outcome for each in told] == [states.OfferOutcome.KEPT]
    assert "a listener failed" in caplog.text


def test_an_event_tells_what_an_author_should_know() -> None:
    """The first warning; the log and the page have all of them."""
    recorder = kept_events.KeptEvents()
    state = _state()
    events = reporting.PolicyEventRecorder(recorder, lambda: config_maps.ConfigMap(META), state)
    state.listeners.append(events.record_reload_event)
    state.record_loaded_version(
        states.VersionInUse("11e7", (), builders.EPOCH, ("a:1:1: PS804: old", "b"))
    )
    (event,) = recorder.events
    assert event[3] == "version 11e7 is in use, with a warning: a:1:1: PS804: old (and 1 more)"
    assert page_forms.read("policies", reporting.make_policies_page(state).body)["warnings"] == [
        "a:1:1: PS804: old",
        "b",
    ]
