"""Nothing is scheduled before everything is known that decides about it.

A kind that the API server refuses to list or to watch holds up everything, as it does in
kube-scheduler: without it, decisions would be wrong, and no message would show it. The log names
again and again what is missing.
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
"""The reader of a kind that no plugin can be disabled for."""
FIRST_SECONDS = 5.0
"""After so long the log says what is still missing."""
AGAIN_SECONDS = 30.0

_CORE = "/api/"


class KindWatch(Protocol):
    """Follows one kind; see `kube.reading.reflector.Reflector`."""

    @property
    def resource(self) -> resources.ApiResource[Any]:
        """What it follows."""
        ...

    @property
    def synced(self) -> asyncio.Event:
        """Set once all objects have been listed."""
        ...

    @property
    def followed(self) -> asyncio.Event:
        """Set once a watch has begun."""
        ...

    @property
    def last_error(self) -> kube_errors.KubeError | None:
        """Why the newest attempt failed, None while all is well."""
        ...


class WatchSync:
    """Says when enough is known of what is watched.

    Attributes:
        is_ready: whether scheduling may begin, or has begun.
    """

    def __init__(self, watches: Iterable[KindWatch], what: str = "pod") -> None:
        """Look at `watches`; `what` is what is not scheduled before."""
        self.is_ready = False
        self._by_name = {each.resource.name: each for each in watches}
        self._what = what

    async def wait_until_synced(self, readers_now: Callable[[], Mapping[str, list[str]]]) -> None:
        """Return when all is known that anybody reads.

        Args:
            readers_now: returns who reads what, by the name of the resource; it may change.
        """
        seconds = FIRST_SECONDS
        while True:
            readers = readers_now()
            if await self._wait_until_followed(
                readers, seconds
            ) or not self.find_unsynced_resources(readers):
                break
            self._warn_of_unsynced_resources(readers)
            seconds = AGAIN_SECONDS
        self.is_ready = True

    def describe_unsynced_resources(self, names: Iterable[str]) -> str:
        """Return which of these resources are missing, "" where scheduling may begin."""
        missing = [] if self.is_ready else self.find_unsynced_resources(names)
        return f"not listed yet: {', '.join(missing)}" if missing else ""

    async def _wait_until_followed(self, names: Iterable[str], seconds: float) -> bool:
        """Wait until watches have begun, which shows that they are allowed; not for ever.

        A proxy may hold back the beginning of an answer until there is something in it.
        """
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(self._by_name[name].followed.wait() for name in names))
        except TimeoutError:
            return False
        return True

    def find_unsynced_resources(self, names: Iterable[str]) -> list[str]:
        """Return which of these resources are not known yet."""
        return [name for name in names if not self._is_synced(self._by_name[name])]

    @staticmethod
    def _is_synced(watch: KindWatch) -> bool:
        is_refused = isinstance(watch.last_error, kube_errors.ForbiddenError)
        has_been_followed = watch.followed.is_set()
        return has_been_followed or (watch.synced.is_set() and not is_refused)

    def _warn_of_unsynced_resources(self, readers: Mapping[str, list[str]]) -> None:
        for name in self.find_unsynced_resources(readers):
            watch = self._by_name[name]
            _log.warning(
                "no %s is scheduled before %s are known (needed by %s): %s%s",
                self._what,
                name,
                ", ".join(readers[name]),
                watch.last_error or "no complete answer yet",
                _format_unsynced_advice(watch, readers[name]),
            )


def _format_unsynced_advice(watch: KindWatch, plugins: list[str]) -> str:
    if not isinstance(watch.last_error, kube_errors.ForbiddenError):
        return ""
    group = "" if watch.resource.path.startswith(_CORE) else watch.resource.path.split("/")[2]
    told = f'; grant the verbs list and watch on {watch.resource.name} in the API group "{group}"'
    if EVERYBODY in plugins:
        return told
    return f"{told}, or disable {', '.join(plugins)} in all profiles"
