"""Pods that nobody schedules."""

from __future__ import annotations

import asyncio
import datetime
import itertools
import logging

import pytest

from policysched.cluster.objects import objects
from policysched.observability import unserved_pod_reporter
from tests import builders
from tests.scheduler import fakes

EPOCH = builders.EPOCH
LONG_AGO = "2026-01-01T00:00:00Z"
_VERSIONS = itertools.count(1)


class Scene:
    """A scheduler that serves `default-scheduler`, and what is told of other pods."""

    def __init__(self) -> None:
        """Start without pods."""
        self.world = fakes.World()
        self.pods = self.world.pods
        self.leads = True
        self.watch = unserved_pod_reporter.UnservedPodReporter(
            self.pods.unserved,
            self.world.clock,
            lambda: ["default-scheduler", "web"],
            speaks=lambda: self.leads,
        )

    def add(self, name: str, scheduler_name: str, created: str = LONG_AGO) -> objects.Pod:
        """Let the watch show a pod that waits."""
        pod = _pod(name, scheduler_name, created)
        self.pods.upsert(pod.build())
        return pod.build()

    def gauge(self) -> dict[str, float]:
        """Return the gauge, by label."""
        (family,) = self.watch.collect_metrics()
        assert family.name == "policysched_unserved_pods"
        return {each.labels["scheduler_name"]: each.value for each in family.samples}


def _pod(name: str, scheduler_name: str, created: str = LONG_AGO) -> builders.PodBuilder:
    version = str(next(_VERSIONS))
    pod = builders.make_pod(name).scheduler_name(scheduler_name)
    return pod.meta(creation_timestamp=created, resource_version=version)


@pytest.fixture
def scene() -> Scene:
    """Return a scheduler without pods."""
    return Scene()


def test_waiting_pods_of_other_names_are_counted(scene: Scene) -> None:
    """A pod counts from its creation until it has a node, has ended or is gone."""
    scene.add("a", "other")
    scene.add("b", "other")
    gone = scene.add("c", "third")
    scene.add("ours", "default-scheduler")
    scene.pods.upsert(_pod("placed", "other").node("n1").build())
    assert scene.gauge() == {"other": 2, "third": 1}
    scene.pods.upsert(_pod("a", "other").node("n1").build())
    scene.pods.delete(gone)
    assert scene.gauge() == {"other": 1}
    scene.pods.upsert(_pod("b", "other").status(phase="Failed").build())
    assert scene.gauge() == {}


def test_what_counts_follows_the_profiles(scene: Scene) -> None:
    """A reload that brings or takes away a profile changes who is served."""
    scene.add("a", "other")
    scene.add("b", "default-scheduler")
    scene.world.scheduler.set_profiles({"other": scene.world.framework(scene.world.plugins)})
    assert scene.gauge() == {"default-scheduler": 1}
    scene.world.scheduler.set_profiles({})
    assert scene.gauge() == {"default-scheduler": 1, "other": 1}


def test_labels_are_bounded(scene: Scene) -> None:
    """The names with most pods have labels of their own, on one line and cut; the rest has one."""
    for number in range(unserved_pod_reporter.MAX_NAMES + 5):
        scene.add(f"p{number}", f"name-{number}")
    scene.add("p0-2", "name-0")
    scene.add("long-1", "x" * 100 + "\n")
    scene.add("long-2", "x" * 100 + "\n")
    found = scene.gauge()
    assert len(found) == unserved_pod_reporter.MAX_NAMES + 1
    assert found["name-0"] == 2
    assert found["x" * 63 + "…"] == 2
    assert found[unserved_pod_reporter.OTHERS] == 6


@pytest.mark.parametrize(
    "pod, is_told",
    [
        pytest.param(_pod("p", "nobody"), True, id="no-word-of-anybody"),
        pytest.param(_pod("p", "nobody", "2026-01-05T11:59:40Z"), False, id="new"),
        pytest.param(
            _pod("p", "other").status(
                conditions=(objects.Condition("PodScheduled", "False", "Unschedulable"),)
            ),
            False,
            id="another-scheduler-finds-no-node",
        ),
        pytest.param(_pod("p", "nobody").terminating(), False, id="being-deleted"),
        pytest.param(_pod("p", "nobody").node("n1"), False, id="placed"),
        pytest.param(_pod("p", "default-scheduler"), False, id="ours"),
    ],
)
def test_pods_without_a_word_of_any_scheduler_are_told(
    scene: Scene, caplog: pytest.LogCaptureFixture, pod: builders.PodBuilder, is_told: bool
) -> None:
    """A scheduler that is at work writes the condition of each pod for which it has no node."""
    assert datetime.datetime(2026, 1, 5, 12, tzinfo=datetime.UTC) == EPOCH
    scene.pods.upsert(pod.build())
    scene.watch.warn_of_unserved_pods()
    line = (
        "no scheduler has reacted to pods with the schedulerName `nobody` (1 waiting, such as "
        "default/p); profiles here: `default-scheduler`, `web`; correct the pods, or add a profile"
    )
    assert [record.getMessage() for record in caplog.records] == [line] * is_told


def test_a_name_is_told_once_an_hour(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """New names are told with the next look, known ones not before an hour has passed."""
    scene.add("a", "one")
    scene.watch.warn_of_unserved_pods()
    scene.add("b", "one")
    scene.add("c", "two")
    scene.watch.warn_of_unserved_pods()
    scene.watch.warn_of_unserved_pods()
    scene.world.clock.advance(unserved_pod_reporter.AGAIN_SECONDS)
    scene.watch.warn_of_unserved_pods()
    names = [record.getMessage().split(";")[0].count("waiting") for record in caplog.records]
    assert names == [1, 1, 2]
    assert "`one`" not in caplog.records[1].getMessage()


def test_many_names_make_one_short_line(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever may create pods cannot fill the log with their names."""
    for number in range(1000):
        scene.add(f"p{number}", f"name-{number}" + "x" * 500)
    scene.watch.warn_of_unserved_pods()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert f"{1000 - unserved_pod_reporter.MAX_NAMES} further names" in record.getMessage()
    assert len(record.getMessage()) < 4000


def test_only_the_leader_speaks_and_only_once_pods_are_known(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """Of several equal processes one warns; before the first list there is nothing to say."""

    async def scenario(*, synced: bool, leads: bool) -> int:
        caplog.clear()
        scene.leads = leads
        listed = asyncio.Event()
        if synced:
            listed.set()
        task = asyncio.create_task(scene.watch.run(listed))
        for _ in range(10):
            await asyncio.sleep(0)
        task.cancel()
        return len(caplog.records)

    scene.add("a", "nobody")
    assert asyncio.run(scenario(synced=False, leads=True)) == 0
    assert asyncio.run(scenario(synced=True, leads=False)) == 0
    assert asyncio.run(scenario(synced=True, leads=True)) == 1
