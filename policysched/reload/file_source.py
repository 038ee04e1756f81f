"""Policies in files and folders, looked at again and again.

A mounted ConfigMap is swapped at once, by its link `..data`; editors and tools write files in
place, in parts, or one after the other. So a version counts only when two readings in a row are
equal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn

from policysched import errors, process
from policysched.inputs import policy_sources
from policysched.reload import versions

SETTLE_SECONDS = 0.25
"""How long files must not change; whoever writes them pauses less."""


class PolicyFileSource:
    """Offers what is at some paths.

    Attributes:
        origin: the paths.
    """

    def __init__(
        self,
        paths: Sequence[str],
        check_every_seconds: float,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Prepare; `policy_sources.read_policy_texts` has `paths`, but no standard input here."""
        self.origin = ", ".join(paths)
        self._paths = tuple(paths)
        self._check_every_seconds = check_every_seconds
        self._sleep = sleep

    def read_settled_version(self) -> versions.OfferedVersion:
        """Return what is there, read twice in a row.

        Raises:
            InputError: it cannot be read, or holds no policies.
        """
        found = self._read_paths()
        while (again := self._read_paths()) != found:
            found = again
        return found

    async def read_first(self) -> versions.OfferedVersion:
        """Return what is there, or why that cannot be read."""
        return await process.run_in_thread(self._read_paths_or_problem)

    async def run(
        self, take: Callable[[versions.OfferedVersion], None], known: versions.OfferedVersion
    ) -> NoReturn:
        """Hand on what differs from `known`, as soon as it has settled."""
        while True:
            await self._sleep(self._check_every_seconds)
            found = await process.run_in_thread(self._read_paths_or_problem)
            if found != known:
                known = await self._wait_until_settled(found)
                take(known)

    async def _wait_until_settled(self, found: versions.OfferedVersion) -> versions.OfferedVersion:
        while True:
            await self._sleep(SETTLE_SECONDS)
            again = await process.run_in_thread(self._read_paths_or_problem)
            if again == found:
                return found
            found = again

    def _read_paths_or_problem(self) -> versions.OfferedVersion:
        try:
            return self._read_paths()
        except errors.InputError as error:
            return versions.OfferedVersion(problem=str(error))

    def _read_paths(self) -> versions.OfferedVersion:
        return versions.OfferedVersion(tuple(policy_sources.read_policy_texts(self._paths)))


class ReadOncePolicySource:
    """Offers what could be read but once, from a pipe or standard input, and never changes.

    Attributes:
        origin: the paths.
    """

    def __init__(self, paths: Sequence[str], offer: versions.OfferedVersion) -> None:
        """Offer what has been read at `paths`."""
        self.origin = ", ".join(
            policy_sources.STDIN_NAME if path == policy_sources.STDIN else path for path in paths
        )
        self._offer = offer

    async def read_first(self) -> versions.OfferedVersion:
        """Return it."""
        return self._offer

    async def run(
        self, take: Callable[[versions.OfferedVersion], None], known: versions.OfferedVersion
    ) -> NoReturn:
        """Hand on nothing."""
        while True:
            await asyncio.Event().wait()
