"""What others wrote cannot forge a line of the log, nor talk to the terminal it is read on."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched import clock as clocks
from policysched.observability import logs
from tests import builders

_ANY = st.text(st.characters(exclude_categories=["Cs"]))
_FORGED = "web\n2026-01-05T12:00:00.000Z INFO policysched: all is well\r\x1b[2K\u2028\u202e"


@pytest.fixture(autouse=True)
def handlers_come_back() -> Iterator[None]:
    """Pytest's own handlers are there again afterwards."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level, sys.excepthook)
    yield
    root.handlers[:], root.level, sys.excepthook = before


def _logged(text: str, form: Literal["text", "json"]) -> str:
    stream = io.StringIO()
    logs.configure_logging(clocks.ManualClock(builders.EPOCH), "info", stream, form)
    logging.getLogger("policysched").info("pod %s %s", text, logs.format_log_fields(name=text))
    return stream.getvalue()


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_record_is_one_line_of_visible_characters(form: Literal["text", "json"]) -> None:
    """Line ends, escape sequences and marks of direction are written as what they are."""
    said = _logged(_FORGED, form)
    assert said.endswith("\n")
    assert len(said.splitlines()) == 1
    assert said[:-1].isprintable()


@given(_ANY)
def test_json_says_what_it_was_given(text: str) -> None:
    """Nothing is lost, and nothing becomes another field."""
    found = json.loads(_logged(text, "json"))
    assert found["fields"] == {"name": text}
    assert set(found) == {"time", "level", "logger", "message", "fields"}


@given(_ANY)
def test_text_is_one_line_whatever_it_holds(text: str) -> None:
    """Also for characters that only some programs take for the end of a line."""
    said = _logged(text, "text")
    assert len(said.removesuffix("\n").split("\n")) == 1
    assert "\r" not in said
    assert "\x1b" not in said


def test_the_message_of_an_error_forges_no_record() -> None:
    """Lines of a traceback are set in and visible, so that none of them looks like a record."""
    stream = io.StringIO()
    logs.configure_logging(clocks.ManualClock(builders.EPOCH), "info", stream, "text")
    logging.getLogger("policysched").error("failed", exc_info=ValueError(_FORGED))
    first, *others = stream.getvalue()[:-1].split("\n")
    assert first.endswith("ERROR policysched: failed")
    assert all(line.startswith("  ") and line.isprintable() for line in others)
    assert any("all is well" in line for line in others)
