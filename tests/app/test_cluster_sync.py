"""What has to be known before a pod is scheduled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from policysched import errors
from policysched.app import cluster_sync
from policysched.framework import profile
from policysched.kube import errors as kube_errors
from policysched.kube.reading import resources, watch_sync
from policysched.plugins import defaults
from policysched.profiles import needed_kinds

FORBIDDEN = kube_errors.ForbiddenError(403, "Forbidden", "no rights")
OUTAGE = kube_errors.TransportError("connection refused", may_have_arrived=False)
ALL: list[resources.ApiResource[Any]] = [
    *(resources.PODS, resources.NODES, resources.NAMESPACES, resources.BUDGETS),
    *resources.OWNERS.values(),
    *resources.STORAGE.values(),
    *resources.DEVICES.values(),
]
STORAGE = {each.name for each in resources.STORAGE.values()}


class FakeWatch:
    """A watch whose state a test sets."""

    def __init__(self, resource: resources.ApiResource[Any]) -> None:
        """Know nothing yet."""
        self.resource = resource
        self.synced = asyncio.Event()
        self.followed = asyncio.Event()
        self.last_error: kube_errors.KubeError | None = None

    def succeed(self) -> None:
        """List all and watch."""
        self.synced.set()
        self.followed.set()


class Plugin:
    """A plugin of which only the name matters."""

    def __init__(self, name: str) -> None:
        """Have a name."""
        self.name = name


def _profile(*plugins: str) -> profile.Profile:
    return profile.Profile("p", tuple(map(Plugin, plugins)), {})


DEFAULT = _profile(*(plugin.name for plugin in defaults.DEFAULT_PLUGINS))
MODEST = _profile("NodeResourcesFit", "Policy")


class Scene:
    """Watches of all kinds, and who waits for them."""

    def __init__(self) -> None:
        """Start with nothing listed."""
        self.watches = {each.name: FakeWatch(each) for each in ALL}
        self.sync = cluster_sync.ClusterSync(self.watches.values())

    def succeed(self, *but: str) -> None:
        """List and watch everything, `but` these."""
        for name, watch in self.watches.items():
            if name not in but:
                watch.succeed()

    async def is_ready(self, *profiles: profile.Profile) -> bool:
        """Return whether scheduling begins, as far as can be told in a few turns."""
        task = asyncio.create_task(self.sync.wait_until_profiles_synced(lambda: profiles))
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return self.sync.is_ready


@pytest.fixture
def scene() -> Scene:
    """Return watches that know nothing yet."""
    return Scene()


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody wait long for what does not come."""
    monkeypatch.setattr(watch_sync, "FIRST_SECONDS", 0.001)
    monkeypatch.setattr(watch_sync, "AGAIN_SECONDS", 0.001)


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - the logs of another task have no event
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("missing", sorted(each.name for each in ALL))
def test_the_default_profile_waits_for_every_kind(scene: Scene, missing: str) -> None:
    """Each of them decides about some pod."""
    scene.succeed(missing)
    assert not asyncio.run(scene.is_ready(DEFAULT))
    assert scene.sync.describe_unsynced_profiles([DEFAULT]) == f"not listed yet: {missing}"
    scene.watches[missing].succeed()
    assert asyncio.run(scene.is_ready(DEFAULT))
    assert scene.sync.describe_unsynced_profiles([DEFAULT]) == ""


def test_kinds_that_no_plugin_reads_are_not_waited_for(scene: Scene) -> None:
    """Who has disabled the volume plugins needs no rights on volumes, as in kube-scheduler."""
    scene.succeed(*STORAGE, "poddisruptionbudgets", "services", "replicasets")
    assert asyncio.run(scene.is_ready(MODEST))


def test_plugins_of_others_may_read_everything(scene: Scene) -> None:
    """Nobody knows what they do with what they are handed."""
    scene.succeed("poddisruptionbudgets")
    assert not asyncio.run(scene.is_ready(MODEST, _profile("Theirs")))


def test_names_of_the_table_are_those_of_kinds_and_plugins() -> None:
    """A misspelt name would never be waited for."""
    built_in = {plugin.name for plugin in defaults.DEFAULT_PLUGINS}
    assert set(needed_kinds.BY_PLUGIN) <= built_in
    assert set(needed_kinds.find_plugins_by_resource([DEFAULT])) == {each.name for each in ALL}
    read = {resource for kinds in needed_kinds.BY_PLUGIN.values() for resource in kinds}
    assert read | {"nodes", "pods", "namespaces"} == {each.name for each in ALL}


@pytest.mark.usefixtures("hurried")
def test_a_kind_that_may_be_listed_and_not_watched_is_not_known(scene: Scene) -> None:
    """What was listed would grow old unseen; a watch that is merely slow to begin is waited for."""

    async def scenario() -> None:
        scene.succeed("csinodes")
        watch = scene.watches["csinodes"]
        watch.synced.set()
        watch.last_error = FORBIDDEN
        task = asyncio.create_task(scene.sync.wait_until_profiles_synced(lambda: [DEFAULT]))
        await asyncio.sleep(0.02)
        assert not scene.sync.is_ready
        watch.last_error = None
        await task

    asyncio.run(scenario())
    assert scene.sync.is_ready


@pytest.mark.usefixtures("hurried")
def test_what_is_missing_is_told_again_and_again(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """Verbs, resource, API group, who needs it, and what else could be done."""

    async def scenario() -> None:
        scene.succeed("csinodes", "persistentvolumes", "nodes", "pods")
        scene.watches["csinodes"].last_error = FORBIDDEN
        scene.watches["persistentvolumes"].last_error = FORBIDDEN
        scene.watches["nodes"].last_error = OUTAGE
        task = asyncio.create_task(scene.sync.wait_until_profiles_synced(lambda: [DEFAULT]))
        await _until(lambda: len(caplog.records) >= 12)
        scene.succeed()
        await task

    asyncio.run(scenario())
    refused = "the API server answered 403 Forbidden: no rights; grant the verbs list and watch on"
    storage = f'{refused} csinodes in the API group "storage.k8s.io"'
    core = f'{refused} persistentvolumes in the API group ""'
    limits, volumes = (
        "NodeVolumeLimits, VolumeBinding",
        "NodeVolumeLimits, VolumeBinding, VolumeZone",
    )
    told = {
        "csinodes": f"{limits}): {storage}, or disable {limits} in all profiles",
        "persistentvolumes": f"{volumes}): {core}, or disable {volumes} in all profiles",
        "nodes": "every decision): connection refused",
        "pods": "every decision): no complete answer yet",
    }
    assert {record.getMessage() for record in caplog.records} == {
        f"no pod is scheduled before {name} are listed (needed by {rest}"
        for name, rest in told.items()
    }


def test_a_version_of_the_policies_that_reads_what_is_not_known_is_refused(scene: Scene) -> None:
    """While scheduling goes on; before it begins, it waits for what the newest version reads."""
    scene.sync.require_synced([DEFAULT])
    scene.succeed("persistentvolumeclaims")
    assert asyncio.run(scene.is_ready(MODEST))
    with pytest.raises(errors.ConfigurationError) as caught:
        scene.sync.require_synced([_profile("VolumeRestrictions")])
    assert str(caught.value) == (
        "profiles: the API server has not yet allowed list and watch of persistentvolumeclaims "
        "(read by VolumeRestrictions)"
    )
    scene.sync.require_synced([_profile("DefaultPreemption")])
