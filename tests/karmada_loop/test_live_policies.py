"""Cluster policies of a running scheduler, without a server: versions, samples, time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from policysched import errors
from policysched.cluster.metrics import metric_table
from policysched.karmada import errors as failures
from policysched.karmada import objects
from policysched.karmada.policies import cluster_rows, permitted_clusters
from policysched.karmada.scheduler import attempt_outcomes, triggers
from policysched.karmada_loop import live_policies
from policysched.lang import source
from policysched.profiles import cluster_policy_loading as cluster_texts
from policysched.profiles import policies as policy_sets
from tests.karmada.scheduler import test_scheduling
from tests.kube.asynchronous import asynchronous

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from policysched.inputs import metrics_source
    from policysched.lang.checked import checked

METRIC = "metric busy: ratio = `x` cluster cluster refresh 15s maxAge 1m missing allow\n"
POLICY = """\
clusterPolicy web {
  for resources
  reject when busy > 90% as full
  score busy prefer low normalize linear(0%, 100%) missing score 0
  replicas Divided Weighted by score
}
"""
HOLD = "profile policysched { policies web onOutage hold }\n"
DIVIDED = {
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
    }
}


class Source:
    """Notes what is asked for; refuses metrics named `nowhere`."""

    def __init__(self) -> None:
        """Follow nothing yet."""
        self.asked: list[str] = []

    def set_metrics(
        self, metrics: Iterable[checked.CheckedMetric], window_seconds: Mapping[str, float]
    ) -> None:
        """Follow these."""
        names = [metric.name for metric in metrics]
        if "nowhere" in names:
            raise errors.ConfigurationError("metric `nowhere`", "has no source")
        self.asked = names

    async def run(self, *_: object) -> Any:
        """Bring nothing."""
        await asyncio.Event().wait()

    async def wait_until_metrics_asked(self) -> None:
        """Say at once that all have been asked."""

    def get_server_health(self) -> tuple[()]:
        """Be no server."""
        return ()

    def get_metric_stats(self) -> tuple[()]:
        """Ask nobody."""
        return ()


class Pausing:
    """Counts pauses."""

    paused = 0

    def pause(self) -> None:
        """Count one."""
        self.paused += 1

    def resume(self) -> None:
        """Go on."""


class Scene:
    """A scheduler without a server, and what hands it policies."""

    def __init__(self, text: str = METRIC + POLICY) -> None:
        """Go by a text, with clusters m1 and m2."""
        self.world = test_scheduling.World()
        for name in ("m1", "m2"):
            self.world.cluster(name)
        self.source = Source()
        self.pausing = Pausing()
        loop = live_policies.ClusterPolicyConsumers(
            self.world.how, self.world.decisions, self.world.handlers, self.pausing
        )
        rows = cluster_rows.ClusterRows(self.world.clock)
        feed: metrics_source.MetricsSource = self.source
        self.live = live_policies.LiveClusterPolicies(loop, feed, self.world.clock, rows)
        self.use(text)

    def use(self, text: str) -> None:
        """Go by another text."""
        texts = [source.SourceText("test.policy", text)]
        made = policy_sets.make_policy_set_from_texts(texts, {}, "policysched")
        found = cluster_texts.make_cluster_policies(
            made, "policysched", self.world.clock, self.live.rows
        )
        self.live.use_version(made, found)

    def tell(self, **shares: float) -> None:
        """Tell of samples that were measured now."""
        now = self.world.clock.now().timestamp()
        samples = {name: metric_table.Sample(value, now) for name, value in shares.items()}
        self.live.refresh_samples({"busy": samples})

    def results(self) -> dict[str, str]:
        """Return what becomes of the bindings that are looked at now."""
        found = {}
        for attempt in self.world.attempts():
            self.world.decisions.end_attempt(attempt, is_retried=False)
            assert attempt.decision is not None
            result = attempt.decision.result
            found[attempt.binding.metadata.name] = (
                result.text
                if isinstance(result, failures.PlacementFailure)
                else " ".join(f"{each.name}:{each.replicas}" for each in result)
            )
        return found

    @contextlib.asynccontextmanager
    async def looking(self) -> AsyncIterator[None]:
        """Look whether samples and the time help."""
        task = asyncio.create_task(self.live.retry_bindings())
        yield
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    async def tried_again(self) -> dict[str, str]:
        """Return what becomes of bindings once some are tried again."""
        async with asyncio.timeout(150.0):
            while not len(self.world.queue):  # noqa: ASYNC110 - what fills it tells nobody
                await asyncio.sleep(0.001)
        return self.results()


@pytest.fixture(autouse=True)
def _eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_policies, "_LOOK_SECONDS", 0.001)


@pytest.mark.parametrize(
    "before, now, expected",
    [
        ((True, "a", b"\1"), (False, "a", b"\1"), True),
        ((False, "a", b"\1"), (True, "a", b"\1"), False),
        ((False, "ab", b"\0\1"), (False, "ab", b"\1\0"), True),
        ((False, "ab", b"\1\1"), (False, "ab", b"\0\1"), False),
        ((False, "ab", b"\0\0"), (False, "bc", b"\1\0"), True),
        ((False, "a", b"\0"), (False, "ab", b"\0\1"), False),
    ],
    ids=["held no more", "held", "opened", "closed", "another gone", "only a new one"],
)
def test_an_opening_widens(
    before: tuple[bool, str, bytes], now: tuple[bool, str, bytes], expected: bool
) -> None:
    """Where a cluster that was refused is let, or nothing is waited for any more."""
    was, later = (
        permitted_clusters.PermittedClusters(held, tuple(names), said)
        for held, names, said in (before, now)
    )
    assert later.permits_more_than(was) is expected


@asynchronous
async def test_samples_that_open_a_cluster_let_bindings_be_tried_again() -> None:
    """And only those that had no success, and only then."""
    scene = Scene()
    scene.tell(m1=0.95, m2=0.95)
    scene.world.binding("a", DIVIDED, replicas=10)
    assert "2 cluster(s) rejected by policy web/full" in scene.results()["a"]
    scene.tell(m1=0.2, m2=0.6)
    scene.world.binding("b", DIVIDED, replicas=10)
    async with scene.looking():
        assert scene.results() == {"b": "m1:7 m2:3"}
        assert await scene.tried_again() == {"a": "m1:7 m2:3"}
        scene.tell(m1=0.6, m2=0.2)
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert scene.results() == {}
    assert scene.world.handlers.incoming["MetricsRefreshed"] == 1


def _make_scene_with_rejected_binding() -> Scene:
    """Return a scene in which both clusters are too busy for the binding."""
    scene = Scene()
    scene.tell(m1=0.95, m2=0.95)
    scene.world.binding("a", DIVIDED, replicas=10)
    assert "rejected" in scene.results()["a"]
    return scene


@asynchronous
async def test_samples_that_grow_old_open_clusters() -> None:
    """What is missing is allowed, so a cluster whose last sample was bad comes back by time."""
    scene = _make_scene_with_rejected_binding()
    async with scene.looking():
        await asyncio.sleep(0.01)
        assert scene.results() == {}
        scene.world.clock.advance(61)
        assert await scene.tried_again() == {"a": "m1:5 m2:5"}


@asynchronous
async def test_samples_that_grow_old_during_a_pause_open_clusters() -> None:
    """New samples cause a check, after which the loop pauses; it does not miss what falls due."""
    scene = _make_scene_with_rejected_binding()
    async with scene.looking():
        scene.tell(m1=0.95, m2=0.95)
        while scene.live._news.is_set():  # noqa: ASYNC110 - nothing tells that the check began
            await asyncio.sleep(0)
        await asyncio.sleep(0)  # the check is over
        scene.world.clock.advance(61)
        assert await scene.tried_again() == {"a": "m1:5 m2:5"}


@asynchronous
async def test_bindings_that_are_held_come_with_the_first_sample() -> None:
    """Those that were never placed say that they wait; placed ones that may stay say nothing."""
    scene = Scene(METRIC + POLICY.replace("Divided Weighted by score", "Duplicated") + HOLD)
    scene.world.binding("waits", replicas=2)
    placed: dict[str, Any] = {"replicas": 2, "clusters": [{"name": "m1", "replicas": 2}]}
    status = {
        "schedulerObservedGeneration": 1,
        "lastScheduledTime": "2026-01-01T00:00:00Z",
        "conditions": [{"type": "Scheduled", "status": "True", "reason": "Success"}],
    }
    placement = msgspec.json.encode(objects.Placement()).decode()
    applied = {"annotations": {triggers.APPLIED_PLACEMENT: placement}}
    scene.world.binding("placed", status=status, metadata=applied, **placed)
    attempts = scene.world.attempts()
    news = {
        each.binding.metadata.name: scene.world.decisions.needs_write_or_event(each)
        for each in attempts
    }
    assert news == {"waits": True, "placed": False}
    for each in attempts:
        assert each.targets is None
        scene.world.decisions.end_attempt(each, is_retried=False)
    async with scene.looking():
        scene.tell(m1=0.2, m2=0.3)
        assert set(await scene.tried_again()) == {"waits", "placed"}


def test_a_binding_that_is_held_tries_no_term_and_says_so_once() -> None:
    """Waiting is not of a term of clusterAffinities: no event tells that one of them failed."""
    scene = Scene(METRIC + POLICY + HOLD)
    terms = [{"affinityName": name, "clusterNames": [name]} for name in ("m1", "m2")]
    scene.world.binding("a", {"clusterAffinities": terms}, replicas=2)
    (attempt,) = scene.world.attempts()
    assert attempt.decision is not None
    assert attempt.decision.failed_terms == ()
    assert scene.world.events.told == []
    scene.world.decisions.record_outcome_event(
        attempt, attempt_outcomes.derive_attempt_outcome(attempt.decision.result)
    )
    ((_, _, note),) = scene.world.events.told
    assert "no cluster has a valid sample (policies: web; " in note


def test_samples_outlive_a_version() -> None:
    """Another version decides by what is known already, and tries what had no success."""
    scene = Scene()
    scene.tell(m1=0.2, m2=0.95)
    scene.world.binding("a", {"clusterAffinity": {"clusterNames": ["m2"]}}, replicas=10)
    scene.world.binding("b", DIVIDED, replicas=10)
    assert scene.results()["b"] == "m1:10"
    scene.use(METRIC + POLICY.replace("> 90%", "> 99%").replace("prefer low", "prefer high"))
    assert scene.results() == {"a": "m2:10"}
    scene.world.binding("b", DIVIDED, version=2, replicas=10)
    assert scene.results() == {"b": "m1:2 m2:8"}


def test_a_version_whose_metric_cannot_be_had_changes_nothing() -> None:
    """The one in use goes on, with its metrics."""
    scene = Scene()
    scene.tell(m1=0.2, m2=0.6)
    with pytest.raises(errors.ConfigurationError):
        scene.use((METRIC + POLICY).replace("busy", "nowhere"))
    assert scene.source.asked == ["busy"]
    scene.world.binding("a", DIVIDED, replicas=10)
    assert scene.results() == {"a": "m1:7 m2:3"}


def test_a_version_without_cluster_policies_is_karmada(caplog: pytest.LogCaptureFixture) -> None:
    """It is told in the log; nothing is asked for any more."""
    scene = Scene()
    with caplog.at_level(logging.WARNING):
        scene.use("policy p { for pods }")
    assert "no cluster policy in force for this scheduler" in caplog.text
    assert scene.source.asked == []
    scene.world.binding("a", {}, replicas=3)
    assert scene.results() == {"a": "m1:3 m2:3"}


def test_a_cluster_that_came_back_between_decisions_keeps_its_new_samples() -> None:
    """Samples are of the clusters that there are when they come, whenever bindings do."""
    scene = Scene()
    scene.tell(m1=0.2, m2=0.6)
    scene.world.binding("a", DIVIDED, replicas=10)
    assert scene.results() == {"a": "m1:7 m2:3"}
    scene.world.handlers.clusters.delete(scene.world.store.clusters["m1"])
    scene.world.cluster("m1", labels={"new": "true"})
    scene.tell(m1=0.6, m2=0.2)
    scene.world.binding("b", DIVIDED, replicas=10)
    assert scene.results() == {"b": "m1:3 m2:7"}


@asynchronous
async def test_nothing_is_decided_before_the_first_samples() -> None:
    """The loop is paused until all metrics have been asked."""
    scene = Scene()
    await scene.live.wait_for_metrics()
    assert scene.pausing.paused == 1
