from __future__ import annotations

import pytest

from policysched import amounts, units


@pytest.mark.parametrize(
    "value, unit, text",
    [
        pytest.param(0.83, units.RATIO, "83%", id="ratio"),
        pytest.param(0.8349, units.RATIO, "83.5%", id="digits"),
        pytest.param(12.5, units.RATIO, "1,250%", id="overcommitted"),
        pytest.param(0.0, units.RATIO, "0%", id="nothing"),
        pytest.param(-0.05, units.RATIO, "-5%", id="negative"),
        pytest.param(1.5 * 2**30, units.BYTES, "1.5Gi", id="bytes"),
        pytest.param(1023.0, units.BYTES, "1,023", id="few bytes"),
        pytest.param(9e7, units.BYTES_PER_SECOND, "90M/s", id="traffic"),
        pytest.param(2.5, units.CORES, "2.5 cores", id="cores"),
        pytest.param(90.0, units.SECONDS, "90s", id="seconds"),
        pytest.param(0.25, units.PER_SECOND, "0.25/s", id="rate"),
        pytest.param(1234567.0, units.NUMBER, "1,234,567", id="number"),
        pytest.param(1e30, units.BYTES, "867,361,737,988Ei", id="huge"),
    ],
)
def test_a_number_is_written_with_its_unit(value: float, unit: units.Unit, text: str) -> None:
    """Three digits are enough; large numbers have suffixes or commas."""
    assert amounts.format_amount(value, unit) == text


@pytest.mark.parametrize(
    "seconds, text",
    [
        pytest.param(0.2, "0s", id="now"),
        pytest.param(-3.0, "0s", id="future"),
        pytest.param(21.4, "21s", id="seconds"),
        pytest.param(250.0, "4m10s", id="minutes"),
        pytest.param(10800.0, "3h", id="hours"),
        pytest.param(2 * 86400.0 + 3661.0, "2d1h", id="days"),
    ],
)
def test_an_age_has_at_most_two_parts(seconds: float, text: str) -> None:
    """Nobody wants the seconds of a sample that is a day old."""
    assert amounts.format_age(seconds) == text
