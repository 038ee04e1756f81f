"""Compare versions of Kubernetes components, such as `v1.30.2-gke.100`.

Only major, minor and patch count, and whether the version is a pre-release (`-alpha.N`, `-beta.N`,
`-rc.N`), which is before its release. Other suffixes name builds of vendors and do not count.
"""

from __future__ import annotations

import dataclasses
import re
from typing import NamedTuple

_VERSION = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?([-+].*)?", re.DOTALL)
_PRE_RELEASE = re.compile(r"-(?:alpha|beta|rc)(?![A-Za-z])")
_BOUND = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?")


class ReleaseVersion(NamedTuple):
    """A version of a component; comparable."""

    major: int
    minor: int
    patch: int
    is_release: bool

    def __str__(self) -> str:
        """Return the version as components report it."""
        suffix = "" if self.is_release else "-alpha"
        return f"v{self.major}.{self.minor}.{self.patch}{suffix}"


def parse_release_version(text: str) -> ReleaseVersion | None:
    """Return the version that a component reports; None if the text is not a version."""
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    major, minor, patch, suffix = found.groups()
    is_release = _PRE_RELEASE.match(suffix or "") is None
    return ReleaseVersion(int(major), int(minor), int(patch or 0), is_release)


@dataclasses.dataclass(frozen=True, slots=True)
class VersionBound:
    """A version as a bound: all versions that begin with some parts, such as all of 1.30.

    Attributes:
        parts: major and minor, and patch if the bound has it.
    """

    parts: tuple[int, ...]

    def __str__(self) -> str:
        """Return the bound as policies write it."""
        return ".".join(map(str, self.parts))

    @property
    def low(self) -> ReleaseVersion:
        """The first version that belongs to the bound."""
        major, minor, patch = (*self.parts, 0)[:3]
        return ReleaseVersion(major, minor, patch, is_release=True)

    @property
    def end(self) -> ReleaseVersion:
        """The first version above the bound, which is a pre-release."""
        major, minor, *patch = self.parts
        if patch:
            return ReleaseVersion(major, minor, patch[0] + 1, is_release=False)
        return ReleaseVersion(major, minor + 1, 0, is_release=False)

    def compare(self, version: ReleaseVersion) -> int:
        """Return -1, 0 or 1 for a version below, in or above the bound."""
        return (version >= self.end) - (version < self.low)


def parse_version_bound(text: str) -> VersionBound | None:
    """Return the bound that a policy writes as `1.30` or `v1.30.2`; None for any other text."""
    found = _BOUND.fullmatch(text)
    if found is None:
        return None
    return VersionBound(tuple(int(part) for part in found.groups() if part is not None))
