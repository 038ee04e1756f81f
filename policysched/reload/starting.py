"""The version that a process starts with: that of the source, or a former one kept in the cluster.

files, a good version        used; the API server is not even asked
a bad version, `refuse`      the process ends and shows what is wrong
a bad version, `lastGood`    the kept version that was in use last, or the newest that is good still
frozen                       the version that was in use last, if it is kept
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import random
from collections.abc import Callable
from typing import NoReturn, Protocol

from policysched import errors, process
from policysched.config import config
from policysched.inputs import policy_sources
from policysched.kube import config_maps
from policysched.kube.http import client
from policysched.reload import config_map_source, config_map_store, file_source, history, versions

_log = logging.getLogger("policysched")


class Source(Protocol):
    """Where policies come from.

    Attributes:
        origin: what people call it.
    """

    origin: str

    async def first(self) -> versions.Offer:
        """Return what is there now."""
        ...

    async def run(self, take: Callable[[versions.Offer], None], known: versions.Offer) -> NoReturn:
        """Call `take` whenever there is something else than what is known."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    """What a process starts with.

    Attributes:
        checked: the version that is used.
        offer: what the source had.
        refusal: why that is not used, None where it is.
    """

    checked: versions.Checked
    offer: versions.Offer
    refusal: versions.Refusal | None = None


class Starting:
    """Finds the first version.

    Attributes:
        files: those that are followed; None where there are none, or one that is read once.
    """

    def __init__(self, settings: config.PoliciesConfig, recipe: versions.Recipe) -> None:
        """Go by `policies` of the configuration."""
        self._settings = settings
        self._recipe = recipe
        self.files = _followed(settings)
        self._read_once: file_source.ReadOnce | None = None
        self._start: Start | None = None

    def source(self, api: client.ApiClient, rng: random.Random) -> Source | None:
        """Return what is followed from the start on, None where nothing can change."""
        if self._settings.config_map:
            return config_map_source.ConfigMapSource(api, self._settings.config_map, rng)
        return self.files or self._read_once

    async def begin(
        self, api: client.ApiClient, rng: random.Random, stopping: asyncio.Event
    ) -> tuple[Start, Source | None] | None:
        """Return the first version and the source to follow; None if the process is to stop.

        Raises:
            InputError: there is no good version.
            KubeError: what is kept cannot be read.
        """
        source = self.source(api, rng)
        if self._start is None and source is not None:
            finding = self.remote(source, config_maps.ConfigMaps(api))
            self._start = await process.unless(stopping, finding)
        return None if self._start is None else (self._start, source)

    def local(self) -> Start | None:
        """Return what files say, None where the API server has to be asked.

        Raises:
            InputError: there is no good version, and no other place to look for one.
        """
        self._start = self._read_local()
        return self._start

    def _read_local(self) -> Start | None:
        if self._settings.config_map:
            return None
        if not self._settings.paths:
            return Start(self._recipe.without_policies(), versions.Offer())
        try:
            offer = self._read_files()
        except errors.InputError as error:
            if not self._has_last_good:
                raise
            offer = versions.Offer(problem=str(error))
        if self.files is None:
            self._read_once = file_source.ReadOnce(self._settings.paths, offer)
        found = self._recipe.check(offer)
        if isinstance(found, versions.Checked):
            return Start(found, offer)
        if self._has_last_good:
            return None
        raise found.cause

    def _read_files(self) -> versions.Offer:
        if self.files is not None:
            return self.files.read()
        return versions.Offer(tuple(policy_sources.read(self._settings.paths)))

    @property
    def _has_last_good(self) -> bool:
        is_wanted = self._settings.on_bad_start == "lastGood"
        return is_wanted and bool(self._settings.history_config_map)

    async def remote(self, source: Source, kept: config_map_store.ConfigMapStore) -> Start:
        """Return what a source says, or what is kept where that is bad or frozen.

        Raises:
            InputError: there is no good version.
            KubeError: what is kept cannot be read.
        """
        offer = await source.first()
        if offer.is_frozen and not self._recipe.was_in_use(offer):
            wanted = f"version {offer.in_use}" if offer.in_use else "the version used last"
            _log.warning("reloads are frozen: looking for %s among those kept", wanted)
            frozen = await self._kept(kept, offer.in_use)
            if frozen is not None:
                what = "" if frozen.hash == offer.in_use else ", its texts with the params of now"
                _log.warning("reloads are frozen: starting on version %s%s", frozen.hash, what)
                return Start(frozen, offer)
            _log.warning("reloads are frozen, but %s is not kept", wanted)
        found = self._recipe.check(offer)
        if isinstance(found, versions.Checked):
            return Start(found, offer)
        if not self._has_last_good:
            raise found.cause
        _log.error("the policies are refused: %s", found.details)
        last_good = await self._kept(kept, offer.in_use) or await self._kept(kept)
        if last_good is None:
            raise found.cause
        _log.error("starting on version %s, kept in the cluster", last_good.hash)
        return Start(last_good, offer, found)

    async def _kept(
        self, kept: config_map_store.ConfigMapStore, version_hash: str = ""
    ) -> versions.Checked | None:
        """Return the newest kept version that is good, or the one with this hash."""
        namespace, _, name = self._settings.history_config_map.partition("/")
        if not name:
            return None
        stored = await kept.read(namespace, name)
        for key, former in history.newest_first(stored.binary_data if stored else {}):
            if version_hash not in ("", key.hash):
                continue
            demanded = self._recipe.hash_of(former.sources)
            found = self._recipe.check(versions.Offer(former.sources, demanded=demanded))
            if isinstance(found, versions.Checked):
                return found
            _log.warning("version %s is kept, but is not good any more: %s", key, found.summary)
        return None


def _followed(settings: config.PoliciesConfig) -> file_source.FileSource | None:
    if not settings.paths or any(policy_sources.is_read_once(path) for path in settings.paths):
        return None
    return file_source.FileSource(settings.paths, settings.check_every_seconds)
