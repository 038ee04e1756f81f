"""Whether a node has a value of a metric, and why not."""

from __future__ import annotations

import enum


class SampleState(enum.StrEnum):
    """Whether a node has a value; the words are those of schemas/explain.schema.json."""

    OK = "ok"
    MISSING = "missing"
    """No sample."""
    STALE = "stale"
    """The newest sample is older than maxAge."""
    OUT_OF_RANGE = "outOfRange"
    """The value is outside of `between`."""
