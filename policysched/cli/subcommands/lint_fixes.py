"""`policysched lint --fix`: show or write the texts that fixes have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched import errors
from policysched.cli.policy_files import rewriting
from policysched.cli.render import output

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from policysched.inputs import policy_sources
    from policysched.lang import source

_HOW = "fixed"


def print_fix_diff(
    files: Iterable[policy_sources.PolicySourceFile], fixed: Mapping[str, str]
) -> int:
    """Print the diff of the fixes; return the exit code, which is 2 if a text cannot be edited."""
    exit_code = errors.EXIT_OK
    for file in files:
        content, is_whole = rewriting.replace_policy_texts(file, fixed)
        if content != file.content:
            exit_code = max(exit_code, errors.EXIT_FINDINGS)
            output.write_diff(rewriting.make_unified_diff(file, content, _HOW))
        if not is_whole:
            exit_code = errors.EXIT_WRONG_INPUT
    return exit_code


def write_fixed_files(
    files: Sequence[policy_sources.PolicySourceFile], fixed: Mapping[str, str]
) -> tuple[list[source.SourceText], int]:
    """Write the files that fixes have changed; return their new texts and the exit code.

    Text from standard input is printed, even if it is unchanged. The exit code is 2 if a text
    cannot be edited.

    Raises:
        InputError: a file cannot be written; earlier files have been written.
    """
    texts: list[source.SourceText] = []
    exit_code = errors.EXIT_OK
    for file in files:
        content, is_whole = rewriting.replace_policy_texts(file, fixed)
        is_changed = content != file.content
        if file.is_stdin:
            output.write_text_exactly(content)
        elif is_changed:
            rewriting.replace_file_atomically(file.name, file.content, content)
            output.print_note_to_stderr(f"fixed {file.name}")
        if not is_whole:
            exit_code = errors.EXIT_WRONG_INPUT
        texts += _parse_texts_again(file, content) if is_changed else file.texts
    return texts, exit_code


def _parse_texts_again(
    file: policy_sources.PolicySourceFile, content: str
) -> tuple[source.SourceText, ...]:
    """Parse new content again, because the positions of texts in a manifest can have changed."""
    from policysched.inputs import policy_sources  # noqa: PLC0415 - not needed for `--help`

    return policy_sources.parse_policy_file(content, file.name).texts
