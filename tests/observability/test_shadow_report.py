"""How a process tells what shadow policies would have changed."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import cast

import pytest
from prometheus_client import registry

from policysched.app import context, reports
from policysched.cluster.objects import objects
from policysched.kube import config_maps
from policysched.observability import exporter, shadow_policy_report
from policysched.scheduler import shadow_decisions
from policysched.serving import http_server
from tests import builders
from tests.observability import kept_events, page_forms
from tests.scheduler import test_shadow_decisions as scenes

TEXT = """
policy now { for pods }
policy next { mode shadow for pods where app = web nodeAffinity required disk = tape as tape }
"""


def _world() -> scenes.World:
    world = scenes.World(TEXT)
    world.fake.nodes.upsert(scenes.node("n1", disk="ssd"))
    return world


def _play(world: scenes.World, *names: str) -> None:
    scenes.play(world, *(scenes.web(name) for name in names))


def test_a_line_says_how_many_decisions_would_be_different_and_names_one() -> None:
    """Share, kinds of changes, what was left out, and a pod for example with the reason."""
    world = _world()
    _play(world, "a", "b")
    (tally,) = world.shadows.tallies.values()
    tally.skipped = 3
    assert shadow_policy_report.format_summary(scenes.NAME, "next", tally) == (
        "shadow policy next of profile default-scheduler: 2 of 2 decisions since 2026-01-05 12:00"
        " UTC would be different (100.0%), 2 pods would stay pending, 3 were not repeated for lack "
        "of time, for example default/b from n1 to nowhere: 0/1 nodes are available: 1 node(s) "
        "didn't match policy next/tape."
    )


def test_it_is_told_again_only_when_something_was_decided() -> None:
    """Nobody is bothered with what he knows."""
    world = _world()
    told: list[str] = []
    report = shadow_policy_report.ShadowPolicyReporter(world.shadows, told.append)
    report.report_new_tallies()
    assert told == []
    _play(world, "a")
    report.report_new_tallies()
    report.report_new_tallies()
    assert len(told) == 1
    _play(world, "b")
    report.report_new_tallies()
    assert len(told) == 2


def test_counters_are_there_from_the_start() -> None:
    """Every outcome has a series, so that a rate can be taken of the first one."""
    world = _world()
    own = exporter.MetricsExporter()
    own.add_collector(
        shadow_policy_report.ShadowPolicyReporter(world.shadows, print).collect_metrics
    )
    labels = {"profile": scenes.NAME, "policy": "next"}
    assert _value(own.registry, "policysched_shadow_decisions_total", labels) == 0
    _play(world, "a")
    assert _value(own.registry, "policysched_shadow_decisions_total", labels) == 1
    assert _value(own.registry, "policysched_shadow_decisions_skipped_total", labels) == 0
    assert _value(own.registry, "policysched_shadow_decision_seconds_total", labels) >= 0


def _value(source: registry.CollectorRegistry, name: str, labels: dict[str, str]) -> float:
    if name == "policysched_shadow_decisions_total":
        labels = labels | {"outcome": "newlyUnschedulable"}
    found = source.get_sample_value(name, labels)
    assert found is not None
    return found


def test_the_page_has_the_pods_that_would_have_moved() -> None:
    """Newest first, with both nodes and the reason."""
    world = _world()
    _play(world, "a", "b")
    page = shadow_policy_report.ShadowPolicyReporter(world.shadows, print).make_page()
    assert page.content_type == http_server.JSON
    (policy,) = page_forms.read("shadow", page.body)
    assert (policy["profile"], policy["policy"]) == (scenes.NAME, "next")
    assert (policy["decided"], policy["changed"], policy["changedShare"]) == (2, 2, 1.0)
    assert [change["pod"] for change in policy["changes"]] == ["default/b", "default/a"]
    assert policy["changes"][0]["outcome"] == "newlyUnschedulable"
    assert (policy["changes"][0]["node"], policy["changes"][0]["shadowNode"]) == ("n1", None)
    assert policy["changes"][0]["message"].startswith("0/1 nodes")


def test_without_shadow_policies_there_is_nothing_to_tell() -> None:
    """No series, an empty page, and not a single second decision."""
    world = scenes.World("policy now { for pods }")
    world.fake.nodes.upsert(scenes.node("n1"))
    _play(world, "a")
    report = shadow_policy_report.ShadowPolicyReporter(world.shadows, print)
    assert page_forms.read("shadow", report.make_page().body) == []
    assert [sample for family in report.collect_metrics() for sample in family.samples] == []


def test_a_process_is_busy_while_pods_are_ready() -> None:
    """The pod that is being decided is not one that waits."""
    world = scenes.World(TEXT)
    shadows = shadow_policy_report.attach_shadow_decisions(
        world.scheduler, world.fake.clock, lambda: world.profiles.shadows
    )
    assert world.scheduler.queue.has_ready_pod() is False
    world.fake.pods.upsert(builders.make_pod("a").build())
    assert world.scheduler.queue.has_ready_pod() is True
    assert isinstance(shadows, shadow_decisions.ShadowDecisions)


@pytest.mark.parametrize("busy", [True, False])
def test_the_first_decisions_are_always_tried(busy: bool) -> None:
    """There is a little time to spend even under load."""
    world = _world()
    world.is_busy = busy
    pod: objects.Pod = scenes.web("a").build()
    world.fake.pods.upsert(pod)
    scenes.play(world)
    _play(world, "b")
    (tally,) = world.shadows.tallies.values()
    assert tally.decided == 2


class Joined:
    """As much of a process as the report needs.

    Attributes:
        recorder: keeps what is told.
    """

    def __init__(self, config_map: config_maps.ConfigMap | None) -> None:
        self.recorder = kept_events.KeptEvents()
        self.config_map = lambda: config_map
        self.writers = SimpleNamespace(recorder=self.recorder)


def test_events_are_about_the_config_map_of_the_policies() -> None:
    """With its uid, by which `kubectl describe` finds them; without one there is the log alone."""
    meta = objects.ObjectMeta(name="policies", namespace="kube-system", uid="u1")
    joined = Joined(config_maps.ConfigMap(meta))
    reports._make_policy_event_writer(cast("context.ProcessComponents", joined))("a line")
    (about,) = joined.recorder.about
    assert (about.kind, about.namespace, about.name, about.uid) == (
        "ConfigMap",
        "kube-system",
        "policies",
        "u1",
    )
    assert joined.recorder.events == [("Normal", "ShadowPolicyReport", "DecidingBeside", "a line")]
    joined = Joined(None)
    reports._make_policy_event_writer(cast("context.ProcessComponents", joined))("a line")
    assert joined.recorder.events == []


def test_the_last_word_is_written_when_the_process_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What was decided since the last report is not lost."""
    world = _world()
    _play(world, "a")
    caplog.set_level(logging.INFO, "policysched")

    async def scenario() -> None:
        task = asyncio.ensure_future(
            shadow_policy_report.ShadowPolicyReporter(world.shadows, print).run()
        )
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scenario())
    assert "1 of 1 decisions" in caplog.text
