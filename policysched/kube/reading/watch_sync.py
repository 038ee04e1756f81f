"""Delay scheduling until all objects that decisions depend on have been listed.

If the API server refuses to list or watch a resource, no pod is scheduled, as in kube-scheduler:
without that resource, decisions would be wrong, and no message would show it. The log regularly
names the missing resources.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from policysched.kube import errors as kube_errors
from policysched.kube.reading import resources

_log = logging.getLogger("policysched")

EVERYBODY = "every decision"
"""Reader of a resource that is required even if all plugins are disabled."""
FIRST_SECONDS = 5.0
"""Delay before the log first names the missing resources."""
AGAIN_SECONDS = 30.0

_CORE = "/api/"


class WatchState(Protocol):
    """The state of one watch; see `kube.reading.reflector.Reflector`."""

    @property
    def resource(self) -> resources.ApiResource[Any]:
        """Return the watched resource."""
        ...

    @property
    def synced(self) -> asyncio.Event:
        """Return the event that is set once all objects have been listed."""
        ...

    @property
    def followed(self) -> asyncio.Event:
        """Return the event that is set once a watch has begun."""
        ...

    @property
    def last_error(self) -> kube_errors.KubeError | None:
        """Return the failure of the last attempt, or None after a success."""
        ...


class WatchSync:
    """Determines when enough resources are listed to start scheduling.

    Attributes:
        is_ready: whether scheduling can begin or has begun.
    """

    def __init__(self, watches: Iterable[WatchState], what: str = "pod") -> None:
        """Wait for `watches`; in messages, `what` names the objects to be scheduled."""
        self.is_ready = False
        self._by_name = {each.resource.name: each for each in watches}
        self._what = what

    async def wait_until_synced(self, readers_now: Callable[[], Mapping[str, list[str]]]) -> None:
        """Wait until all resources that have a reader are listed.

        Args:
            readers_now: returns the current readers, keyed by the name of the resource; called
                repeatedly.
        """
        seconds = FIRST_SECONDS
        while True:
            readers = readers_now()
            if await self._wait_until_watches_begun(
                readers, seconds
            ) or not self.find_unsynced_resources(readers):
                break
            self._warn_of_unsynced_resources(readers)
            seconds = AGAIN_SECONDS
        self.is_ready = True

    def describe_unsynced_resources(self, names: Iterable[str]) -> str:
        """Return a message that names the missing resources, or "" if scheduling can begin."""
        missing = [] if self.is_ready else self.find_unsynced_resources(names)
        return f"not listed yet: {', '.join(missing)}" if missing else ""

    async def _wait_until_watches_begun(self, names: Iterable[str], seconds: float) -> bool:
        """Wait at most `seconds` until all watches have begun; return whether they have.

        A watch that has begun is known to be permitted. The wait is limited because a proxy can
        hold back the start of an answer until it has content.
        """
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(self._by_name[name].followed.wait() for name in names))
        except TimeoutError:
            return False
        return True

    def find_unsynced_resources(self, names: Iterable[str]) -> list[str]:
        """Return the names of the resources that are not listed yet."""
        return [name for name in names if not self._is_synced(self._by_name[name])]

    @staticmethod
    def _is_synced(watch: WatchState) -> bool:
        is_refused = isinstance(watch.last_error, kube_errors.ForbiddenError)
        has_been_followed = watch.followed.is_set()
        return has_been_followed or (watch.synced.is_set() and not is_refused)

    def _warn_of_unsynced_resources(self, readers: Mapping[str, list[str]]) -> None:
        """Log each missing resource with its readers and the last failure."""
        for name in self.find_unsynced_resources(readers):
            watch = self._by_name[name]
            _log.warning(
                "no %s is scheduled before %s are listed (needed by %s): %s%s",
                self._what,
                name,
                ", ".join(readers[name]),
                watch.last_error or "no complete answer yet",
                _format_unsynced_advice(watch, readers[name]),
            )


def _format_unsynced_advice(watch: WatchState, plugins: list[str]) -> str:
    if not isinstance(watch.last_error, kube_errors.ForbiddenError):
        return ""
    group = "" if watch.resource.path.startswith(_CORE) else watch.resource.path.split("/")[2]
    told = f'; grant the verbs list and watch on {watch.resource.name} in the API group "{group}"'
    if EVERYBODY in plugins:
        return told
    return f"{told}, or disable {', '.join(plugins)} in all profiles"
