"""What makes a binding be scheduled again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from policysched.karmada import objects
from policysched.karmada.scheduler import triggers

_DIVIDED = {
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Aggregated",
    }
}
_TERMS = {"clusterAffinities": [{"affinityName": "a"}, {"affinityName": "b"}]}


def _binding(
    placement: dict[str, Any], applied: dict[str, Any] | str | None = None, **more: Any
) -> objects.Binding:
    """Return a binding of 3 replicas, all placed, whose placement was applied unless said."""
    text = (
        applied if isinstance(applied, str) else msgspec.json.encode(applied or placement).decode()
    )
    spec = {"replicas": 3, "clusters": [{"name": "m1", "replicas": 3}], "placement": placement}
    status = more.pop("status", {})
    value = {
        "metadata": {"name": "b", "annotations": {triggers.APPLIED_PLACEMENT: text}},
        "spec": spec | more,
        "status": status,
    }
    return msgspec.convert(value, objects.Binding)


@pytest.mark.parametrize(
    "binding, expected",
    [
        (_binding(_DIVIDED), None),
        (_binding(_DIVIDED, ""), triggers.ScheduleTrigger.RECONCILE),
        (_binding(_DIVIDED, "not JSON"), None),
        (_binding(_DIVIDED, '{"replicaScheduling": 1e400}'), None),
        (_binding(_DIVIDED, '{"x": ' + "[" * 100_000), None),
        (_binding(_DIVIDED, _DIVIDED | {"clusterTolerations": []}), None),
        (
            _binding(_DIVIDED, _DIVIDED | {"clusterTolerations": [{"key": "a"}]}),
            triggers.ScheduleTrigger.RECONCILE,
        ),
        (_binding(_DIVIDED, replicas=4), triggers.ScheduleTrigger.SCALE),
        (_binding(_DIVIDED, clusters=[]), triggers.ScheduleTrigger.SCALE),
        (_binding({}), triggers.ScheduleTrigger.RECONCILE),
        (
            _binding({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}, replicas=2),
            triggers.ScheduleTrigger.SCALE,
        ),
        (_binding(_DIVIDED, replicas=0, clusters=[]), triggers.ScheduleTrigger.RECONCILE),
        (
            _binding(
                _DIVIDED,
                rescheduleTriggeredAt="2026-01-02T00:00:00Z",
                status={"lastScheduledTime": "2026-01-01T00:00:00Z"},
            ),
            triggers.ScheduleTrigger.RECONCILE,
        ),
        (
            _binding(_DIVIDED, clusters=[{"name": "gone", "replicas": 3}]),
            triggers.ScheduleTrigger.RECONCILE,
        ),
        (
            _binding(
                _DIVIDED | _TERMS,
                _DIVIDED | {"clusterAffinities": [{"affinityName": "a"}]},
                status={"schedulerObservingAffinityName": "a"},
            ),
            None,
        ),
        (
            _binding(
                _DIVIDED | _TERMS,
                _DIVIDED | {"clusterAffinities": [{"affinityName": "a", "exclude": ["x"]}]},
                status={"schedulerObservingAffinityName": "a"},
            ),
            triggers.ScheduleTrigger.RECONCILE,
        ),
        (
            _binding(_DIVIDED | _TERMS, _DIVIDED | {"clusterAffinities": []}),
            triggers.ScheduleTrigger.RECONCILE,
        ),
    ],
    ids=[
        "complete",
        "never applied",
        "applied unreadably",
        "applied with an infinite number",
        "applied with endless depth",
        "empty list is none",
        "tolerations changed",
        "scaled",
        "emptied",
        "duplicated always",
        "duplicated scaled",
        "no workload always",
        "asked for",
        "cluster leaves",
        "another term came",
        "observed term changed",
        "no term observed",
    ],
)
def test_a_binding_is_scheduled_for_a_reason(
    binding: objects.Binding, expected: triggers.ScheduleTrigger | None
) -> None:
    """Each rule of Karmada, in its order."""
    assert triggers.find_schedule_trigger(binding, {"gone"}) is expected


@pytest.mark.parametrize(
    "said, expected",
    [
        ({"schedulerName": "policysched"}, True),
        ({}, False),
        ({"schedulerName": "policysched", "suspension": {"scheduling": True}}, False),
        ({"schedulerName": "policysched", "suspension": {"scheduling": False}}, True),
    ],
)
def test_bindings_of_others_are_left_alone(said: dict[str, Any], expected: bool) -> None:
    """By name, by suspension, and by the label that a policy leaves."""
    labels = {"propagationpolicy.karmada.io/permanent-id": "x"}
    for given, is_ours in ((labels, expected), ({}, False)):
        value = {"metadata": {"name": "b", "labels": given}, "spec": said}
        assert (
            triggers.is_handled_by_scheduler(msgspec.convert(value, objects.Binding), "policysched")
            is is_ours
        )
