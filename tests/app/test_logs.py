from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from policysched import clock as clocks
from policysched.app import logs
from tests import builders


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Where the logs of a test go; the handlers of pytest come back afterwards."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    captured = io.StringIO()
    logs.configure(clocks.ManualClock(builders.EPOCH), "info", captured)
    yield captured
    root.handlers[:], root.level = before


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
    assert lines[-1] == "ZeroDivisionError: division by zero"


def test_fields_are_quoted_where_they_must_be() -> None:
    """A value with blanks stays one value."""
    assert logs.fields(a=1, b="x y", c="", d="p=q") == 'a=1 b="x y" c="" d="p=q"'
