from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest

from policysched import clock as clocks
from policysched.observability import logs
from tests import builders


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Where the logs of a test go; the handlers of pytest come back afterwards."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    hook = sys.excepthook
    captured = io.StringIO()
    logs.configure_logging(clocks.ManualClock(builders.EPOCH), "info", captured)
    yield captured
    root.handlers[:], root.level = before
    sys.excepthook = hook


def test_a_record_is_one_line(stream: io.StringIO) -> None:
    """Time, level, logger and message; line ends inside of a message do not break it."""
    logging.getLogger("policysched.x").info("a %s", "b\nc")
    assert stream.getvalue() == "2026-01-05T12:00:00.000Z INFO policysched.x: a b\\nc\n"


def test_levels_below_the_chosen_one_are_silent(stream: io.StringIO) -> None:
    """--log-level info hides debug."""
    logging.getLogger("policysched").debug("hidden")
    assert stream.getvalue() == ""


def test_a_traceback_follows_its_line(stream: io.StringIO) -> None:
    """A bug in a plugin shows where it happened."""
    try:
        sum([1, 0]) / 0
    except ZeroDivisionError:
        logging.getLogger("policysched").exception("a plugin failed")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "2026-01-05T12:00:00.000Z ERROR policysched: a plugin failed"
    assert lines[-1] == "  ZeroDivisionError: division by zero"


def test_fields_are_quoted_where_they_must_be() -> None:
    """A value with blanks stays one value."""
    assert logs.format_log_fields(a=1, b="x y", c="", d="p=q") == 'a=1 b="x y" c="" d="p=q"'


class TestJson:
    """--log-format json."""

    @pytest.fixture
    def lines(self, stream: io.StringIO) -> io.StringIO:
        """Where the logs go as JSON."""
        logs.configure_logging(clocks.ManualClock(builders.EPOCH), "debug", stream, form="json")
        return stream

    def test_a_record_is_an_object_on_one_line(self, lines: io.StringIO) -> None:
        """Fields stand apart from the message, with their types."""
        fields = logs.format_log_fields(nodes=3, ok=True, hash="a b", seconds="0.1")
        logging.getLogger("policysched.x").info("synced\n%s", fields)
        assert json.loads(lines.getvalue()) == {
            "time": "2026-01-05T12:00:00.000Z",
            "level": "info",
            "logger": "policysched.x",
            "message": "synced",
            "fields": {"nodes": 3, "ok": True, "hash": "a b", "seconds": "0.1"},
        }
        assert lines.getvalue().count("\n") == 1

    def test_a_traceback_is_a_field(self, lines: io.StringIO) -> None:
        """So that the line stays one, and secrets in exceptions stay out of it."""
        error = ValueError("no connection to https://me:s33d@host/")
        logging.getLogger("policysched").error("asking %s failed", "x", exc_info=error)
        said = json.loads(lines.getvalue())
        assert said["message"] == "asking x failed"
        assert said["error"].endswith("no connection to https://(hidden)@host/")

    def test_a_message_without_arguments_stays_as_it_is(self, lines: io.StringIO) -> None:
        """Percent signs too."""
        logging.getLogger("policysched").warning("100%")
        assert json.loads(lines.getvalue())["message"] == "100%"


def test_libraries_are_silent_below_warnings(stream: io.StringIO) -> None:
    """At level debug they would write down requests."""
    logs.configure_logging(clocks.ManualClock(builders.EPOCH), "debug", stream)
    logging.getLogger("urllib3.connectionpool").debug("GET /?token=x")
    logging.getLogger("urllib3.connectionpool").warning("retrying")
    assert stream.getvalue().count("\n") == 1


def test_an_uncaught_error_is_logged_without_secrets(stream: io.StringIO) -> None:
    """Python's own hook would print what a bug says of a request."""
    error = RuntimeError("Authorization: Bearer s33d")
    sys.excepthook(RuntimeError, error, None)
    assert "CRITICAL policysched: uncaught" in stream.getvalue()
    assert "s33d" not in stream.getvalue()
