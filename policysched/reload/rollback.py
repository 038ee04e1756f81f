"""Roll back to a version of the policies that is stored in the cluster."""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

from policysched import errors
from policysched.inputs import policy_sources
from policysched.kube import config_maps
from policysched.kube import errors as kube_errors
from policysched.lang.checked import content_hash
from policysched.reload import config_map_store, history
from policysched.reload import status_annotations as statuses

_ATTEMPTS = 5
"""Maximum number of attempts; schedulers occasionally write their status to the same object."""

Version: TypeAlias = tuple[history.VersionKey, history.FormerVersion]


@dataclasses.dataclass(frozen=True, slots=True)
class StoredVersions:
    """The stored versions and the ConfigMap of the policies.

    Attributes:
        target: the ConfigMap of the policies, or None if it does not exist.
        versions: the stored versions, most recently used first.
    """

    target: config_maps.ConfigMap | None
    versions: list[Version]

    @property
    def current_hash(self) -> str:
        """The hash of the version in use according to the scheduler's annotation; "" without it."""
        return self.target.metadata.annotations.get(statuses.HASH, "") if self.target else ""


@dataclasses.dataclass(frozen=True, slots=True)
class RollbackResult:
    """The result of a rollback.

    Attributes:
        version: the version that is now in the ConfigMap.
        is_written: whether the rollback changed the policies; False if they were already there.
        is_frozen: whether other versions are held back.
    """

    version: Version
    is_written: bool
    is_frozen: bool


class Rollback:
    """Writes a previous version into the ConfigMap of the policies."""

    def __init__(self, store: config_map_store.ConfigMapStore, policies: str, kept_in: str) -> None:
        """Use the ConfigMaps `policies` and `kept_in` (previous versions), as `NAMESPACE/NAME`."""
        self._store = store
        self._policies = policies
        self._kept_in = kept_in

    async def list_versions(self) -> StoredVersions:
        """Return the stored versions.

        Raises:
            InputError: there is no ConfigMap of previous versions.
            KubeError: the ConfigMap cannot be read.
        """
        stored = await self._read_config_map(self._kept_in)
        if stored is None:
            raise errors.InputError(
                f"configmap {self._kept_in}",
                "does not exist, so there are no earlier versions",
                help="a scheduler creates it; give another one with `--history`",
            )
        target = await self._read_config_map(self._policies)
        return StoredVersions(target, history.decode_versions_newest_first(stored.binary_data))

    async def _read_config_map(self, name: str) -> config_maps.ConfigMap | None:
        namespace, _, own = name.partition("/")
        return await self._store.read_config_map(namespace, own)

    async def roll_back(self, wanted: str, *, freeze: bool = False) -> RollbackResult:
        """Write a stored version back unless the policies change at the same time.

        Args:
            wanted: prefix of the version's hash; "" for the newest version that differs from the
                current texts.
            freeze: whether to hold back all other versions from now on.

        Raises:
            InputError: there is no such version, or no ConfigMap to write.
            ConflictError: another client has changed the policies.
            KubeError: the write failed, or its outcome is unknown.
        """
        first = await self._read_target_config_map()
        version = _choose_version_to_restore((await self.list_versions()).versions, first, wanted)
        target = first
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return await self._write_version(version, target, freeze=freeze)
            except kube_errors.ConflictError:
                # A new status of a scheduler is harmless; a change to the policies is not.
                target = await self._read_target_config_map()
                if (
                    _get_config_map_content(target) != _get_config_map_content(first)
                    or attempt == _ATTEMPTS
                ):
                    raise
        raise AssertionError  # the last attempt returns or raises

    async def _read_target_config_map(self) -> config_maps.ConfigMap:
        target = await self._read_config_map(self._policies)
        if target is None:
            raise errors.InputError(f"configmap {self._policies}", "does not exist")
        return target

    async def _write_version(
        self, version: Version, target: config_maps.ConfigMap, *, freeze: bool
    ) -> RollbackResult:
        """Write a version and its annotations unless they are already there."""
        _, former = version
        data, present = _make_config_map_data(former), _select_policy_data(target)
        current = target.metadata.annotations
        is_frozen = freeze or statuses.are_reloads_frozen(current)
        # Without a freeze the annotation is not needed. If it stayed, its version would be
        # loaded even during a later freeze.
        # Without params, because they may have changed since the version was stored.
        demand = content_hash.hash_policy_texts_and_params(former.sources, {})
        annotations = {statuses.ROLLBACK: demand if is_frozen else None}
        if freeze:
            annotations[statuses.FREEZE] = "true"
        binary = dict.fromkeys(
            policy_sources.list_policy_keys(target.binary_data)
        )  # schedulers refuse such keys: remove them
        if (
            data == present
            and not binary
            and all(current.get(name) == to for name, to in annotations.items())
        ):
            return RollbackResult(version, is_written=False, is_frozen=is_frozen)
        dropped = dict.fromkeys(present.keys() - data.keys())
        await self._store.change_config_map(
            target, data=dropped | data, binary_data=binary, annotations=annotations
        )
        is_written = data != present or bool(binary)
        return RollbackResult(version, is_written=is_written, is_frozen=is_frozen)


def _choose_version_to_restore(
    versions: list[Version], target: config_maps.ConfigMap, hash_prefix: str
) -> Version:
    """Return the stored version with a hash prefix; for "", the newest that differs from `target`.

    Raises:
        InputError: no version, or several, match.
    """
    if not hash_prefix:
        present = _select_policy_data(target)
        is_whole = not policy_sources.list_policy_keys(target.binary_data)
        others = [
            each for each in versions if not is_whole or _make_config_map_data(each[1]) != present
        ]
        if not others:
            raise errors.InputError(
                f"configmap {target.namespaced_name}", "its history contains no other version"
            )
        return others[0]
    found = [each for each in versions if each[0].hash.startswith(hash_prefix)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(key.hash for key, _ in versions) or "none"
    problem = "matches several versions" if found else "is not a version in the history"
    raise errors.InputError(f"`{hash_prefix}`", problem, help=f"stored versions: {known}")


def _get_config_map_content(target: config_maps.ConfigMap) -> tuple[object, ...]:
    return target.data, target.binary_data


def _select_policy_data(target: config_maps.ConfigMap) -> dict[str, str]:
    return {key: text for key, text in target.data.items() if key.endswith(policy_sources.SUFFIX)}


def _make_config_map_data(former: history.FormerVersion) -> dict[str, str]:
    """Return the texts of a version as the data of a ConfigMap."""
    return {text.name.rpartition("/")[2]: text.text for text in former.texts}
