from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from policysched import clock as clocks
from policysched.app import cluster_sync, health_checks
from policysched.serving import http_server
from tests import builders


class Watch:
    """A watch that tells when the test says so."""

    def __init__(self, name: str) -> None:
        self.resource: Any = SimpleNamespace(name=name)
        self.synced = asyncio.Event()
        self.followed = asyncio.Event()
        self.last_error = None

    def tell(self) -> None:
        """Tell of everything, and go on."""
        self.synced.set()
        self.followed.set()


class Process:
    """As much of a process as is checked: it leads, and a pod is ready to be scheduled.

    Attributes:
        elector, scheduler, stopping, watches: what a test changes.
    """

    def __init__(self) -> None:
        self.clock = clocks.ManualClock(builders.EPOCH)
        self.elector = SimpleNamespace(is_leading=True, late_seconds=0.0)
        self.elector.overdue_seconds = lambda: self.elector.late_seconds
        self.active = 1
        self.scheduler = SimpleNamespace(
            counters=SimpleNamespace(attempts={("policysched", "scheduled"): 5}),
            queue=SimpleNamespace(count_pending_pods=lambda: {"active": self.active}),
            bindings_in_flight=0,
        )
        self.watches = {name: Watch(name) for name in ("nodes", "namespaces", "pods")}
        self.pods = self.watches["pods"]
        self.sync = cluster_sync.ClusterSync(self.watches.values())
        self.stopping = asyncio.Event()
        self.profiles = SimpleNamespace(
            current=SimpleNamespace(by_name={"policysched": None}), get_profiles=lambda: ()
        )
        joined: Any = SimpleNamespace(
            clock=self.clock,
            elector=self.elector,
            scheduler=self.scheduler,
            reflectors=SimpleNamespace(pods=self.pods),
            sync=self.sync,
            profiles=self.profiles,
            stopping=self.stopping,
            config=SimpleNamespace(parallel_binds=4),
        )
        self._pages = health_checks.make_scheduler_health_checks(joined).make_pages()

    def begin(self) -> None:
        """List everything; scheduling begins."""
        for each in self.watches.values():
            each.tell()
        asyncio.run(self.sync.wait_until_profiles_synced(lambda: ()))

    def failing(self, kind: str) -> list[str]:
        """Return the checks of /livez or /readyz that fail."""
        page = self._pages[f"/{kind}"](http_server.QueryParameters({"verbose": ("",)}))
        assert isinstance(page, http_server.HttpPage)
        lines = page.body.decode().splitlines()
        return [line[3:].split()[0] for line in lines if line.startswith("[-]")]

    def probe_for(self, minutes: int) -> list[str]:
        """Return what fails after so long, asked every ten seconds as the kubelet does."""
        for _ in range(minutes * 6):
            self.failing("livez")
            self.clock.advance(10.0)
        return self.failing("livez")


def test_a_process_is_ready_once_everything_is_listed() -> None:
    """Until then it lives, but is of no use."""
    process = Process()
    assert process.failing("readyz") == ["informer-sync"]
    assert process.failing("livez") == []
    process.pods.tell()
    assert process.failing("readyz") == ["informer-sync"]
    process.begin()
    assert process.failing("readyz") == []


def test_a_new_leader_that_lists_pods_again_stays_ready() -> None:
    """Else a takeover would take the pod out of its service, and stop a rollout."""
    process = Process()
    process.begin()
    process.failing("readyz")
    process.pods.synced.clear()
    assert process.failing("readyz") == []


def test_a_standby_is_ready() -> None:
    """It is warm: the same caches, without the lease."""
    process = Process()
    process.begin()
    process.elector.is_leading = False
    assert process.failing("readyz") == []


def test_a_process_that_ends_is_not_ready_but_lives() -> None:
    """It finishes what it has begun; nobody should kill it meanwhile."""
    process = Process()
    process.begin()
    process.stopping.set()
    assert process.failing("readyz") == ["shutdown"]
    assert process.failing("livez") == []


def test_without_profiles_a_process_is_not_ready() -> None:
    """There is nothing to schedule by."""
    process = Process()
    process.begin()
    process.profiles.current.by_name.clear()
    assert process.failing("readyz") == ["policies"]


@pytest.mark.parametrize(
    "late_seconds, failing",
    [
        pytest.param(0.0, [], id="leads"),
        pytest.param(20.0, [], id="a-little-late"),
        pytest.param(20.5, ["leaderElection"], id="hangs"),
    ],
)
def test_an_election_that_hangs_ends_the_process(late_seconds: float, failing: list[str]) -> None:
    """Nobody leads as long as it does."""
    process = Process()
    process.begin()
    process.elector.late_seconds = late_seconds
    assert process.failing("livez") == failing
    assert process.failing("readyz") == failing


def test_pods_that_nobody_tries_end_the_process() -> None:
    """The loop hangs, for the queue gives pods out to whoever asks."""
    process = Process()
    process.begin()
    assert process.probe_for(minutes=1) == []
    assert process.probe_for(minutes=2) == ["scheduling"]


@pytest.mark.parametrize("reason", ["tries", "empty", "standby", "stopping", "listing", "binding"])
def test_a_loop_that_has_nothing_to_do_lives(reason: str) -> None:
    """Or that waits for the API server, where a new process would wait as well."""
    process = Process()
    process.begin()
    match reason:
        case "empty":
            process.active = 0
        case "standby":
            process.elector.is_leading = False
        case "stopping":
            process.stopping.set()
        case "listing":
            process.pods.synced.clear()
        case "binding":
            process.scheduler.bindings_in_flight = 4
        case _:
            pass
    for attempts in range(4):
        assert process.probe_for(minutes=1) == []
        if reason == "tries":
            process.scheduler.counters.attempts["policysched", "error"] = attempts + 1
