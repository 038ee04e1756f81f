"""`policysched migrate`: policy files in the current version of the language."""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import TYPE_CHECKING

from policysched import errors
from policysched.cli import output, policy_texts, rewriting

if TYPE_CHECKING:
    from policysched.lang import source

_DESCRIPTION = """\
Rewrite policy files of a former version of the language to the current one, in place; layout and
comments stay. The files then say their version: `version 1`. One that says so already is left
alone, one of a newer version is refused.
"""
_EPILOG = (
    "exit codes: 0 fine, 1 --check or --diff found a file to migrate, "
    "2 errors or unreadable, 3 usage"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a .policy file, a folder of such files, or `-` for stdin, which is printed",
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="name the files that would change")
    mode.add_argument("--diff", action="store_true", help="show what would change")


def run(args: argparse.Namespace) -> int:
    """Migrate each file; one that cannot be migrated does not keep the others from it."""
    for path in args.paths:
        if policy_texts.is_manifest(path):
            raise errors.UsageError(f"`{path}` is no policy file; migrate takes `.policy` files")
    texts = policy_texts.read(args.paths)
    exit_codes = [_migrate(text, args) for text in texts]
    return max(exit_codes, default=errors.EXIT_OK)


def _migrate(text: source.SourceText, args: argparse.Namespace) -> int:
    from policysched.lang import migration, rendering  # noqa: PLC0415 - `--help` does without Lark

    result = migration.migrate(text)
    for finding in result.diagnostics:
        output.write(rendering.render(finding, {text.name: text}) + "\n", sys.stderr)
    if result.text is None:
        reason = result.problem or "it has errors"
        output.write(f"policysched: `{text.name}` is left as it is: {reason}", sys.stderr)
        return errors.EXIT_WRONG_INPUT
    return _deliver(text, result.text, args)


def _deliver(text: source.SourceText, migrated: str, args: argparse.Namespace) -> int:
    """Compare, print or write the migrated text."""
    is_changed = migrated != text.text
    if args.check:
        if is_changed:
            output.write(text.name)
        return errors.EXIT_FINDINGS if is_changed else errors.EXIT_OK
    if args.diff:
        sys.stdout.writelines(rewriting.diff(text, migrated, "migrated"))
        return errors.EXIT_FINDINGS if is_changed else errors.EXIT_OK
    if text.name == policy_texts.STDIN_NAME:
        sys.stdout.write(migrated)
    elif is_changed:
        rewriting.write(pathlib.Path(text.name), migrated)
        output.write(f"migrated {text.name}")
    return errors.EXIT_OK
