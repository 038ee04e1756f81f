"""Shared steps of commands that rewrite policy files: refuse, compare, show, write."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import stat
import sys
from typing import TYPE_CHECKING, Protocol

from policysched import errors
from policysched.cli.policy_files import policy_texts
from policysched.cli.render import output, progress

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from policysched.inputs import policy_sources
    from policysched.lang import source
    from policysched.lang.diagnostics import diagnostics


class RewriteResult(Protocol):
    """The result of rewriting a text, or the reason why it failed."""

    @property
    def text(self) -> str | None:
        """The new text; None if the text has errors or the result could not be verified."""
        ...

    @property
    def diagnostics(self) -> tuple[diagnostics.Diagnostic, ...]:
        """The errors in the text."""
        ...

    @property
    def problem(self) -> str:
        """A description of a defect in the rewriter itself, or ""."""
        ...


@dataclasses.dataclass(frozen=True)
class RewriteCommand:
    """A command that rewrites texts.

    Attributes:
        command: the name of the command.
        done: the past participle for messages, such as `formatted`.
        rewrite: the function that rewrites a text.
        is_in_place: whether files are changed; otherwise, and for stdin, the result is printed.
    """

    command: str
    done: str
    rewrite: Callable[[source.SourceText], RewriteResult]
    is_in_place: bool


def add_comparison_options(mode: argparse._MutuallyExclusiveGroup) -> None:
    """Add the options that report changes instead of making them."""
    mode.add_argument("--check", action="store_true", help="list the files that would change")
    mode.add_argument("--diff", action="store_true", help="show the changes")


def rewrite_policy_files(rewriting: RewriteCommand, args: argparse.Namespace) -> int:
    """Rewrite each file and return the highest exit code; continue after an error in a file."""
    with progress.show_reading_progress("reading policies", args.paths):
        files = policy_texts.read_policy_files(args.paths)
    with progress.show_progress(f"{rewriting.command}: files", len(files)) as bar:
        results = [
            [rewriting.rewrite(text) for text in file.texts] for file in bar.track_items(files)
        ]
    exit_codes = [
        max(
            _print_rewrite_problems(file, outcomes),
            _output_rewritten_file(rewriting, file, outcomes, args),
        )
        for file, outcomes in zip(files, results, strict=True)
    ]
    return max(exit_codes, default=errors.EXIT_OK)


def _print_rewrite_problems(
    file: policy_sources.PolicySourceFile, outcomes: Sequence[RewriteResult]
) -> int:
    """Print the reasons why texts are not rewritten; return the exit code."""
    from policysched.lang.diagnostics import rendering  # noqa: PLC0415 - not needed for `--help`

    exit_code = errors.EXIT_OK
    for text, outcome in zip(file.texts, outcomes, strict=True):
        for finding in outcome.diagnostics:
            output.write_findings(
                rendering.render_diagnostic(finding, {text.name: text}) + "\n", sys.stderr
            )
        if outcome.text is None:
            print_unchanged_text_error(text.name, outcome.problem or "it has errors")
            exit_code = errors.EXIT_WRONG_INPUT
    return exit_code


def print_unchanged_text_error(name: str, reason: str) -> None:
    """Print the reason why a text is not changed."""
    output.print_error(f"`{name}` is left unchanged: {reason}")


def _output_rewritten_file(
    rewriting: RewriteCommand,
    file: policy_sources.PolicySourceFile,
    outcomes: Sequence[RewriteResult],
    args: argparse.Namespace,
) -> int:
    """Compare, print or write the file with its new texts; return the exit code."""
    pairs = zip(file.texts, outcomes, strict=True)
    new = {text.name: outcome.text for text, outcome in pairs if outcome.text is not None}
    if not new:
        return errors.EXIT_WRONG_INPUT
    content, is_whole = replace_policy_texts(file, new)
    is_changed = content != file.content
    exit_code = errors.EXIT_OK if is_whole else errors.EXIT_WRONG_INPUT
    if args.check:
        if is_changed:
            output.write_text(file.name)
        return max(exit_code, errors.EXIT_FINDINGS if is_changed else errors.EXIT_OK)
    if args.diff:
        output.write_diff(make_unified_diff(file, content, rewriting.done))
        return max(exit_code, errors.EXIT_FINDINGS if is_changed else errors.EXIT_OK)
    if not rewriting.is_in_place or file.is_stdin:
        output.write_text_exactly(content)
    elif is_changed:
        replace_file_atomically(file.name, file.content, content)
        output.write_text(f"{rewriting.done} {file.name}")
    return exit_code


def replace_policy_texts(
    file: policy_sources.PolicySourceFile, new: Mapping[str, str]
) -> tuple[str, bool]:
    """Return the content of a file with new texts, and whether all texts could be replaced.

    Texts in a manifest that are not literal blocks stay unchanged, and an error is printed for
    each.
    """
    try:
        return file.replace_texts(new), True
    except errors.InputError as error:
        if len(file.texts) == 1:
            print_unchanged_text_error(file.name, str(error))
            return file.content, False
    able: dict[str, str] = {}
    for text in file.texts:
        one = {text.name: new.get(text.name, text.text)}
        try:
            file.replace_texts(one)
        except errors.InputError as error:
            print_unchanged_text_error(text.name, str(error))
        else:
            able |= one
    return file.replace_texts(able), False


def make_unified_diff(file: policy_sources.PolicySourceFile, content: str, how: str) -> list[str]:
    """Return the lines of a unified diff; `how` describes the new content, such as `fixed`."""
    import difflib  # noqa: PLC0415 - not needed in most runs

    lines = difflib.unified_diff(
        file.content.splitlines(keepends=True),
        content.splitlines(keepends=True),
        fromfile=file.name,
        tofile=f"{file.name} ({how})",
    )
    unended = "\n\\ No newline at end of file\n"
    return [line if line.endswith("\n") else line + unended for line in lines]


def replace_file_atomically(name: str, before: str, content: str) -> None:
    """Replace a file atomically: a concurrent reader gets the complete old or new text.

    `before` is the text as it was read, without a byte order mark. A mark in the file is kept.

    Raises:
        InputError: the file cannot be written, is no regular file, or has changed since it was
            read.
    """
    import tempfile  # noqa: PLC0415 - not needed in most runs

    target = pathlib.Path(name).resolve()  # a symbolic link stays a link
    try:
        if not stat.S_ISREG(target.stat().st_mode):  # a device would become a file
            raise errors.InputError(name, "is not a regular file and is not written")
        mark = _read_byte_order_mark(target, name, before)
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            _write_copying_owner_and_mode(descriptor, mark + content, target.stat())
            pathlib.Path(temporary).replace(target)
        except BaseException:  # an interrupt must also remove the temporary file
            pathlib.Path(temporary).unlink()
            raise
    except OSError as error:
        raise errors.InputError(name, f"cannot be written: {error.strerror}") from error


def _read_byte_order_mark(target: pathlib.Path, name: str, before: str) -> str:
    """Return the byte order mark at the beginning of a file, or "".

    Raises:
        InputError: the file has changed since it was read.
    """
    now = target.read_bytes().decode("utf-8", errors="replace")
    for mark in ("", "\ufeff"):
        if now == mark + before:
            return mark
    raise errors.InputError(name, "has changed since it was read and is not written")


def _write_copying_owner_and_mode(descriptor: int, content: str, like: os.stat_result) -> None:
    """Write a new file with the owner and mode of the file that it replaces.

    Raises:
        OSError: the file cannot be written, or the process may not change its owner.
    """
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        own = os.fstat(file.fileno())
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
            os.fchown(file.fileno(), like.st_uid, like.st_gid)
        os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))  # last: chown clears setuid bits
        file.write(content)
        file.flush()
        os.fsync(file.fileno())  # after a crash of the machine, either text is complete
