"""Versions that come while pods wait: used whole, or refused, held back, left alone."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import random
from collections.abc import AsyncIterator
from typing import NoReturn

import pytest

from policysched import errors
from policysched.cluster.pods import pod_shape
from policysched.config import config
from policysched.framework import handles, runtime, status
from policysched.inputs import metrics_source
from policysched.lang import source
from policysched.lang.checked import content_hash
from policysched.lang.checking import checker
from policysched.plugins.pod_topology_spread import pod_topology_spread
from policysched.profiles import policies
from policysched.promapi import live_metrics_source, settings
from policysched.promapi import query_source as prom_source
from policysched.promapi import status as status_of_metrics
from policysched.reload import live_profiles, reloader, versions
from policysched.reload import state as states
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.scheduler import fakes

EAST = "policy east { for pods\n  nodeAffinity required side In (east) }\n"
WEST = "policy west { for pods\n  nodeAffinity required side In (west) }\n"
BAD = "policy east { for pods\n  nodeAffinity mandatory side In (east) }\n"
NEVER = "policy never { for pods\n  nodeAffinity required side In (x) and side NotIn (x) }\n"
"""An error of lint (PS201): it compiles, and no node will ever do."""
WITH_PARAM = f"param most: number = 5\n{EAST}"
METRIC = "metric cpu: ratio = `cpu` node instance refresh 15s maxAge 2m source elsewhere\n"


def offer(*texts: str, **said: bool | str) -> versions.OfferedVersion:
    """Return what a source has."""
    named = tuple(source.SourceText(f"{n}.policy", text) for n, text in enumerate(texts))
    return versions.OfferedVersion(named, **said)  # type: ignore[arg-type]  # fields of an offer


class Binder:
    """Binds whatever it is given.

    Attributes:
        bound: pod and node, in order.
    """

    def __init__(self) -> None:
        self.bound: list[tuple[str, str]] = []

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> handles.BindError | None:
        """Note it."""
        self.bound.append((pod.pod.metadata.name, node_name))
        return None


class Scene:
    """A scheduler with a node in the east and one in the west, going by EAST."""

    def __init__(
        self,
        metrics: metrics_source.MetricsSource | None = None,
        first: str = EAST,
        configuration: config.Config | None = None,
    ) -> None:
        self.world = fakes.World()
        for side in ("east", "west"):
            self.world.nodes.upsert(
                builders.make_node(side).capacity(pods=9, cpu="9").labels(side=side).build()
            )
        self.checker = versions.VersionChecker(
            configuration or config.Config(), None, self.world.clock
        )
        self.binder = Binder()
        self.handle = handles.Handle(self.binder, rng=random.Random(1))
        self.live = live_profiles.LiveProfiles(
            self.world.scheduler, metrics, self.world.clock, random.Random(1)
        )
        known = offer(first)
        start = self.checker.check_version(known)
        assert isinstance(start, versions.CheckedVersion)
        made = policies.require_profiles(
            policies.make_profiles(start.policy_set, self.handle, start.compiled)
        )
        self.live.use_version(start.policy_set, made)
        self.state = states.PolicyState(
            "test", states.VersionInUse(start.hash, known.texts, self.world.clock.now())
        )
        self.told: list[states.ReloadEvent] = []
        self.state.listeners.append(self.told.append)
        self.reloads = reloader.Reloader(
            self.checker,
            self.state,
            self.live,
            reloader.make_profiles_factory(lambda _: self.handle),
            self.world.clock,
            known=known,
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look at offers."""
        task = asyncio.create_task(self.reloads.run())
        yield
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    async def take(self, *offers: versions.OfferedVersion) -> list[str]:
        """Offer one after the other and return what was told, once the last one is through."""
        before = len(self.told)
        for each in offers:
            self.reloads.submit_offer(each)
        while self.reloads.is_busy:  # noqa: ASYNC110 - a thread is at work, whose end tells nobody
            await asyncio.sleep(0.001)
        return [told.outcome.value for told in self.told[before:]]

    async def place(self, name: str) -> str | None:
        """Return the node that a pod gets, and check that its decision tells by which version."""
        self.world.add_pod(builders.make_pod(name).scheduler_name("policysched"))
        await self.world.settle()
        decision = self.world.scheduler.decisions.find_latest_decision(f"default/{name}")
        assert decision is not None
        assert decision.policy_hash == self.state.current.hash
        return decision.node_name


