"""`policysched migrate`: rewrite policy files in the current version of the language."""

from __future__ import annotations

import argparse

from policysched.cli.policy_files import policy_texts, rewriting

_DESCRIPTION = """\
Rewrite policy files of an earlier version of the language to the current one, in place, and keep
their layout and comments. The files then declare their version, `version 1`. A file that already
declares the current version is left unchanged; a file of a newer version is refused.
"""
_EPILOG = (
    "exit codes: 0 success, 1 --check or --diff found a file to migrate, 2 errors or "
    "unreadable input, 3 invalid usage"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    policy_texts.add_paths_argument(parser)
    mode = parser.add_mutually_exclusive_group()
    rewriting.add_comparison_options(mode)


def run(args: argparse.Namespace) -> int:
    """Migrate each file and return the exit code."""
    from policysched.lang.formatting import migration  # noqa: PLC0415 - `--help` does not need Lark

    migrating = rewriting.RewriteCommand(
        "migrate", "migrated", migration.migrate_policy_text, is_in_place=True
    )
    return rewriting.rewrite_policy_files(migrating, args)
