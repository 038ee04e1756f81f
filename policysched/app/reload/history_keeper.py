"""Keeps former good versions in the cluster, and finds them there."""

from __future__ import annotations

import asyncio
import collections
import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn

from policysched.app.reload import config_map_store, history
from policysched.app.reload import state as states
from policysched.kube import config_maps, errors

_log = logging.getLogger(__name__)

LABELS = {"app.kubernetes.io/managed-by": "policysched"}
_RETRY_SECONDS = 1.0
_FORBIDDEN_SECONDS = 60.0
"""Until a right that is missing is looked for again: without it no version can be gone back to."""


class HistoryKeeper:
    """The ConfigMap of former versions; only the leader writes."""

    def __init__(
        self,
        store: config_map_store.ConfigMapStore,
        name: str,
        keep: int,
        is_leading: Callable[[], bool],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Keep `keep` versions in the ConfigMap `NAMESPACE/NAME`, which is made if need be."""
        self._store = store
        self._namespace, _, self._name = name.partition("/")
        self._keep = keep
        self._is_leading = is_leading
        self._sleep = sleep
        self._waiting: collections.deque[tuple[history.Key, bytes]] = collections.deque(maxlen=keep)
        self._news = asyncio.Event()

    def add(self, version: states.VersionInUse, origin: str) -> None:
        """Note that a version has been put to use."""
        if version.texts:
            value = history.encode(version.hash, origin, version.texts)
            self._waiting.append((history.Key(version.loaded_at, version.hash), value))
            self._news.set()

    async def run(self) -> NoReturn:
        """Write until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                oldest = self._waiting[0]
                is_leading = self._is_leading()
                pause_seconds = await self._write(*oldest) if is_leading else _RETRY_SECONDS
                if pause_seconds:
                    await self._sleep(pause_seconds)
                elif self._waiting[0] is oldest:  # else newer ones have pushed it out
                    self._waiting.popleft()

    async def _write(self, key: history.Key, value: bytes) -> float:
        """Return when to try again, in seconds; 0 if the version is kept, or never will be."""
        try:
            present = await self._store.read(self._namespace, self._name)
            kept = present.binary_data if present else {}
            changes = history.changes(kept, key, value, self._keep)
            if changes is None:
                _log.warning("version %s is too large to be kept", key.hash)
            elif changes and present is not None:
                await self._store.change(present, binary_data=changes)
            elif changes:
                await self._store.create(self._namespace, self._name, {str(key): value}, LABELS)
        except errors.FencedError:
            return _RETRY_SECONDS
        except errors.KubeError as error:
            is_forbidden = isinstance(error, errors.ForbiddenError)
            is_final = config_maps.is_final(error) and not is_forbidden
            when = "not kept" if is_final else "kept later"
            _log.warning("version %s is %s: %s", key.hash, when, error)
            return 0.0 if is_final else _FORBIDDEN_SECONDS if is_forbidden else _RETRY_SECONDS
        return 0.0