@asynchronous
async def test_a_good_version_decides_next() -> None:
    """Its rules act, those that are gone act no more, and pods that wait are tried again."""
    scene = Scene()
    async with scene.running():
        waiting = builders.make_pod("waits").scheduler_name("policysched")
        scene.world.add_pod(waiting.node_selector({"side": "west"}))
        await scene.world.settle()
        assert scene.world.where("waits") == "unschedulable"
        assert await scene.take(offer(WEST)) == ["loaded"]
        assert await scene.place("a") == "west"
        scene.world.clock.advance(60)
        await scene.world.settle()
        assert ("waits", "west") in scene.binder.bound
        assert await scene.take(offer("")) == ["loaded"]
        assert await scene.place("b") in ("east", "west")


@pytest.mark.parametrize(
    "bad, said",
    [
        pytest.param(offer(BAD), "0.policy:2:16: PS001: expected `required`", id="syntax"),
        pytest.param(offer(WEST, BAD), "1.policy:2:16", id="one of two texts"),
        pytest.param(
            versions.OfferedVersion(problem="it is gone"), "policies: it is gone", id="gone"
        ),
        pytest.param(
            offer("profile p { plugin NodeResourcesFit args { nonsense: 1 } }\n" + WEST),
            "nonsense",
            id="an argument of a plugin",
        ),
        pytest.param(offer(WEST, NEVER), "1.policy:2:41: PS201: ", id="an error of lint"),
    ],
)
@asynchronous
async def test_a_bad_version_is_refused_whole(bad: versions.OfferedVersion, said: str) -> None:
    """The version in use goes on as if nothing had come; what comes next is looked at anew."""
    scene = Scene()
    async with scene.running():
        in_use = scene.live.current
        assert await scene.take(bad) == ["refused"]
        assert said in scene.told[-1].summary
        assert scene.state.refused is not None
        assert scene.live.current is in_use
        assert await scene.place("a") == "east"
        assert await scene.take(bad) == []
        assert await scene.take(offer(EAST)) == ["kept"]
        assert scene.state.refused is None
        assert await scene.take(offer(WEST)) == ["loaded"]
        assert scene.state.reloads == {
            states.OfferOutcome.REFUSED: 1,
            states.OfferOutcome.LOADED: 1,
        }


@asynchronous
async def test_a_metric_that_cannot_be_had_refuses_the_version() -> None:
    """Neither rules nor metrics change."""
    dependencies = prom_source.SourceDependencies(fakes.World().clock, random.Random(1))
    servers = {"default": settings.PrometheusSource(url="http://127.0.0.1:1")}
    scene = Scene(live_metrics_source.LiveMetricsSource(servers, (), dependencies))
    async with scene.running():
        assert await scene.take(offer(METRIC, WEST)) == ["refused"]
        assert "names the source `elsewhere`" in scene.told[-1].errors
        assert await scene.place("a") == "east"


