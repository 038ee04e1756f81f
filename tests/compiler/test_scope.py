"""Whom policies and rules are for, and when: scopes, disabled rules, hours, tolerations."""

from __future__ import annotations

import datetime

import pytest

from policysched.cluster.objects import objects
from policysched.compiler.pods import scope
from policysched.framework import cycle_state
from policysched.lang.checked import activation
from policysched.plugins.kernels import tolerations
from tests import builders
from tests.compiler import desk

ZONES = [desk.node("a", zone="a"), desk.node("b", zone="b")]


@pytest.mark.parametrize(
    "selection, pod, selected",
    [
        ("", desk.pod(), True),
        ("in namespace (prod)", desk.pod(), False),
        ("in namespace (prod, default)", desk.pod(), True),
        ("in namespace where team = a", desk.pod(), True),
        ("in namespace where team != a", desk.pod(), False),
        ("in namespace where team = a", builders.make_pod("p", "unknown"), False),
        ("where app In (web, api)", desk.pod(app="api"), True),
        ("where app In (web, api) and tier != batch", desk.pod(app="api", tier="batch"), False),
        ("where not (app = web or tier Exists)", desk.pod(app="db"), True),
        ("where priority >= 100", desk.pod().priority(100), True),
        ("where priority < 0", desk.pod(), False),
        ("where requests(cpu) > 1", desk.pod().requests(cpu="1500m"), True),
        ('where requests("nvidia.com/gpu") = 0', desk.pod(), True),
        ('where annotation("example.com/tier") = gold', desk.pod(), False),
        (
            'where annotation("example.com/tier") = gold',
            desk.pod().annotations({"example.com/tier": "gold"}),
            True,
        ),
        ('where image In ("host/team/*")', desk.pod().image("host/team/web:1"), True),
        ("where image NotIn (web)", desk.pod().image("web:1.2"), False),
        ("where ownerKind = Job", desk.pod().owner("Job", "j"), True),
        ("where owner(name) = j", desk.pod().owner("Job", "j"), True),
        ("where owner(name) != j", desk.pod().owner("Job", "j"), False),
        ("where owner(name) Exists", desk.pod(), False),
        ("where qosClass = BestEffort", desk.pod().requests(cpu="1"), False),
        ("where serviceAccountName = robot", desk.pod().spec(service_account_name="robot"), True),
        ("where priorityClassName Exists", desk.pod(), False),
        ("where priorityClassName Exists", desk.pod().spec(priority_class_name="high"), True),
    ],
)
def test_scope_of_a_policy(selection: str, pod: builders.PodBuilder, selected: bool) -> None:
    """A policy acts on the pods that it selects and on no other."""
    text = f"policy p {{ for pods {selection} nodeAffinity required zone = a }}"
    there = desk.Desk(text, ZONES, {"default": {"team": "a"}})
    assert there.feasible(pod) == (["a"] if selected else ["a", "b"])


def test_scope_follows_the_labels_of_namespaces() -> None:
    """A namespace that is relabelled changes sides at once, for equal pods too."""
    text = "policy p { for pods in namespace where team = a nodeAffinity required zone = a }"
    there = desk.Desk(text, ZONES, {"default": {}})
    assert there.feasible(desk.pod()) == ["a", "b"]
    there.cache.set_namespace("default", {"team": "a"})
    assert there.feasible(desk.pod()) == ["a"]


def test_a_pod_that_no_rule_is_for_runs_no_rule() -> None:
    """Rules out of scope are left out of the cycle of equal pods altogether."""
    rules = " ".join(f"nodeAffinity required zone{i} DoesNotExist" for i in range(50))
    text = f"policy p {{ for pods where app = web {rules} }}"
    there = desk.Desk(text, ZONES)
    framework = there.frameworks[None]
    cycle = framework._begin(there.shapes.make_pod_info(desk.pod().build()), there.cache.snapshot())
    assert framework._filters.pre_filter(cycle).plan.stages == []


@pytest.mark.parametrize("rule", ["reject when pod(app = web) and node(zone = a)"])
def test_a_rule_that_cannot_hold_for_the_pod_is_left_out(rule: str) -> None:
    """What the condition says of the pod is decided once for equal pods."""
    there = desk.Desk(f"policy p {{ for pods {rule} }}", ZONES)
    framework = there.frameworks[None]
    cycle = framework._begin(there.shapes.make_pod_info(desk.pod().build()), there.cache.snapshot())
    assert framework._filters.pre_filter(cycle).plan.stages == []
    assert there.feasible(desk.pod(app="web")) == ["b"]


def test_disable_acts_on_the_pods_of_the_disabling_policy() -> None:
    """And only within the profile that has that policy."""
    text = """
    policy web { for pods where app = web nodeAffinity required zone = a as there }
    policy debugging { for pods where debug Exists disable web.there }
    profile both { policies web, debugging }
    profile strict { policies web }
    """
    there = desk.Desk(text, ZONES)
    debugged = desk.pod(app="web", debug="")
    assert there.feasible(desk.pod(app="web"), "both") == ["a"]
    assert there.feasible(debugged, "both") == ["a", "b"]
    assert there.feasible(debugged, "strict") == ["a"]


# --- time ----------------------------------------------------------------------------------------


