"""Parse durations of Kubernetes configuration (metav1.Duration): `15s`, `1m30s`, `500ms`."""

from __future__ import annotations

import re

_UNIT_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = r"(\d+(?:\.\d+)?)(h|ms|m|s)"
_DURATION = re.compile(f"(?:{_PART})+", re.ASCII)


def parse_duration_seconds(text: str) -> float | None:
    """Return a duration in seconds, or None if the text is not a duration."""
    if not _DURATION.fullmatch(text):
        return None
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in re.findall(_PART, text))
