"""`policysched fmt`: print policy files in canonical form."""

from __future__ import annotations

import argparse

from policysched.cli.policy_files import policy_texts, rewriting

_DESCRIPTION = """\
Print policy files in canonical form: one layout, with all comments. The result is parsed again, and
refused if its meaning differs. Only --write changes files.
"""
_EPILOG = (
    "exit codes: 0 success, 1 --check or --diff found a file to format, 2 errors or unreadable "
    "input, 3 invalid usage"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    policy_texts.add_paths_argument(parser)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("-w", "--write", action="store_true", help="change the files")
    rewriting.add_comparison_options(mode)


def run(args: argparse.Namespace) -> int:
    """Format each file and return the exit code."""
    from policysched.lang.formatting import formatter  # noqa: PLC0415 - `--help` does not need Lark

    formatting = rewriting.RewriteCommand(
        "fmt", "formatted", formatter.format_text, is_in_place=args.write
    )
    return rewriting.rewrite_policy_files(formatting, args)
