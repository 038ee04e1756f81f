"""Policy texts that a command line names: files, folders, manifests, stdin."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from policysched import errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from policysched.lang import source

STDIN = "-"
STDIN_NAME = "<stdin>"
_MANIFEST_SUFFIXES = (".yaml", ".yml", ".json")


def read(paths: Iterable[str]) -> list[source.SourceText]:
    """Return the texts at `paths`; `-` is stdin, and a file that is named twice is read once.

    Raises:
        InputError: a path cannot be read, holds no policy text, or stdin is not UTF-8.
    """
    from policysched.app import policy_sources  # noqa: PLC0415 - `--help` does without

    texts: dict[str, source.SourceText] = {}
    for path in paths:
        found = [_stdin()] if path == STDIN else policy_sources.read([path])
        texts |= {text.name: text for text in found}
    return list(texts.values())


def is_manifest(path: str) -> bool:
    """Say whether a path names a ConfigMap manifest."""
    return path.endswith(_MANIFEST_SUFFIXES)


def _stdin() -> source.SourceText:
    from policysched.lang import limits, source  # noqa: PLC0415 - `--help` does without

    content = sys.stdin.buffer.read(limits.MAX_TEXT_BYTES + 1)
    is_cut = len(content) > limits.MAX_TEXT_BYTES
    try:
        text = content.decode("utf-8-sig", errors="replace" if is_cut else "strict")
    except UnicodeDecodeError as error:
        raise errors.InputError(STDIN_NAME, "is not UTF-8 text") from error
    return source.SourceText(STDIN_NAME, text)
