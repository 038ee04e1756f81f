"""ConfigMaps in memory, with the API server's rules about versions and identity."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from policysched.cluster.objects import objects
from policysched.kube import config_maps, errors

V = TypeVar("V")


class MemoryStore:
    """See `config_map_store.ConfigMapStore`.

    Attributes:
        objects: ConfigMaps by `namespace/name`.
        writes: how many there were.
        failures: raised by the next writes, in turn.
    """

    def __init__(self) -> None:
        self.objects: dict[str, config_maps.ConfigMap] = {}
        self.writes = 0
        self.failures: list[Exception] = []
        self._numbers = itertools.count(1)

    def put(
        self,
        name: str,
        data: Mapping[str, str],
        annotations: Mapping[str, str] | None = None,
    ) -> config_maps.ConfigMap:
        """Let somebody else write a ConfigMap, which is another object than before."""
        namespace, _, own = name.partition("/")
        number = str(next(self._numbers))
        meta = objects.ObjectMeta(
            name=own,
            namespace=namespace,
            uid=f"uid-{number}",
            resource_version=number,
            annotations=dict(annotations or {}),
        )
        self.objects[name] = config_maps.ConfigMap(meta, dict(data))
        return self.objects[name]

    async def read_config_map(self, namespace: str, name: str) -> config_maps.ConfigMap | None:
        """Return a ConfigMap."""
        return self.objects.get(f"{namespace}/{name}")

    async def create_config_map(
        self,
        namespace: str,
        name: str,
        binary_data: Mapping[str, bytes],
        labels: Mapping[str, str],
    ) -> None:
        """Create a ConfigMap."""
        self._begin()
        if f"{namespace}/{name}" in self.objects:
            raise errors.ConflictError(409, "AlreadyExists", "it is there")
        made = self.put(f"{namespace}/{name}", {})
        self.objects[made.namespaced_name] = msgspec.structs.replace(
            made, binary_data=dict(binary_data)
        )

    async def annotate_config_map(
        self, config_map: config_maps.ConfigMap, annotations: config_maps.Changes
    ) -> None:
        """Change annotations of this very object."""
        self._begin()
        present = self._present(config_map)
        if present.metadata.uid != config_map.metadata.uid:
            raise errors.ConflictError(409, "Conflict", "another object")
        self._store(present, annotations=annotations)

    async def change_config_map(
        self,
        config_map: config_maps.ConfigMap,
        *,
        data: config_maps.Changes | None = None,
        binary_data: Mapping[str, bytes | None] | None = None,
        annotations: config_maps.Changes | None = None,
    ) -> config_maps.ConfigMap:
        """Change keys and annotations of this very version."""
        self._begin()
        present = self._present(config_map)
        if present.metadata.resource_version != config_map.metadata.resource_version:
            raise errors.ConflictError(409, "Conflict", "another version")
        return self._store(present, data=data, binary_data=binary_data, annotations=annotations)

    def _begin(self) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.writes += 1

    def _present(self, config_map: config_maps.ConfigMap) -> config_maps.ConfigMap:
        if config_map.namespaced_name not in self.objects:
            raise errors.NotFoundError(404, "NotFound", "it is gone")
        return self.objects[config_map.namespaced_name]

    def _store(
        self,
        present: config_maps.ConfigMap,
        *,
        data: config_maps.Changes | None = None,
        binary_data: Mapping[str, bytes | None] | None = None,
        annotations: config_maps.Changes | None = None,
    ) -> config_maps.ConfigMap:
        meta = msgspec.structs.replace(
            present.metadata,
            resource_version=str(next(self._numbers)),
            annotations=_merged(present.metadata.annotations, annotations),
        )
        changed = self.objects[present.namespaced_name] = config_maps.ConfigMap(
            meta, _merged(present.data, data), _merged(present.binary_data, binary_data)
        )
        return changed


def _merged(old: Mapping[str, V], changes: Mapping[str, V | None] | None) -> dict[str, V]:
    merged = {**old, **(changes or {})}
    return {key: value for key, value in merged.items() if value is not None}
