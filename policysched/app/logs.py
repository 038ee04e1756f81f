"""Logs: one line of text an event on stderr, `time level logger: message key=value …`."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

from policysched import clock as clocks

LEVELS = ("debug", "info", "warning", "error")


class _Formatter(logging.Formatter):
    """Formats a record on one line, however many its message has; a traceback follows it."""

    def __init__(self, clock: clocks.Clock) -> None:
        super().__init__()
        self._clock = clock

    def format(self, record: logging.LogRecord) -> str:
        time = self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        message = record.getMessage().replace("\n", "\\n")
        line = f"{time} {record.levelname} {record.name}: {message}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def configure(clock: clocks.Clock, level: str = "info", stream: TextIO | None = None) -> None:
    """Send logs of this level and above to `stream` (default: stderr)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_Formatter(clock))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def fields(**values: object) -> str:
    """Return `key=value` pairs; values with blanks are quoted."""
    return " ".join(f"{key}={_quoted(str(value))}" for key, value in values.items())


def _quoted(text: str) -> str:
    return f'"{text}"' if not text or any(sign in text for sign in ' "=') else text