def test_rules_act_during_their_hours_only() -> None:
    """The answer for equal pods changes when the window opens and closes."""
    text = 'policy p { for pods nodeAffinity required zone = a during "Mon 12:10-12:20" }'
    there = desk.Desk(text, ZONES)
    found = []
    for _ in range(4):
        found.append(there.feasible(desk.pod()))
        there.clock.advance(6 * 60)
    assert found == [["a", "b"], ["a", "b"], ["a"], ["a"]]
    assert there.feasible(desk.pod()) == ["a", "b"]


def test_an_expired_rule_is_inert() -> None:
    """From its expiry on, without a reload."""
    text = 'policy p { for pods nodeAffinity required zone = a expires "2026-01-05T12:05:00Z" }'
    there = desk.Desk(text, ZONES)
    assert there.feasible(desk.pod()) == ["a"]
    there.clock.advance(300)
    assert there.feasible(desk.pod()) == ["a", "b"]


def test_the_program_knows_when_a_rule_next_changes() -> None:
    """The earliest of all windows and expiries, None when nothing is left."""
    text = """policy p {
      for pods
      nodeAffinity required zone = a during "Mon 12:10-12:20 UTC" expires "2026-01-05"
      tolerate spot expires "2026-01-05T12:05:00Z"
    }"""
    (compiled,) = desk.Desk(text).program.profiles
    minutes = datetime.timedelta(minutes=1)
    changes: list[float | None] = []
    now: datetime.datetime | None = builders.EPOCH
    while now is not None and len(changes) < 9:
        now = compiled.next_change(now)
        changes.append((now - builders.EPOCH) / minutes if now else None)
    assert changes == [5, 10, 20, None]


def test_a_timetable_is_looked_up_once_per_change() -> None:
    """Between two changes the answer is kept, whichever pod asks."""
    window = activation.TimeWindow(frozenset(range(7)), 13 * 60, 14 * 60)
    table = scope.Timetable(activation.RuleActivation((window,), "UTC", None))
    state = cycle_state.CycleState()
    assert not table.is_active(builders.EPOCH, state)
    hour = datetime.timedelta(hours=1)
    assert state.valid_until == builders.EPOCH + hour
    assert table.is_active(builders.EPOCH + hour, cycle_state.CycleState())
    assert not table.is_active(builders.EPOCH, cycle_state.CycleState())


# --- tolerations ---------------------------------------------------------------------------------


def _tolerates(there: desk.Desk, pod: builders.PodBuilder, taint: objects.Taint) -> bool:
    framework = there.frameworks[None]
    info = there.shapes.make_pod_info(pod.build())
    granted = framework.profile.tolerations(info.shape, there.cache.snapshot())
    return tolerations.tolerates(granted, taint)


@pytest.mark.parametrize(
    "value, effect, tolerated",
    [
        ("960", "NoSchedule", True),
        ("950", "NoSchedule", False),
        ("many", "NoSchedule", False),
        ("960", "PreferNoSchedule", False),
    ],
)
def test_numeric_tolerations(value: str, effect: str, tolerated: bool) -> None:
    """Gt compares the taint's value with the policy's, as whole numbers."""
    there = desk.Desk("policy p { for pods tolerate sla Gt 950:NoSchedule }")
    assert _tolerates(there, desk.pod(), objects.Taint("sla", effect, value)) == tolerated


def test_tolerations_of_policies_unite_with_those_of_the_pod() -> None:
    """Without repeats, and only for pods that the policy selects; NoExecute is never granted."""
    text = """
    policy p { for pods where app = web tolerate spot, dedicated=web:NoSchedule }
    policy q { for pods tolerate spot }
    """
    there = desk.Desk(text)
    pod = desk.pod(app="web").tolerates("own", effect="NoExecute")
    info = there.shapes.make_pod_info(pod.build())
    granted = there.frameworks[None].profile.tolerations(info.shape, there.cache.snapshot())
    assert [(t.key, t.effect) for t in granted] == [
        ("own", "NoExecute"),
        ("spot", "NoSchedule"),
        ("spot", "PreferNoSchedule"),
        ("dedicated", "NoSchedule"),
    ]
    assert not _tolerates(there, desk.pod(), objects.Taint("dedicated", "NoSchedule", "web"))
    assert not _tolerates(there, pod, objects.Taint("spot", "NoExecute"))


def test_tolerations_end_with_their_rule() -> None:
    """An expired grant is gone for equal pods too."""
    there = desk.Desk('policy p { for pods tolerate spot expires "2026-01-05T12:05:00Z" }')
    taint = objects.Taint("spot", "NoSchedule")
    assert _tolerates(there, desk.pod(), taint)
    there.clock.advance(300)
    assert not _tolerates(there, desk.pod(), taint)


def test_tolerations_follow_the_labels_of_namespaces() -> None:
    """A grant to the pods of some namespaces ends when the namespace is relabelled."""
    text = "policy p { for pods in namespace where team = a tolerate spot }"
    there = desk.Desk(text, namespaces={"default": {"team": "a"}})
    taint = objects.Taint("spot", "NoSchedule")
    assert _tolerates(there, desk.pod(), taint)
    there.cache.set_namespace("default", {"team": "b"})
    assert not _tolerates(there, desk.pod(), taint)
