"""docs/observability.md says what is so."""

from __future__ import annotations

import io
import json
import logging
import pathlib
import re
import sys

import pytest

from policysched import clock as clocks
from policysched.config import config, config_reading
from policysched.observability import decision_page, logs, tracing
from tests import builders

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "observability.md").read_text(
    encoding="utf-8"
)
BLOCKS = dict(re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


def test_the_configuration_is_one() -> None:
    """It fits the schema, and its endpoint is taken."""
    head = "apiVersion: policysched.io/v1alpha1\nkind: PolicySchedulerConfiguration\n"
    found = config_reading.parse_config(head + BLOCKS["yaml"], "page")
    assert found.tracing.sampling_rate_per_million == 10_000
    assert tracing._make_traces_url(found.tracing.endpoint).endswith(":4318/v1/traces")


def test_a_log_line_looks_as_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name by name."""
    root = logging.getLogger()
    before, hook = (root.handlers[:], root.level), sys.excepthook
    stream = io.StringIO()
    try:
        logs.configure_logging(clocks.ManualClock(builders.EPOCH), "info", stream, form="json")
        fields = logs.format_log_fields(nodes=3, pods=40, seconds="0.2")
        logging.getLogger("policysched").info("synced %s", fields)
    finally:
        root.handlers[:], root.level = before
        sys.excepthook = hook
    assert stream.getvalue() == BLOCKS["json"]
    assert json.loads(stream.getvalue())["level"] in logs.LEVELS


def test_defaults_and_names_are_those_of_the_code() -> None:
    """How many decisions are kept, where the page is, and how many it shows."""
    kept = config.DecisionsConfig().kept
    assert f"The last {kept:,} are kept" in PAGE
    assert f"`{decision_page.PATH}`" in PAGE
    assert f"`limit=N`, {decision_page._DEFAULT_LIMIT} by default" in PAGE.replace("\n", " ")
