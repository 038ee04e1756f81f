"""Write previous good versions of the policies to a ConfigMap in the cluster."""

from __future__ import annotations

import asyncio
import collections
import logging
import random
from collections.abc import Awaitable, Callable
from typing import NoReturn

from policysched.kube import config_maps, errors
from policysched.reload import config_map_store, history, retries
from policysched.reload import state as states

_log = logging.getLogger(__name__)

LABELS = {"app.kubernetes.io/managed-by": "policysched"}
_LOOK_SECONDS = 1.0
"""Interval at which a standby with pending versions checks whether it leads."""


class HistoryKeeper:
    """Writes the ConfigMap of previous versions while this process leads."""

    def __init__(
        self,
        store: config_map_store.ConfigMapStore,
        name: str,
        keep: int,
        is_leading: Callable[[], bool],
        rng: random.Random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Keep `keep` versions in the ConfigMap `name`, given as `NAMESPACE/NAME`."""
        self._store = store
        self._namespace, _, self._name = name.partition("/")
        self._keep = keep
        self._is_leading = is_leading
        self._sleep = sleep
        self._retries = retries.RequestRetries(f"configmap {name} of earlier versions", rng)
        self._waiting: collections.deque[tuple[history.VersionKey, bytes]] = collections.deque(
            maxlen=keep
        )
        self._news = asyncio.Event()

    def add_version(self, version: states.VersionInUse, origin: str) -> None:
        """Queue a version that took effect."""
        if version.texts:
            value = history.encode_version(version.hash, origin, version.texts)
            self._waiting.append((history.VersionKey(version.loaded_at, version.hash), value))
            self._news.set()

    async def run(self) -> NoReturn:
        """Write queued versions until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                oldest = self._waiting[0]
                is_leading = self._is_leading()
                pause_seconds = await self._write_version(*oldest) if is_leading else _LOOK_SECONDS
                if pause_seconds:
                    await self._sleep(pause_seconds)
                elif self._waiting[0] is oldest:  # otherwise newer versions have displaced it
                    self._waiting.popleft()

    async def _write_version(self, key: history.VersionKey, value: bytes) -> float:
        """Try to write a version; return the seconds until the next attempt, or 0 if it is done."""
        try:
            present = await self._store.read_config_map(self._namespace, self._name)
            kept = present.binary_data if present else {}
            changes = history.plan_history_changes(kept, key, value, self._keep)
            if changes is None:
                _log.warning("version %s is too large to be kept", key.hash)
            elif changes and present is not None:
                await self._store.change_config_map(present, binary_data=changes)
            elif changes:
                await self._store.create_config_map(
                    self._namespace, self._name, {str(key): value}, LABELS
                )
        except errors.FencedWriteError:
            return _LOOK_SECONDS
        except errors.KubeError as error:
            if config_maps.is_final_failure(error) and not isinstance(error, errors.ForbiddenError):
                _log.warning("version %s is not kept: %s", key.hash, error)
                return 0.0
            return self._retries.record_failure(error)
        self._retries.record_success()
        return 0.0
