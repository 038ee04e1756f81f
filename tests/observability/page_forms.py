"""The forms of pages below /debug/, as schemas/ has them."""

from __future__ import annotations

from typing import Any

import orjson

from tests import report_schemas


def read(name: str, body: bytes | str) -> Any:
    """Return what a page says, once it fits the schema `debug-NAME`."""
    document = orjson.loads(body)
    report_schemas.check_report(document, f"debug-{name}")
    return document
