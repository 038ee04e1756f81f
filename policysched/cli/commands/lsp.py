"""`policysched lsp`: serve an editor over the Language Server Protocol."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from policysched import clock as clocks
from policysched import errors

if TYPE_CHECKING:
    import argparse

_DESCRIPTION = """\
Serve one editor on standard input and output with the Language Server Protocol: findings of check
and lint, fixes, completion, hover, names and formatting, in policy files and in ConfigMap
manifests. Editors start this command; docs/editors.md describes the setup.
"""
_EPILOG = (
    "exit codes: 0 shut down by the editor, 1 the editor disappeared, 2 not installed, 3 "
    "invalid usage"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument(
        "--stdio", action="store_true", help="accepted because some editors pass it; has no effect"
    )


def run(_args: argparse.Namespace) -> int:
    """Serve until the editor ends the session."""
    if importlib.util.find_spec("pygls") is None:
        raise errors.InputError(
            "policysched lsp",
            "needs pygls, which is not installed",
            help="install policysched[lsp]",
        )
    from policysched.language_server import server  # noqa: PLC0415 - pygls is an extra

    was_in_order = server.serve_on_stdio(clocks.SystemClock())
    return errors.EXIT_OK if was_in_order else errors.EXIT_FINDINGS
