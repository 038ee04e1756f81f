"""Store previous good versions of the policies in a ConfigMap.

Each version has one key, `TIME-HASH.json.gz`, so that keys sort by time and identify the version.
If the ConfigMap is full, the oldest versions are dropped. To read a version:

    kubectl get configmap NAME -o jsonpath='{.binaryData.KEY}' | base64 -d | gunzip
"""

from __future__ import annotations

import dataclasses
import datetime
import gzip
import re
import zlib
from collections.abc import Mapping
from typing import Self

import msgspec

from policysched.cluster.objects import wire
from policysched.kube import config_maps
from policysched.lang import source

MAX_BYTES = config_maps.MAX_BYTES - 16 * 1024
"""Limit of the total size of all values; the rest is reserved for other content."""
_MAX_TEXT_BYTES = 64 * 1024 * 1024
"""Size limit of one decompressed version, far more than a ConfigMap of policies can contain."""

_KEY = re.compile(r"(?P<time>\d{8}T\d{6}\.\d{3}Z)-(?P<hash>[0-9a-f]+)\.json\.gz")
_TIME = "%Y%m%dT%H%M%S.%f"


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class VersionKey:
    """The name of a stored version.

    Attributes:
        loaded_at: when the version last took effect, with a resolution of milliseconds.
        hash: the version's hash, as in every decision.
    """

    loaded_at: datetime.datetime
    hash: str

    @classmethod
    def parse_version_key(cls, text: str) -> Self | None:
        """Return the version named by a key of the ConfigMap, or None for other keys."""
        match = _KEY.fullmatch(text)
        if match is None:
            return None
        try:
            time = datetime.datetime.strptime(match["time"], f"{_TIME}%z")  # `%z` accepts `Z`
        except ValueError:
            return None
        return cls(time.astimezone(datetime.UTC), match["hash"])

    def __str__(self) -> str:
        """Return the key of this version in the ConfigMap."""
        time = self.loaded_at.astimezone(datetime.UTC).strftime(_TIME)[:-3]
        return f"{time}Z-{self.hash}.json.gz"


class _StoredText(msgspec.Struct, frozen=True):
    name: str
    text: str


class FormerVersion(msgspec.Struct, frozen=True):
    """A stored version.

    Attributes:
        hash: the version's hash, as in every decision; it depends on texts and params.
        origin: the name of the source, for messages.
        texts: the policy texts.
    """

    hash: str
    origin: str
    texts: tuple[_StoredText, ...]

    @property
    def sources(self) -> tuple[source.SourceText, ...]:
        """The texts in the form that the checker requires."""
        return tuple(source.SourceText(each.name, each.text) for each in self.texts)


def encode_version(version_hash: str, origin: str, texts: tuple[source.SourceText, ...]) -> bytes:
    """Encode a version as the value of a key; identical versions have identical values."""
    kept = FormerVersion(version_hash, origin, tuple(_StoredText(t.name, t.text) for t in texts))
    return gzip.compress(msgspec.json.encode(kept), mtime=0)


def decode_version(value: bytes) -> FormerVersion | None:
    """Decode a value from `encode_version`; return None for other values."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)  # gzip format
    try:
        body = unpacker.decompress(value, _MAX_TEXT_BYTES)
        return msgspec.json.decode(body, type=FormerVersion)
    except (zlib.error, *wire.UNREADABLE):
        return None


def decode_versions_newest_first(
    kept: Mapping[str, bytes],
) -> list[tuple[VersionKey, FormerVersion]]:
    """Return the versions in a ConfigMap, newest first; skip other keys and damaged values."""
    keys = {key: VersionKey.parse_version_key(key) for key in kept}
    versions = [
        (named, decode_version(kept[key])) for key, named in keys.items() if named is not None
    ]
    readable = [(named, version) for named, version in versions if version is not None]
    return sorted(readable, key=lambda one: one[0], reverse=True)


def plan_history_changes(
    kept: Mapping[str, bytes], new: VersionKey, value: bytes, keep: int
) -> dict[str, bytes | None] | None:
    """Return the changes to the ConfigMap after a version took effect.

    Args:
        kept: the current content of the ConfigMap.
        new: the key of the version.
        value: the value of the version from `encode_version`.
        keep: maximum number of stored versions.

    Returns:
        New values, keyed by ConfigMap key; None for a key to drop. Empty if the version is already
        stored and either it or a version that took effect later is the newest. None if the version
        is too large.
    """
    if len(value) > MAX_BYTES:
        return None
    ours = {named: key for key in kept if (named := VersionKey.parse_version_key(key)) is not None}
    readable = {named for named, key in ours.items() if decode_version(kept[key]) is not None}
    newest = max(readable, default=None)
    same = [named for named in readable if named.hash == new.hash]
    if same and newest is not None and (newest.hash == new.hash or newest > new):
        return {}
    left = sorted(
        (named for named in ours if named.hash != new.hash),
        key=lambda named: (named in readable, named),  # damaged versions are dropped first
        reverse=True,
    )
    used_bytes = len(value) + sum(
        len(kept[key]) for key in kept if VersionKey.parse_version_key(key) is None
    )
    stays: set[str] = set()
    for named in left[: keep - 1]:
        used_bytes += len(kept[ours[named]])
        if used_bytes > MAX_BYTES:
            break
        stays.add(ours[named])
    dropped: dict[str, bytes | None] = dict.fromkeys(set(ours.values()) - stays)
    return dropped | {str(new): value}
