"""A scheduler with its pages below /debug/, on a port of its own and in a thread of its own.

The pages are those of `run`; nodes and pods are those of the test.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import threading
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, Self, TypeVar

import msgspec

from policysched.app import page_data
from policysched.config import addresses, config, election_config
from policysched.framework import handles, profile
from policysched.lang import source
from policysched.profiles import policies
from policysched.reload import state as states
from policysched.reload import versions
from policysched.rollout import progress
from policysched.serving import http_server, static_files
from tests import builders
from tests.realcluster import process
from tests.scheduler import fakes

TOKEN = "the-token-of-the-test"
ORIGIN = "configmap sched/policies"
POLICY = """\
policy web {
  for pods
  nodeAffinity required disk = ssd as fast
  score LeastAllocated(cpu: 1) weight 5 as room
}
"""
_LIMIT_SECONDS = 60.0

ResultT = TypeVar("ResultT")


def make_process(world: fakes.World, *, is_leading: bool = True, holder: str = "") -> Any:
    """Return the parts of a process that the pages read, with the pages."""
    texts = (source.SourceText("web.policy", POLICY),)
    joined = SimpleNamespace(
        options=SimpleNamespace(dry_run=False),
        config=config.Config(serving=config.ServingConfig(page=True)),
        election=election_config.LeaderElectionConfig(leader_elect=bool(holder)),
        clock=world.clock,
        connection=SimpleNamespace(own_namespace="sched"),
        elector=SimpleNamespace(is_leading=is_leading, holder=holder),
        scheduler=world.scheduler,
        policies=states.PolicyState(ORIGIN, states.VersionInUse("900d", texts, builders.EPOCH)),
        profiles=SimpleNamespace(
            policy_set=SimpleNamespace(node_metrics=[]),
            current=SimpleNamespace(by_name=_make_profiles()),
        ),
        metrics=None,
        stopping=asyncio.Event(),
        pages={},
    )
    page_data.add_page_data(joined)  # type: ignore[arg-type]  # the parts that it reads
    return joined


def enter_stage(joined: Any, **changes: Any) -> None:
    """Let version beef enter the second of three stages; `changes` are fields of its state."""
    state = progress.RolloutState(
        "beef",
        "900d",
        builders.EPOCH,
        builders.EPOCH,
        stage=1,
        stage_count=3,
        stage_name="10 % of the workloads",
        guards=("pending: 0.02 <= 0.05", "slow: not queried yet"),
        judged_pods=12,
        min_pods=20,
    )
    joined.policies.rollout = msgspec.structs.replace(state, **changes)
    joined.policies.record_staged_version("beef")


def roll_back(joined: Any) -> None:
    """Let a guard trip in the stage of version beef."""
    reason = "stage 2 of 3 (10 % of the workloads): pending: 0.3 > 0.05"
    policies_state = joined.policies
    policies_state.rollout = progress.end_rollout(
        policies_state.rollout, progress.RolloutStatus.ROLLED_BACK, reason, builders.EPOCH
    )
    refusal = versions.VersionRefusal("beef", reason, reason, ValueError())
    policies_state.record_rolled_back_version(refusal, builders.EPOCH)


def _make_profiles() -> dict[str, profile.Profile]:
    found = policies.make_policy_set_from_texts([source.SourceText("web.policy", POLICY)], {})
    return dict(policies.require_profiles(policies.make_profiles(found, handles.Handle())).by_name)


class _TokenGuard:
    """Lets in whoever has the token.

    Attributes:
        token: the token of now.
        status: what others get.
        asked: number of requests; each sets `was_asked`.
    """

    def __init__(self) -> None:
        self.token = TOKEN
        self.status = 401
        self.asked = 0
        self.was_asked = threading.Event()

    async def find_denial_page(self, asker: http_server.PageRequest) -> http_server.HttpPage | None:
        """Refuse requests without the token, and repeat what they sent."""
        if asker.path.startswith("/ui/"):
            return None
        self.asked += 1
        self.was_asked.set()
        if asker.authorization == f"Bearer {self.token}":
            return None
        return http_server.HttpPage(f"no: {asker.authorization}\n".encode(), status=self.status)


class RunningScheduler:
    """The scheduler; while it runs, only `do` may touch it.

    Attributes:
        url: the address of its port; its own page is below /ui/.
        guard: decides who gets in.
        missing: paths that it does not have, as an older scheduler.
        is_leading, holder: of its lease.
    """

    def __init__(
        self,
        *,
        missing: tuple[str, ...] = (),
        is_leading: bool = True,
        holder: str = "",
    ) -> None:
        self.port = process.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.guard = _TokenGuard()
        self.world: fakes.World
        self.joined: Any
        self._missing = missing
        self._is_leading = is_leading
        self._holder = holder
        self._runs = 0
        self._loop: asyncio.AbstractEventLoop
        self._thread: threading.Thread | None = None
        self._ending: asyncio.Event

    def start(self) -> None:
        """Start another run of the process, which knows nothing of the one before."""
        started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)))
        self._thread.start()
        assert started.wait(_LIMIT_SECONDS)

    def stop(self) -> None:
        """End the process."""
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._ending.set)
            self._thread.join(_LIMIT_SECONDS)
            self._thread = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def do(self, work: Callable[[fakes.World], Awaitable[ResultT]]) -> ResultT:
        """Run a coroutine in the thread of the scheduler, and return its result."""

        async def run() -> ResultT:
            return await work(self.world)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(_LIMIT_SECONDS)

    def schedule(self, *pods: str | builders.PodBuilder) -> None:
        """Let pods arrive, and try each once."""

        async def arrive(world: fakes.World) -> None:
            for pod in pods:
                world.add_pod(pod)
            await world.settle()

        self.do(arrive)

    def change(self, work: Callable[[Any], object]) -> None:
        """Call a function with the parts of the process, in its thread."""

        async def run(_: fakes.World) -> None:
            work(self.joined)

        self.do(run)

    def change_answers(self, path: str, edit: Callable[[Any], None]) -> None:
        """Let a function edit each answer of the page at `path`."""

        def wrap(joined: Any) -> None:
            make = joined.pages[path]

            async def make_edited(query: http_server.QueryParameters) -> http_server.HttpPage:
                made = make(query)
                page = await made if inspect.isawaitable(made) else made
                answer = json.loads(page.body)
                edit(answer)
                return http_server.make_json_page(answer)

            joined.pages[path] = make_edited

        self.change(wrap)

    async def _serve(self, started: threading.Event) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        self.world = fakes.World(policies=("web",))
        self._runs += 1
        self.world.clock.advance(60.0 * self._runs)  # a process starts later than the one before
        self.joined = make_process(self.world, is_leading=self._is_leading, holder=self._holder)
        for path in self._missing:
            self.joined.pages.pop(path, None)
        self.joined.pages.update(static_files.load_static_pages("/ui/"))
        server = http_server.HttpServer(
            addresses.ListenAddress("127.0.0.1", self.port), self.joined.pages, guard=self.guard
        )
        serving = asyncio.create_task(server.run())
        started.set()
        await self._ending.wait()
        self.joined.stopping.set()
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving
