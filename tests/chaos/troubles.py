"""What can be wrong for a while, each as a context: wrong inside, right again behind it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import signal
import threading
from typing import TYPE_CHECKING

from tests.realcluster import faults, faulty_proxy

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Mapping

    from tests.e2e.scenes import jumping_clock, scheduler_process
    from tests.realcluster import control_plane as control_planes

_CUT_SECONDS = 0.5


@dataclasses.dataclass(frozen=True)
class Scene:
    """Everything that can be harmed."""

    plane: control_planes.ControlPlane
    proxy: faulty_proxy.FaultyProxy
    scheduler: scheduler_process.PolicyScheduler
    clock: jumping_clock.JumpingClock
    rng: random.Random


@contextlib.contextmanager
def _api_server_killed(scene: Scene) -> Iterator[None]:
    scene.plane.api_server.kill()
    yield
    scene.plane.api_server.start()
    scene.plane.wait_ready()


@contextlib.contextmanager
def _etcd_killed(scene: Scene) -> Iterator[None]:
    scene.plane.etcd.kill()
    yield
    scene.plane.etcd.start()
    scene.plane.wait_ready()


@contextlib.contextmanager
def _etcd_stopped(scene: Scene) -> Iterator[None]:
    scene.plane.etcd.signal(signal.SIGSTOP)
    yield
    scene.plane.etcd.signal(signal.SIGCONT)
    scene.plane.wait_ready()


@contextlib.contextmanager
def _scheduler_frozen(scene: Scene) -> Iterator[None]:
    scene.scheduler.process.signal(signal.SIGSTOP)
    yield
    scene.scheduler.process.signal(signal.SIGCONT)


@contextlib.contextmanager
def _held(scene: Scene) -> Iterator[None]:
    """Nothing is answered, nothing is refused; what hung then hangs for ever."""
    scene.proxy.hold()
    yield
    scene.proxy.release()


@contextlib.contextmanager
def _watches_cut(scene: Scene) -> Iterator[None]:
    is_over = threading.Event()

    def cut() -> None:
        while not is_over.wait(_CUT_SECONDS):
            scene.proxy.cut_watches()

    cutting = threading.Thread(target=cut, daemon=True)
    cutting.start()
    yield
    is_over.set()
    cutting.join()


@contextlib.contextmanager
def _jump(scene: Scene, *, wall_seconds: float, monotonic_seconds: float = 0.0) -> Iterator[None]:
    scene.clock.jump(wall_seconds, monotonic_seconds)
    yield


@contextlib.contextmanager
def _faults(scene: Scene, make: Callable[[random.Random], faulty_proxy.Plan]) -> Iterator[None]:
    scene.proxy.plan = make(scene.rng)
    yield
    scene.proxy.plan = faulty_proxy.healthy


TROUBLES: Mapping[str, Callable[[Scene], contextlib.AbstractContextManager[None]]] = {
    "api-server": _api_server_killed,
    "etcd-killed": _etcd_killed,
    "etcd-stopped": _etcd_stopped,
    "silence": _held,
    "watches-cut": _watches_cut,
    "frozen": _scheduler_frozen,
    "clock-ahead": functools.partial(_jump, wall_seconds=3600.0),
    "clock-back": functools.partial(_jump, wall_seconds=-7200.0),
    "asleep": functools.partial(_jump, wall_seconds=600.0, monotonic_seconds=600.0),
    **{name: functools.partial(_faults, make=make) for name, make in faults.PLANS.items()},
}

LONGEST_SECONDS = {"clock-ahead": 2.0, "clock-back": 2.0, "asleep": 2.0}
"""Troubles that are moments: so long they are given to show themselves."""
