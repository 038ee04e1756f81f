"""`policysched lint --fix`: delivers the texts that fixes have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched import errors
from policysched.cli import output, rewriting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from policysched.app import policy_sources
    from policysched.lang import source

_HOW = "fixed"


def show(files: Iterable[policy_sources.PolicyFile], fixed: Mapping[str, str]) -> int:
    """Print the diff of the fixes; return the exit code, 2 if a text cannot be edited."""
    exit_code = errors.EXIT_OK
    for file in files:
        content, is_whole = rewriting.with_texts(file, fixed)
        if content != file.content:
            exit_code = max(exit_code, errors.EXIT_FINDINGS)
            output.write_diff(rewriting.diff(file, content, _HOW))
        if not is_whole:
            exit_code = errors.EXIT_WRONG_INPUT
    return exit_code


def write(
    files: Sequence[policy_sources.PolicyFile], fixed: Mapping[str, str]
) -> list[source.SourceText]:
    """Write the files that fixes have changed; return the texts as they are now.

    Standard input is printed, changed or not.

    Raises:
        InputError: a file cannot be written; those before it have been.
    """
    texts: list[source.SourceText] = []
    for file in files:
        content = _content(file, fixed)
        if file.is_stdin:
            output.write_source(file.content if content is None else content)
        elif content is not None:
            rewriting.write(file.name, file.content, content)
            output.note(f"fixed {file.name}")
        texts += file.texts if content is None else _reread(file, content)
    return texts


def _content(file: policy_sources.PolicyFile, fixed: Mapping[str, str]) -> str | None:
    """Return the file with fixed texts, None if it stays as it is."""
    content, _ = rewriting.with_texts(file, fixed)
    return None if content == file.content else content


def _reread(file: policy_sources.PolicyFile, content: str) -> tuple[source.SourceText, ...]:
    """Return the texts of a new content: in a manifest they may stand elsewhere now."""
    from policysched.app import policy_sources  # noqa: PLC0415 - `--help` does without

    return policy_sources.parsed(content, file.name).texts
