"""The interface through which reloads access ConfigMaps; `ConfigMapClient` implements it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from policysched.kube import config_maps


class ConfigMapStore(Protocol):
    """Reads and writes ConfigMaps; see `kube.config_maps.ConfigMapClient` for the errors raised."""

    async def read_config_map(self, namespace: str, name: str) -> config_maps.ConfigMap | None:
        """Return a ConfigMap, or None if it does not exist."""
        ...

    async def create_config_map(
        self,
        namespace: str,
        name: str,
        binary_data: Mapping[str, bytes],
        labels: Mapping[str, str],
    ) -> None:
        """Create a ConfigMap."""
        ...

    async def annotate_config_map(
        self, config_map: config_maps.ConfigMap, annotations: config_maps.Changes
    ) -> None:
        """Change annotations of the object with this uid, at any resourceVersion."""
        ...

    async def change_config_map(
        self,
        config_map: config_maps.ConfigMap,
        *,
        data: config_maps.Changes | None = None,
        binary_data: Mapping[str, bytes | None] | None = None,
        annotations: config_maps.Changes | None = None,
    ) -> config_maps.ConfigMap:
        """Change keys and annotations if the object has not changed; return the changed one."""
        ...
