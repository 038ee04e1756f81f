"""Follow the policies in files and folders by reading them periodically.

A mounted ConfigMap is swapped atomically through its symlink `..data`, but editors and tools write
files in place, in parts, or one after the other. Therefore a version is used only if two
consecutive reads are equal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn

from policysched import errors, process
from policysched.inputs import policy_sources
from policysched.lang import source
from policysched.reload import versions

SETTLE_SECONDS = 0.25
"""Time without changes after which files count as settled; longer than pauses between writes."""


class PolicyFileSource:
    """Offers the policies in files and folders.

    Attributes:
        origin: the paths.
        watched: None, because no ConfigMap is watched.
    """

    def __init__(
        self,
        paths: Sequence[str],
        check_every_seconds: float,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Follow `paths`; see `policy_sources.read_policy_texts`, but without standard input."""
        self.origin = ", ".join(paths)
        self.watched = None
        self._paths = tuple(paths)
        self._check_every_seconds = check_every_seconds
        self._sleep = sleep

    def read_settled_version(self) -> versions.OfferedVersion:
        """Return the current version after two equal reads.

        Raises:
            InputError: the files cannot be read, or contain no policies.
        """
        found = self._read_paths()
        while (again := self._read_paths()) != found:
            found = again
        return found

    async def read_first(self) -> versions.OfferedVersion:
        """Return the current version; if it cannot be read, the offer contains the problem."""
        return await process.run_in_thread(self._read_paths_or_problem)

    async def run(
        self, take: Callable[[versions.OfferedVersion], None], known: versions.OfferedVersion
    ) -> NoReturn:
        """Pass each changed version to `take` once it has settled; `known` is the first version."""
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
    """Offers a version that can be read only once, from a pipe or standard input.

    Attributes:
        origin: the paths.
        watched: None, because no ConfigMap is watched.
    """

    def __init__(self, paths: Sequence[str], offer: versions.OfferedVersion) -> None:
        """Offer the version that was read from `paths`."""
        self.origin = ", ".join(
            source.STDIN_NAME if path == policy_sources.STDIN else path for path in paths
        )
        self.watched = None
        self._offer = offer

    async def read_first(self) -> versions.OfferedVersion:
        """Return the version that was read at the start."""
        return self._offer

    async def run(
        self, take: Callable[[versions.OfferedVersion], None], known: versions.OfferedVersion
    ) -> NoReturn:
        """Wait until cancelled: this source never changes."""
        while True:
            await asyncio.Event().wait()
