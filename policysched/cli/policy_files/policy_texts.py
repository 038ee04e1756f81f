"""Reads policy files named on the command line; the reading modules are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from policysched.inputs import policy_sources
    from policysched.lang import source


def add_paths_argument(parser: argparse.ArgumentParser, *, is_required: bool = True) -> None:
    """Add the argument `paths`."""
    parser.add_argument(
        "paths",
        nargs="+" if is_required else "*",
        metavar="PATH",
        help="a .policy file, a folder of such files, a ConfigMap manifest (YAML or JSON), or "
        "`-` for a policy or a manifest on stdin",
    )


def read_policy_texts(paths: Iterable[str]) -> list[source.SourceText]:
    """Return the texts at `paths`; see `policy_sources.read_policy_texts`.

    Raises:
        InputError: a path cannot be read or contains no policy text, or stdin is not UTF-8.
        UsageError: a path is empty.
    """
    from policysched.inputs import policy_sources  # noqa: PLC0415 - not needed for `--help`

    return policy_sources.read_policy_texts(paths)


def read_policy_files(paths: Iterable[str]) -> list[policy_sources.PolicySourceFile]:
    """Return the files at `paths`; the errors are those of `read_policy_texts`.

    Raises:
        InputError: see `read_policy_texts`.
        UsageError: see `read_policy_texts`.
    """
    from policysched.inputs import policy_sources  # noqa: PLC0415 - not needed for `--help`

    return policy_sources.read_policy_files(paths)
