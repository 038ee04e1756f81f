"""What commands that rewrite policy files have in common: refusing, comparing, showing, writing."""

from __future__ import annotations

import dataclasses
import difflib
import os
import pathlib
import stat
import sys
import tempfile
from typing import TYPE_CHECKING, Protocol

from policysched import errors
from policysched.cli import output, policy_texts, progress

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from policysched.lang import diagnostics, source


class Outcome(Protocol):
    """What became of a text, or why nothing did."""

    @property
    def text(self) -> str | None:
        """None if it has errors, or the result could not be proven."""
        ...

    @property
    def diagnostics(self) -> tuple[diagnostics.Diagnostic, ...]:
        """The errors."""
        ...

    @property
    def problem(self) -> str:
        """A defect of our own, or ""."""
        ...


@dataclasses.dataclass(frozen=True)
class Rewriting:
    """A command that makes one text of another.

    Attributes:
        command: its name.
        done: what it has done to a text, in a word.
        rewrite: does it.
        is_in_place: whether files are changed; else the result is printed, as that of stdin is.
    """

    command: str
    done: str
    rewrite: Callable[[source.SourceText], Outcome]
    is_in_place: bool


def add_comparisons(mode: argparse._MutuallyExclusiveGroup) -> None:
    """Add the options that change and print nothing."""
    mode.add_argument("--check", action="store_true", help="name the files that would change")
    mode.add_argument("--diff", action="store_true", help="show what would change")


def _read(paths: Sequence[str], command: str) -> list[source.SourceText]:
    """Return the texts that `command` is to rewrite.

    Raises:
        UsageError: a path is a manifest, whose layout nobody here keeps.
        InputError: a path cannot be read.
    """
    for path in paths:
        if policy_texts.is_manifest(path):
            raise errors.UsageError(f"`{path}` is no policy file; {command} takes `.policy` files")
    with progress.reading("reading policies", paths):
        return policy_texts.read(paths)


def run(rewriting: Rewriting, args: argparse.Namespace) -> int:
    """Rewrite each file; one that cannot be rewritten does not keep the others from it."""
    texts = _read(args.paths, rewriting.command)
    with progress.shown(f"{rewriting.command}: files", len(texts)) as bar:
        results = [rewriting.rewrite(text) for text in bar.track(texts)]
    exit_codes = [
        _tell(rewriting, text, result, args) for text, result in zip(texts, results, strict=True)
    ]
    return max(exit_codes, default=errors.EXIT_OK)


def _tell(
    rewriting: Rewriting, text: source.SourceText, result: Outcome, args: argparse.Namespace
) -> int:
    from policysched.lang import rendering  # noqa: PLC0415 - `--help` does without

    for finding in result.diagnostics:
        output.write(rendering.render(finding, {text.name: text}) + "\n", sys.stderr)
    if result.text is None:
        reason = result.problem or "it has errors"
        output.write(f"policysched: `{text.name}` is left as it is: {reason}", sys.stderr)
        return errors.EXIT_WRONG_INPUT
    return _deliver(rewriting, text, result.text, args)


def _deliver(
    rewriting: Rewriting, text: source.SourceText, rewritten: str, args: argparse.Namespace
) -> int:
    """Compare, print or write the new text."""
    is_changed = rewritten != text.text
    if args.check:
        if is_changed:
            output.write(text.name)
        return errors.EXIT_FINDINGS if is_changed else errors.EXIT_OK
    if args.diff:
        sys.stdout.writelines(diff(text, rewritten, rewriting.done))
        return errors.EXIT_FINDINGS if is_changed else errors.EXIT_OK
    if not rewriting.is_in_place or text.name == policy_texts.STDIN_NAME:
        sys.stdout.write(rewritten)
    elif is_changed:
        write(pathlib.Path(text.name), rewritten)
        output.write(f"{rewriting.done} {text.name}")
    return errors.EXIT_OK


def diff(text: source.SourceText, rewritten: str, how: str) -> list[str]:
    """Return the lines of a unified diff; `how` says in a word what was done to the text."""
    lines = difflib.unified_diff(
        text.text.splitlines(keepends=True),
        rewritten.splitlines(keepends=True),
        fromfile=text.name,
        tofile=f"{text.name} ({how})",
    )
    unended = "\n\\ No newline at end of file\n"
    return [line if line.endswith("\n") else line + unended for line in lines]


def write(path: pathlib.Path, content: str) -> None:
    """Replace a file at once: whoever reads it meanwhile sees the old or the new text whole.

    Raises:
        InputError: it cannot be written.
    """
    target = path.resolve()  # a link stays a link
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            _fill(descriptor, content, target.stat())
            pathlib.Path(name).replace(target)
        except BaseException:  # an interrupt leaves nothing behind either
            pathlib.Path(name).unlink()
            raise
    except OSError as error:
        raise errors.InputError(str(path), f"cannot be written: {error.strerror}") from error


def _fill(descriptor: int, content: str, like: os.stat_result) -> None:
    """Write a new file that has the owner and mode of the one it replaces.

    Raises:
        OSError: among others, for someone who may not give the file to its owner.
    """
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        own = os.fstat(file.fileno())
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
            os.fchown(file.fileno(), like.st_uid, like.st_gid)
        os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))  # last: chown clears setuid bits
        file.write(content)
