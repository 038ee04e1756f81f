from __future__ import annotations

import pytest

from policysched import durations


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("15s", 15.0),
        ("1m30s", 90.0),
        ("500ms", 0.5),
        ("1.5h", 5400.0),
        ("0s", 0.0),
        ("1h2m3s4ms", 3723.004),
        ("", None),
        ("15", None),
        ("-15s", None),
        ("15 s", None),
        ("15d", None),
        ("s", None),
        ("1.s", None),
    ],
)
def test_durations_as_kubernetes_writes_them(text: str, seconds: float | None) -> None:
    """Numbers with units, one after the other; anything else is none."""
    assert durations.parse_duration_seconds(text) == seconds
