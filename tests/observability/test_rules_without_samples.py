"""Which rules have lost a metric, for the page and in records."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from policysched.cluster.pods import pod_shape
from policysched.framework import profile, runtime
from policysched.observability.live_page import node_samples, pod_verdicts, rules_without_samples
from policysched.serving import json_answers
from tests import builders, report_schemas
from tests.compiler import desk

POLICY = """
metric busy: ratio = `x` node instance refresh 15s maxAge 2m between 0% and 100%
policy hot {
  for pods where app = web
  reject when busy > 80% missing allow as too-hot
  score busy prefer low normalize linear(0%, 100%) missing score 0 as low-busy
  score LeastAllocated(cpu: 1) as room
}
profile skips { policies hot }
profile holds { policies hot onOutage hold }
"""


class _Pods:
    """Knows one pod."""

    def __init__(self, pod: pod_shape.PodInfo) -> None:
        self._pod = pod

    def current(self, uid: str) -> pod_shape.PodInfo | None:
        """Return it, whatever the uid."""
        del uid
        return self._pod


def _make_desk() -> desk.Desk:
    return desk.Desk(POLICY, [desk.node("n1")])


def _get_profiles(scene: desk.Desk) -> Mapping[str, profile.Profile]:
    return {
        str(name): dataclasses.replace(each.profile, policies=("hot",))
        for name, each in scene.frameworks.items()
    }


def _make_rules_without_samples(
    scene: desk.Desk, app: str
) -> rules_without_samples.RulesWithoutSamples:
    profiles = _get_profiles(scene)
    pod = scene.shapes.make_pod_info(desk.pod(app=app).build())
    return rules_without_samples.RulesWithoutSamples(lambda: profiles, _Pods(pod))


def test_rules_are_lost_while_no_node_has_a_valid_sample() -> None:
    """Of each profile, with whether pods wait for them."""
    scene = _make_desk()
    lost = _make_rules_without_samples(scene, "web")
    found = lost.list_rules_without_samples(scene.cache.snapshot())
    assert [(each.rule, each.profile, each.metric, each.holds_pods) for each in found] == [
        ("hot/too-hot", "skips", "busy", False),
        ("hot/low-busy", "skips", "busy", False),
        ("hot/too-hot", "holds", "busy", True),
        ("hot/low-busy", "holds", "busy", True),
    ]
    scene.sample("busy", n1=0.5)
    assert lost.list_rules_without_samples(scene.cache.snapshot()) == []
    scene.clock.advance(121.0)
    assert len(lost.list_rules_without_samples(scene.cache.snapshot())) == 4


@pytest.mark.parametrize(
    "name, app, skipped",
    [
        ("skips", "web", ("hot/too-hot", "hot/low-busy")),
        ("skips", "batch", ()),
        ("holds", "web", ()),
    ],
)
def test_a_record_has_the_skipped_rules_of_its_pod(
    name: str, app: str, skipped: tuple[str, ...]
) -> None:
    """Not those of policies for other pods; a pod that is held has a reason instead."""
    scene = _make_desk()
    decision: Any = SimpleNamespace(scheduler_name=name, uid="u", skipped_rules=())
    lost = _make_rules_without_samples(scene, app)
    lost.record_skipped_rules(decision, None, scene.cache.snapshot())  # type: ignore[arg-type]  # it reads no result
    assert decision.skipped_rules == skipped


@pytest.mark.parametrize(
    "value, age_seconds, state, shown, valid",
    [
        (0.79, 30.0, "ok", "79%", [0.79, None]),
        (0.79, 150.0, "stale", "79%", [None, None]),
        (7.0, 30.0, "outOfRange", "700%", [None, None]),
        (None, 0.0, "missing", "", [None, None]),
    ],
)
def test_a_sample_says_whether_rules_go_by_it(
    value: float | None, age_seconds: float, state: str, shown: str, valid: list[float | None]
) -> None:
    """Its age counts at the time of the answer."""
    scene = _make_desk()
    if value is not None:
        scene.sample("busy", {"n1": age_seconds}, n1=value)
    (metric,) = desk.check(POLICY).metrics
    table = scene.cache.metrics
    found = node_samples.describe_samples(table, [metric], "n1", builders.EPOCH)
    expected_age = None if value is None else age_seconds
    assert found["samples"]["busy"] == {
        "state": state,
        "value": shown,
        "ageSeconds": expected_age,
        "maxAgeSeconds": 120.0,
    }
    assert found["metrics"] == ({"busy": shown} if shown else {})
    names = ("n1", "n2")
    assert node_samples.list_valid_values(table, metric, names, builders.EPOCH) == valid


def test_an_explanation_names_the_rules_without_samples_of_the_pod() -> None:
    """In the form of the page, which `run` and `ui` share."""
    scene = _make_desk()
    framework = runtime.Framework(_get_profiles(scene)["skips"], None)
    pod = scene.shapes.make_pod_info(desk.pod(app="web").build())
    snap = scene.cache.snapshot()
    found = pod_verdicts.describe_explanation(framework, framework.explain_pod(pod, snap), snap)
    assert [each.rule for each in found["rulesWithoutSamples"]] == ["hot/too-hot", "hot/low-busy"]
    answer = json_answers.make_json_answer({"placedOn": None, **found})
    report_schemas.check_report(orjson.loads(answer.body), "page-explain")
