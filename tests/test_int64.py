"""Integers of 64 bits."""

from __future__ import annotations

import pytest

from policysched import int64


@pytest.mark.parametrize(
    "text, number",
    [
        ("7", 7),
        ("+7", 7),
        ("-7", -7),
        ("-0", 0),
        ("007", 7),
        ("", None),
        ("+", None),
        ("+-7", None),
        ("7.0", None),
        ("0x7", None),
        ("7 ", None),
        ("7\n", None),
        ("1_000", None),
        ("\u0667", None),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("-9223372036854775809", None),
        pytest.param("0" * 5000 + "7", 7, id="5000-zeros"),
        pytest.param("1" * 5000, None, id="5000-digits"),
    ],
    ids=str,
)
def test_integers_are_those_of_go(text: str, number: int | None) -> None:
    """A text is an integer if strconv.ParseInt reads one, whatever its length."""
    assert int64.parse_int64(text) == number


@pytest.mark.parametrize(
    "text, number",
    [
        ("0", 0),
        ("0080", 80),
        ("", None),
        ("+80", None),
        ("-1", None),
        ("\u00b2", None),
        ("\u0661", None),
        pytest.param("1" * 5000, None, id="5000-digits"),
    ],
    ids=str,
)
def test_digits_are_ascii_without_a_sign(text: str, number: int | None) -> None:
    """Ports, counts and widths are digits alone."""
    assert int64.parse_unsigned_digits(text) == number
