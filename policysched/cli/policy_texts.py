"""Policy texts that a command line names; reading them is left until a command does so."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from policysched.lang import source

STDIN_NAME = "<stdin>"
_MANIFEST_SUFFIXES = (".yaml", ".yml", ".json")


def read(paths: Iterable[str]) -> list[source.SourceText]:
    """Return the texts at `paths`; see `policy_sources.read`.

    Raises:
        InputError: a path cannot be read, holds no policy text, or stdin is not UTF-8.
        UsageError: a path is empty.
    """
    from policysched.app import policy_sources  # noqa: PLC0415 - `--help` does without

    return policy_sources.read(paths)


def is_manifest(path: str) -> bool:
    """Say whether a path names a ConfigMap manifest."""
    return path.endswith(_MANIFEST_SUFFIXES)