@asynchronous
async def test_a_version_that_lacks_a_right_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told once, and used when the right has been granted, without another edit."""
    monkeypatch.setattr(reloader, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(reloader, "QUIET_SECONDS", 0.01)
    scene = Scene()
    attempts = 0

    def require(_profiles: object) -> None:
        nonlocal attempts
        attempts += 1
        if attempts < 4:
            raise errors.ConfigurationError("profiles", "csinodes must not be listed")

    monkeypatch.setattr(scene.live, "_require", require)
    async with scene.running(), asyncio.timeout(60.0):
        scene.reloads.submit_offer(offer(WEST))
        while len(scene.told) < 2:  # noqa: ASYNC110 - a thread is at work, whose end tells nobody
            await asyncio.sleep(0.001)
        assert [told.outcome.value for told in scene.told] == ["refused", "loaded"]
        assert (attempts, scene.state.refused) == (4, None)
        assert await scene.place("a") == "west"


@asynchronous
async def test_a_bug_of_the_compiler_refuses_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a text sets off, the scheduler goes on."""
    scene = Scene()
    async with scene.running():
        monkeypatch.setattr(checker, "check", lambda *_args, **_kwargs: 1 // 0)
        assert await scene.take(offer(WEST)) == ["refused"]
        assert scene.told[-1].summary == (
            "internal error: ZeroDivisionError: integer division or modulo by zero"
        )
        assert await scene.place("a") == "east"


@asynchronous
async def test_what_an_author_should_know_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """A rule that has expired, and metrics that nobody brings, make a version no worse."""
    scene = Scene()
    expired = 'policy old { for pods\n  reject when free(cpu) < 1 as full expires "2025-12-31" }\n'
    metric = METRIC.replace(" source elsewhere", "")
    async with scene.running():
        assert await scene.take(offer(WEST + expired, metric)) == ["loaded"]
    (warning,) = [each for each in scene.state.current.warnings if "PS804" in each]
    assert warning.startswith("0.policy:4:")
    assert warning in caplog.text
    assert "no source is configured, so they are missing" in caplog.text


@asynchronous
async def test_frozen_reloads(caplog: pytest.LogCaptureFixture) -> None:
    """Only the version that somebody went back to passes; the end of it lets the newest pass."""
    scene = Scene()
    west_hash = scene.checker.compute_hash(offer(WEST).texts)
    async with scene.running():
        assert await scene.take(offer(EAST, is_frozen=True)) == ["frozen"]
        assert "reloads are frozen hash=" in caplog.text
        assert await scene.take(offer(WEST, is_frozen=True)) == ["frozen"]
        assert scene.told[-1].hash == west_hash
        assert await scene.take(offer(BAD, is_frozen=True)) == ["frozen"]
        assert scene.state.is_frozen
        assert await scene.place("a") == "east"
        assert await scene.take(offer(WEST, is_frozen=True, demanded=west_hash)) == ["loaded"]
        assert await scene.place("b") == "west"
        assert await scene.take(offer(EAST, is_frozen=True, demanded=west_hash)) == ["frozen"]
        assert await scene.take(offer(EAST, demanded=west_hash)) == ["loaded"]
        assert not scene.state.is_frozen
        assert "reloads are no longer frozen" in caplog.text


@asynchronous
async def test_going_back_passes_a_freeze_whatever_params_are_by_now() -> None:
    """What is kept are texts; the params of then are not, so the version has another hash."""
    scene = Scene(configuration=config.Config(params={"most": 7}), first=WITH_PARAM)
    back = offer(WITH_PARAM + "# of old\n", is_frozen=True)
    texts_alone = content_hash.hash_policy_texts_and_params(back.texts, {})
    assert texts_alone != scene.checker.compute_hash(back.texts)
    async with scene.running():
        assert await scene.take(back) == ["frozen"]
        assert await scene.take(dataclasses.replace(back, demanded=texts_alone)) == ["loaded"]
        assert scene.state.current.hash == scene.checker.compute_hash(back.texts)
        assert await scene.place("a") == "east"


@pytest.mark.parametrize(
    "mode, demanded, told",
    [
        pytest.param("refuse", False, "refused", id="an edit"),
        pytest.param("refuse", True, "loaded", id="gone back to"),
        pytest.param("warn", False, "loaded", id="warned of by configuration"),
    ],
)
@asynchronous
async def test_errors_of_lint(
    mode: str, demanded: bool, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """They refuse an edit; a version that served before, by an older release, is warned of."""
    policies = config.PoliciesConfig(lint_errors=mode)  # type: ignore[arg-type]  # one of two words
    scene = Scene(configuration=config.Config(policies=policies))
    texts = offer(EAST, NEVER).texts
    async with scene.running():
        name = scene.checker.compute_hash(texts) if demanded else ""
        assert await scene.take(versions.OfferedVersion(texts, demanded=name)) == [told]
    assert "PS201" in caplog.text
    assert "1.policy:2:41" in caplog.text
    if told == "loaded":
        assert any("PS201" in warning for warning in scene.state.current.warnings)
    else:
        assert "`# policysched: ignore[PS201] WHY`" in scene.told[-1].errors


@asynchronous
async def test_the_newest_offer_wins() -> None:
    """Versions that were replaced before anybody looked are never used."""
    scene = Scene()
    async with scene.running():
        assert await scene.take(offer(BAD), offer(EAST, ""), offer(WEST)) == ["loaded"]
        assert await scene.place("a") == "west"


@asynchronous
async def test_profiles_come_and_go(caplog: pytest.LogCaptureFixture) -> None:
    """Pods of a profile that is gone are left alone, which is told; those of a new one are served.

    A pod that it has found no node for says so, and looks as if some scheduler cared for it.
    """
    scene = Scene(first="profile one { }\n")
    async with scene.running():
        for name in ("one", "two"):
            scene.world.add_pod(
                builders.make_pod(name).scheduler_name(name).node_selector({"side": "none"})
            )
        await scene.world.settle()
        assert (scene.world.where("one"), scene.world.where("two")) == ("unschedulable", "gone")
        assert await scene.take(offer("profile two { }\n")) == ["loaded"]
        await scene.world.settle()
        assert (scene.world.where("one"), scene.world.where("two")) == ("gone", "unschedulable")
    assert "the profile `one` no longer exists; 1 waiting pods" in caplog.text
    assert "the profile `two` no longer exists" not in caplog.text


@asynchronous
async def test_a_pod_that_waits_for_permit_keeps_what_was_decided() -> None:
    """It is bound where it was to be, though the new version forbids the node."""
    scene = Scene()
    permits = fakes.Scripted(permit_answer=status.Status(status.Code.WAIT))
    framework = scene.world.framework((fakes.Sort(), fakes.Room(), permits, scene.world.bind))
    scene.world.scheduler.set_profiles({"policysched": framework})
    async with scene.running():
        scene.world.add_pod(builders.make_pod("a").scheduler_name("policysched"))
        await scene.world.settle()
        node = scene.world.cache.get_node_of_pod("uid-default-a")
        other = WEST if node == "east" else EAST.replace("policy east", "policy only-east")
        assert await scene.take(offer(other)) == ["loaded"]
        assert scene.world.waiting.allow("uid-default-a", permits.name)
        await scene.world.settle()
        assert scene.world.bind.bound == [("a", node)]


@asynchronous
async def test_former_versions_are_forgotten() -> None:
    """However often policies are edited, one version is held in memory."""

    def frameworks() -> int:
        gc.collect()
        return sum(isinstance(each, runtime.Framework) for each in gc.get_objects())

    scene = Scene()
    async with scene.running():
        await scene.take(offer(WEST))
        await scene.place("first")
        before = frameworks()
        for number in range(10):
            await scene.take(offer(EAST, f"# {number}\n"))
            await scene.place(f"pod-{number}")
        # Fewer if what tests before this one left has been freed meanwhile.
        assert frameworks() <= before


@asynchronous
async def test_what_a_former_version_left_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plugins that hold themselves go once no version comes for a while, not at some time."""

    def spread_plugins() -> int:
        kind = pod_topology_spread.PodTopologySpread
        return sum(isinstance(each, kind) for each in gc.get_objects())

    monkeypatch.setattr(reloader, "QUIET_SECONDS", 0.01)
    scene = Scene()
    gc.collect()
    gc.disable()
    try:
        in_use = spread_plugins()
        async with scene.running():
            await scene.take(offer(WEST))
            await scene.take(offer(EAST))
            while spread_plugins() > in_use:  # noqa: ASYNC110 - what is freed tells nobody
                await asyncio.sleep(0.001)
    finally:
        gc.enable()


class _SlowMetrics:
    """A source of metrics whose answers come when a test says so."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def run(self, *_: object) -> NoReturn:
        raise AssertionError

    async def wait_until_metrics_asked(self) -> None:
        await self.asked.wait()

    def set_metrics(self, *_: object) -> None:
        """Ask for these; nothing is known of them yet."""
        self.asked.clear()

    def get_server_health(self) -> tuple[status_of_metrics.SourceHealth, ...]:
        return ()

    def get_metric_stats(self) -> tuple[status_of_metrics.MetricStats, ...]:
        return ()


@pytest.mark.parametrize("answers", [True, False], ids=["answers", "never answers"])
@asynchronous
async def test_pods_wait_for_the_metrics_of_a_new_version(
    monkeypatch: pytest.MonkeyPatch,
    answers: bool,
) -> None:
    """No pod is scheduled between a reload and the first answers, which are waited for a while."""
    monkeypatch.setattr(metrics_source, "_FIRST_METRICS_SECONDS", 60.0 if answers else 0.02)
    metrics = _SlowMetrics()
    scene = Scene(metrics)
    async with scene.running():
        scene.reloads.submit_offer(offer(METRIC, WEST))
        while not scene.told:  # noqa: ASYNC110 - a thread is at work, whose end tells nobody
            await asyncio.sleep(0.001)
        scene.world.add_pod(builders.make_pod("early").scheduler_name("policysched"))
        assert not scene.world.scheduler.schedule_one()
        if answers:
            metrics.asked.set()
        while scene.reloads.is_busy:  # noqa: ASYNC110 - likewise
            await asyncio.sleep(0.001)
        assert scene.world.scheduler.schedule_one()
        assert await scene.place("late") == "west"


@asynchronous
async def test_a_version_that_mends_another_does_not_wait_for_its_metrics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They may never come; the same version again, as with each annotation, ends no waiting."""
    monkeypatch.setattr(metrics_source, "_FIRST_METRICS_SECONDS", 600.0)
    metrics = _SlowMetrics()
    scene = Scene(metrics)
    async with scene.running(), asyncio.timeout(60.0):
        blind = offer(METRIC, WEST)
        scene.reloads.submit_offer(blind)
        while not scene.told:  # noqa: ASYNC110 - a thread is at work, whose end tells nobody
            await asyncio.sleep(0.001)
        scene.reloads.submit_offer(blind)
        for _ in range(10):
            await asyncio.sleep(0)
        scene.world.add_pod(builders.make_pod("early").scheduler_name("policysched"))
        assert not scene.world.scheduler.schedule_one()
        scene.reloads.submit_offer(offer(EAST))
        while len(scene.told) < 2:  # noqa: ASYNC110 - likewise
            await asyncio.sleep(0.001)
        metrics.asked.set()
        while scene.reloads.is_busy:  # noqa: ASYNC110 - likewise
            await asyncio.sleep(0.001)
        assert await scene.place("late") == "east"
