"""The width that a terminal is taken to have."""

from __future__ import annotations

import fcntl
import os
import struct
import termios

import pytest

from policysched.cli.render import terminal


@pytest.mark.parametrize(
    "written, columns",
    [
        ("60", 60),
        ("", 72),
        ("0", 72),
        ("-60", 72),
        ("60.5", 72),
        ("²", 72),
        pytest.param("1" * 5000, 72, id="5000-digits"),
    ],
)
def test_columns_overrides_the_width_if_it_is_a_number(
    written: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any other value of the variable is ignored."""
    monkeypatch.setenv("COLUMNS", written)
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "w", encoding="utf-8") as stream:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 72, 0, 0))
        assert terminal.get_terminal_width(stream) == columns
