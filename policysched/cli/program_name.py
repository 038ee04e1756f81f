"""The name under which the program was called: its own, or as a plugin of kubectl."""

from __future__ import annotations

import sys

NAME = "policysched"
_PLUGIN_PREFIX = "kubectl-"
"""The prefix of the name of the file that `kubectl policysched` runs."""


def get_program_name() -> str:
    """Return `policysched`, or `kubectl policysched`."""
    file = sys.argv[0].rpartition("/")[2]
    return f"kubectl {NAME}" if file.startswith(_PLUGIN_PREFIX) else NAME


def replace_program_name(text: str) -> str:
    """Return a text whose commands (`policysched lint`) start with the name as it was called."""
    return text.replace(f"`{NAME} ", f"`{get_program_name()} ")
