"""Find the version with which a process starts: from the source, or a stored previous one.

good version in files        this version, without a request to the API server
bad version, `refuse`        none: the process ends and prints the errors
bad version, `lastGood`      the stored version that was last in use, or else the newest good one
frozen                       the version that was last in use, if it is stored
version that passes stages   the version in force; the other one passes its stages from then on
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
from policysched.reload import (
    config_map_source,
    config_map_store,
    file_source,
    history,
    status_annotations,
    versions,
)
from policysched.reload.rollouts import rollout_store
from policysched.rollout import progress

_log = logging.getLogger("policysched")


class PolicySource(Protocol):
    """A source of policies.

    Attributes:
        origin: the name of the source in messages.
    """

    origin: str

    @property
    def watched(self) -> status_annotations.WatchedConfigMap | None:
        """The ConfigMap with the policies, their status and `rollout.yaml`; None for files."""
        ...

    async def read_first(self) -> versions.OfferedVersion:
        """Return the current version."""
        ...

    async def run(
        self, take: Callable[[versions.OfferedVersion], None], known: versions.OfferedVersion
    ) -> NoReturn:
        """Call `take` with each version that differs from the previous one (at first `known`)."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class InitialVersion:
    """The version with which a process starts.

    Attributes:
        checked: the version to use.
        offer: the version that the source offers.
        refusal: why `offer` is not used, or None if it is.
        staged_hash: hash of `offer` if it has to pass the stages of a rollout first; else "".
    """

    checked: versions.CheckedVersion
    offer: versions.OfferedVersion
    refusal: versions.VersionRefusal | None = None
    staged_hash: str = ""


