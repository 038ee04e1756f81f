"""Commands whose output is a terminal of some width, run in the process of the test."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import sys
import termios
import threading

import pytest

from policysched.cli import main
from policysched.cli.render import progress

_STYLE = re.compile("\x1b\\[[0-9;]*m")
_VARIABLES = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS")


def run(monkeypatch: pytest.MonkeyPatch, columns: int, *argv: str, **environment: str) -> str:
    """Return what a command prints on a terminal, stdout and stderr, with its escape sequences."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    chunks: list[bytes] = []
    reader = threading.Thread(target=_read, args=(ours, chunks))
    reader.start()
    with monkeypatch.context() as patch, os.fdopen(theirs, "w", encoding="utf-8") as stream:
        for name in _VARIABLES:
            patch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm-256color", **environment}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdout", stream)
        patch.setattr(sys, "stderr", stream)
        # On a busy machine a command is slow enough to show its progress there.
        patch.setattr(progress, "DELAY_SECONDS", threading.TIMEOUT_MAX)
        main.main(argv)
    reader.join()
    os.close(ours)
    return b"".join(chunks).decode().replace("\r\n", "\n")


def _read(ours: int, chunks: list[bytes]) -> None:
    with contextlib.suppress(OSError):  # the other end is closed
        while chunk := os.read(ours, 1 << 16):
            chunks.append(chunk)


def without_styles(text: str) -> str:
    """Return a text without colours."""
    return _STYLE.sub("", text)
