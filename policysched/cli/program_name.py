"""The name under which the program was called: its own name, or that of a kubectl plugin."""

from __future__ import annotations

import pathlib
import shlex
import shutil
import sys

NAME = "policysched"
_PLUGIN_PREFIX = "kubectl-"
"""The file that `kubectl policysched` runs has a name with this prefix."""


def get_program_name() -> str:
    """Return `policysched` or `kubectl policysched`."""
    file = sys.argv[0].rpartition("/")[2]
    return f"kubectl {NAME}" if file.startswith(_PLUGIN_PREFIX) else NAME


def get_invocation_command() -> str:
    """Return the command that starts this program: its name, or its path if not on the PATH."""
    called = pathlib.Path(sys.argv[0])
    if called.name != NAME or not called.is_file():
        return get_program_name()
    found = shutil.which(NAME)
    if found is not None and called.samefile(found):
        return NAME
    return shlex.quote(sys.argv[0])


def replace_program_name(text: str) -> str:
    """Return a text with `get_program_name()` in quoted commands, such as `policysched lint`."""
    return text.replace(f"`{NAME} ", f"`{get_program_name()} ")