class InitialVersionFinder:
    """Finds the first version.

    Attributes:
        files: the source that follows files; None without files, or if they can be read only once.
    """

    def __init__(self, settings: config.PoliciesConfig, checker: versions.VersionChecker) -> None:
        """Use the settings `policies` of the configuration; check versions with `checker`."""
        self._settings = settings
        self._checker = checker
        self.files = _make_file_source(settings)
        self._read_once: file_source.ReadOncePolicySource | None = None
        self._start: InitialVersion | None = None

    def make_policy_source(self, api: client.ApiClient, rng: random.Random) -> PolicySource | None:
        """Return the source to follow after the start, or None if the policies cannot change."""
        if self._settings.config_map:
            return config_map_source.ConfigMapSource(api, self._settings.config_map, rng)
        return self.files or self._read_once

    async def find_first_version(
        self, api: client.ApiClient, rng: random.Random, stopping: asyncio.Event
    ) -> tuple[InitialVersion, PolicySource | None] | None:
        """Return the first version and the source to follow; None if the process must stop.

        Raises:
            InputError: there is no good version.
            KubeError: the stored versions cannot be read.
        """
        source = self.make_policy_source(api, rng)
        if self._start is None and source is not None:
            finding = self.find_remote_version(source, config_maps.ConfigMapClient(api))
            self._start = await process.run_until_stopped(stopping, finding)
        return None if self._start is None else (self._start, source)

    def find_local_version(self) -> InitialVersion | None:
        """Return the version in the files, or None if requests to the API server are needed.

        Raises:
            InputError: there is no good version, and stored versions must not be used.
        """
        self._start = self._read_local_version()
        return self._start

    def _read_local_version(self) -> InitialVersion | None:
        """Read and check the files; return None if the API server is needed."""
        if self._settings.config_map:
            return None
        if not self._settings.paths:
            return InitialVersion(self._checker.make_empty_version(), versions.OfferedVersion())
        try:
            offer = self._read_files()
        except errors.InputError as error:
            if not self._has_last_good_version:
                raise
            offer = versions.OfferedVersion(problem=str(error))
        if self.files is None:
            self._read_once = file_source.ReadOncePolicySource(self._settings.paths, offer)
        found = self._checker.check_version(offer)
        if isinstance(found, versions.CheckedVersion):
            return InitialVersion(found, offer)
        if self._has_last_good_version:
            return None
        raise found.cause

    def _read_files(self) -> versions.OfferedVersion:
        if self.files is not None:
            return self.files.read_settled_version()
        return versions.OfferedVersion(
            tuple(policy_sources.read_policy_texts(self._settings.paths))
        )

    @property
    def _has_last_good_version(self) -> bool:
        is_wanted = self._settings.on_bad_start == "lastGood"
        return is_wanted and bool(self._settings.history_config_map)

    async def find_remote_version(
        self, source: PolicySource, store: config_map_store.ConfigMapStore
    ) -> InitialVersion:
        """Return the source's version, or a stored one if the source's version is bad or frozen.

        Raises:
            InputError: there is no good version.
            KubeError: the stored versions cannot be read.
        """
        offer = await source.read_first()
        if offer.is_frozen and not self._checker.was_in_use(offer):
            wanted = f"version {offer.in_use}" if offer.in_use else "the last version in use"
            _log.warning("reloads are frozen: looking for %s in the history", wanted)
            frozen = await self._find_stored_version(store, offer.in_use)
            if frozen is not None:
                what = "" if frozen.hash == offer.in_use else " (its texts with the current params)"
                _log.warning("reloads are frozen: starting with version %s%s", frozen.hash, what)
                new_hash = self._checker.compute_hash(offer.texts)
                is_held = await self._is_in_rollout(store, new_hash)
                return InitialVersion(frozen, offer, staged_hash=new_hash if is_held else "")
            _log.warning("reloads are frozen, but %s is not in the history", wanted)
        found = self._checker.check_version(offer)
        if isinstance(found, versions.CheckedVersion):
            in_force = None
            if found.rollout.stages and not self._checker.was_in_use(offer):
                in_force = await self._find_version_in_force(store, found.hash, offer)
            if in_force is not None:
                return InitialVersion(in_force, offer, staged_hash=found.hash)
            return InitialVersion(found, offer)
        if not self._has_last_good_version:
            raise found.cause
        _log.error("the policies are refused: %s", found.details)
        last_good = await self._find_stored_version(
            store, offer.in_use
        ) or await self._find_stored_version(store)
        if last_good is None:
            raise found.cause
        _log.error("starting with version %s of the history in the cluster", last_good.hash)
        return InitialVersion(last_good, offer, found)

    async def _find_version_in_force(
        self,
        store: config_map_store.ConfigMapStore,
        new_hash: str,
        offer: versions.OfferedVersion,
    ) -> versions.CheckedVersion | None:
        """Return the version in force while the offered version passes stages.

        None if the offered version is in force itself, or if no version was in force before.
        """
        stored = await rollout_store.RolloutStore(store, self._settings.history_config_map).read()
        state = stored.state if stored.state and stored.state.new_hash == new_hash else None
        is_promoted = state is not None and state.status is progress.RolloutStatus.PROMOTED
        if is_promoted or versions.hash_texts(offer.texts) in stored.former_texts:
            return None
        wanted = offer.in_use or (state.old_hash if state is not None else "")
        found = await self._find_stored_version(store, wanted)
        if found is None and wanted:
            found = await self._find_stored_version(store)
            _log.error(
                "version %s, which was in force, is not in the history: version %s is in force "
                "for all pods at once",
                *(wanted, new_hash if found is None else found.hash),
            )
        return found

    async def _is_in_rollout(self, store: config_map_store.ConfigMapStore, new_hash: str) -> bool:
        """Return whether the stored rollout is running, and is that of a version."""
        stored = await rollout_store.RolloutStore(store, self._settings.history_config_map).read()
        state = stored.state
        return state is not None and state.is_running and state.new_hash == new_hash

    async def _find_stored_version(
        self, store: config_map_store.ConfigMapStore, version_hash: str = ""
    ) -> versions.CheckedVersion | None:
        """Return the newest good stored version, or the stored version with `version_hash`."""
        namespace, _, name = self._settings.history_config_map.partition("/")
        if not name:
            return None
        stored = await store.read_config_map(namespace, name)
        for key, former in history.decode_versions_newest_first(
            stored.binary_data if stored else {}
        ):
            if version_hash not in ("", key.hash):
                continue
            demanded = self._checker.compute_hash(former.sources)
            found = self._checker.check_version(
                versions.OfferedVersion(former.sources, demanded=demanded)
            )
            if isinstance(found, versions.CheckedVersion):
                return found
            _log.warning(
                "version %s is in the history, but is no longer valid: %s", key, found.summary
            )
        return None


def _make_file_source(settings: config.PoliciesConfig) -> file_source.PolicyFileSource | None:
    if not settings.paths or any(
        policy_sources.is_readable_only_once(path) for path in settings.paths
    ):
        return None
    return file_source.PolicyFileSource(settings.paths, settings.check_every_seconds)
