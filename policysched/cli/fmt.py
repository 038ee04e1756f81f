"""`policysched fmt`: policy files in canonical form."""

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
Print policy files in canonical form: one layout, all comments kept. The result is parsed again and
refused if it would mean anything else. Files are changed by --write only.
"""
_EPILOG = (
    "exit codes: 0 fine, 1 --check or --diff found a file to format, "
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
        help="a .policy file, a folder of such files, or `-` for stdin",
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("-w", "--write", action="store_true", help="change the files")
    mode.add_argument("--check", action="store_true", help="name the files that would change")
    mode.add_argument("--diff", action="store_true", help="show what would change")


def run(args: argparse.Namespace) -> int:
    """Format each file; one that cannot be formatted does not keep the others from it."""
    for path in args.paths:
        if policy_texts.is_manifest(path):
            raise errors.UsageError(f"`{path}` is no policy file; fmt takes `.policy` files")
    texts = policy_texts.read(args.paths)
    exit_codes = [_format(text, args) for text in texts]
    return max(exit_codes, default=errors.EXIT_OK)


def _format(text: source.SourceText, args: argparse.Namespace) -> int:
    from policysched.lang import formatter, rendering  # noqa: PLC0415 - `--help` does without Lark

    result = formatter.format_text(text)
    for finding in result.diagnostics:
        output.write(rendering.render(finding, {text.name: text}) + "\n", sys.stderr)
    if result.text is None:
        reason = result.problem or "it has errors"
        output.write(f"policysched: `{text.name}` is left as it is: {reason}", sys.stderr)
        return errors.EXIT_WRONG_INPUT
    return _deliver(text, result.text, args)


def _deliver(text: source.SourceText, formatted: str, args: argparse.Namespace) -> int:
    """Print, write or compare the formatted text."""
    is_changed = formatted != text.text
    if args.check:
        if is_changed:
            output.write(text.name)
        return errors.EXIT_FINDINGS if is_changed else errors.EXIT_OK
    if args.diff:
        sys.stdout.writelines(rewriting.diff(text, formatted, "formatted"))
        return errors.EXIT_FINDINGS if is_changed else errors.EXIT_OK
    if args.write and text.name != policy_texts.STDIN_NAME:
        if is_changed:
            rewriting.write(pathlib.Path(text.name), formatted)
            output.write(f"formatted {text.name}")
        return errors.EXIT_OK
    sys.stdout.write(formatted)
    return errors.EXIT_OK
