"""Detects the colours and width of the terminal to which a stream is connected."""

from __future__ import annotations

import os
from typing import TextIO

from policysched import int64

_PLAIN = ("dumb", "unknown")


def is_dumb_terminal() -> bool:
    """Return whether the terminal can neither show colours nor erase a line."""
    return os.environ.get("TERM", "dumb") in _PLAIN


def supports_colours(stream: TextIO) -> bool:
    """Return whether to write colours to a stream.

    NO_COLOR disables them. FORCE_COLOR and CLICOLOR_FORCE enable them for every stream. Otherwise,
    terminals that support colours get them, unless CLICOLOR is 0.
    """
    variable = os.environ.get
    if variable("NO_COLOR"):
        return False
    if any(variable(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return variable("CLICOLOR") != "0" and stream.isatty() and not is_dumb_terminal()


def get_terminal_width(stream: TextIO) -> int | None:
    """Return the width of the terminal in columns; None if it is unknown or for a pipe or a file.

    COLUMNS takes precedence, as in other programs.
    """
    if not stream.isatty():
        return None
    wanted = int64.parse_unsigned_digits(os.environ.get("COLUMNS", ""))
    if wanted is not None and wanted > 0:
        return wanted
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):  # ValueError: a stream without a file descriptor
        return None
