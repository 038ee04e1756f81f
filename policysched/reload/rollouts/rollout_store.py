"""Read and write the state of the newest rollout, a key of the ConfigMap of earlier versions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import msgspec

from policysched.cluster.objects import wire
from policysched.kube import config_maps
from policysched.reload import config_map_store, history, versions
from policysched.rollout import progress

KEY = "rollout.json"
_LABELS = {"app.kubernetes.io/managed-by": "policysched"}

_decoder = msgspec.json.Decoder(progress.RolloutState)


@dataclasses.dataclass(frozen=True, slots=True)
class StoredRollout:
    """The content of the ConfigMap of earlier versions that rollouts need.

    Attributes:
        state: the newest rollout; None if there was none, or if it cannot be decoded.
        former_texts: hashes of the texts, without params, of the versions that were in force.
    """

    state: progress.RolloutState | None
    former_texts: frozenset[str]


def decode_stored_rollout(config_map: config_maps.ConfigMap | None) -> StoredRollout:
    """Return the content of the ConfigMap; `None` is a ConfigMap that does not exist."""
    if config_map is None:
        return StoredRollout(None, frozenset())
    former = history.decode_versions_newest_first(config_map.binary_data)
    hashes = frozenset(versions.hash_texts(version.sources) for _, version in former)
    try:
        state = _decoder.decode(config_map.binary_data.get(KEY, b""))
    except wire.UNREADABLE:
        return StoredRollout(None, hashes)
    return StoredRollout(state, hashes)


class RolloutStore:
    """Reads and writes the ConfigMap.

    Attributes:
        on_missing: called before the ConfigMap is created again, because it was deleted.
    """

    def __init__(self, store: config_map_store.ConfigMapStore, name: str) -> None:
        """Use the ConfigMap `name`, given as `NAMESPACE/NAME`."""
        self.on_missing: Callable[[], None] = lambda: None
        self._store = store
        self._namespace, _, self._name = name.partition("/")

    async def read(self) -> StoredRollout:
        """Return the content of the ConfigMap.

        Raises:
            KubeError: it could not be read.
        """
        found = await self._store.read_config_map(self._namespace, self._name)
        return decode_stored_rollout(found)

    async def write(self, state: progress.RolloutState) -> None:
        """Replace the stored state.

        Raises:
            FencedWriteError: this process may no longer lead.
            KubeError: it was not written, or the outcome is unknown.
        """
        value = {KEY: msgspec.json.encode(state)}
        present = await self._store.read_config_map(self._namespace, self._name)
        if present is None:
            self.on_missing()
            await self._store.create_config_map(self._namespace, self._name, value, _LABELS)
        else:
            await self._store.change_config_map(present, binary_data=value)
