"""Configure logging: one line per event on stderr, as text or JSON, without secrets.

text: `2026-01-05T12:00:00.000Z INFO policysched: synced nodes=3 pods=40`
json: `{"time":"…","level":"info","logger":"policysched","message":"synced","fields":{"nodes":3,…}}`
"""

from __future__ import annotations

import json
import logging
import sys
import types
from typing import Literal, TextIO, TypeAlias

from policysched import clock as clocks
from policysched import control_characters
from policysched.observability import redaction

LEVELS = ("debug", "info", "warning", "error")
Form: TypeAlias = Literal["text", "json"]

_LIBRARIES = (
    "aiohttp",
    "asyncio",
    "grpclib",
    "hpack",
    "kubernetes",
    "opentelemetry",
    "requests",
    "urllib3",
)
"""At level debug, these libraries log requests with headers and bodies, which can be secret."""

SECRETS = redaction.Redactor()
"""The redactor of this process; code that reads a secret registers it here."""


class LogFields(str):
    """`key=value` pairs as text, for `%s` in a log message; the JSON form keeps the values.

    Attributes:
        values: the fields, keyed by name.
    """

    __slots__ = ("values",)
    values: dict[str, object]


def format_log_fields(**values: object) -> LogFields:
    """Return the `key=value` pairs; values that are empty or have blanks, `"` or `=` are quoted."""
    made = LogFields(
        " ".join(f"{key}={_quote_field_value(str(value))}" for key, value in values.items())
    )
    made.values = values
    return made


def _quote_field_value(text: str) -> str:
    is_plain = text and not any(sign in text for sign in ' "=')
    return text if is_plain else json.dumps(text, ensure_ascii=False)


class _LogFormatter(logging.Formatter):
    def __init__(self, clock: clocks.Clock) -> None:
        super().__init__()
        self._clock = clock

    def _time(self) -> str:
        return self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class _TextFormatter(_LogFormatter):
    """Formats a record on one line and indents a traceback below it."""

    def format(self, record: logging.LogRecord) -> str:
        message = control_characters.escape_to_one_line(record.getMessage())
        line = f"{self._time()} {record.levelname} {record.name}: {message}"
        if record.exc_info:
            line += "\n" + _indent_traceback(self.formatException(record.exc_info))
        return SECRETS.remove_secrets(line)


def _indent_traceback(trace: str) -> str:
    """Indent a traceback, so that none of its lines looks like a record."""
    lines = (control_characters.escape_to_one_line(line) for line in trace.split("\n"))
    return "\n".join(f"  {line}" for line in lines)


class _JsonFormatter(_LogFormatter):
    """Formats a record as a JSON object on one line, with the traceback in the field `error`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON, with secrets removed from each text."""
        arguments = record.args if isinstance(record.args, tuple) else ()
        known = [each.values for each in arguments if isinstance(each, LogFields)]
        said: dict[str, object] = {
            "time": self._time(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": SECRETS.remove_secrets(_get_message_without_fields(record)),
        }
        if known:
            merged = {key: value for values in known for key, value in values.items()}
            said["fields"] = {key: _convert_to_json_value(value) for key, value in merged.items()}
        if record.exc_info:
            said["error"] = SECRETS.remove_secrets(self.formatException(record.exc_info))
        return json.dumps(said, separators=(",", ":"))


def _get_message_without_fields(record: logging.LogRecord) -> str:
    """Return the message without `LogFields`, which the JSON form has in its field `fields`."""
    if not isinstance(record.args, tuple):
        return record.getMessage()
    rest = tuple("" if isinstance(each, LogFields) else each for each in record.args)
    return (str(record.msg) % rest).strip() if rest else str(record.msg)


def _convert_to_json_value(value: object) -> object:
    is_plain = value is None or isinstance(value, bool | int | float)
    return value if is_plain else SECRETS.remove_secrets(str(value))


def configure_logging(
    clock: clocks.Clock, level: str = "info", stream: TextIO | None = None, form: Form = "text"
) -> None:
    """Log records of `level` and above, and uncaught errors, to `stream` (default: stderr).

    Records of third-party libraries below WARNING are dropped.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_JsonFormatter(clock) if form == "json" else _TextFormatter(clock))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for library in _LIBRARIES:
        logging.getLogger(library).setLevel(max(logging.WARNING, logging.getLogger().level))
    sys.excepthook = _log_uncaught


def _log_uncaught(
    kind: type[BaseException], error: BaseException, trace: types.TracebackType | None
) -> None:
    """Log the error that ends the process, because Python's own hook would print secrets."""
    logging.getLogger("policysched").critical("uncaught", exc_info=(kind, error, trace))
