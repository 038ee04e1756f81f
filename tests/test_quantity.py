"""Quantities as integers."""

from __future__ import annotations

from fractions import Fraction

import hypothesis
import pytest
from hypothesis import strategies

from policysched import int64, quantity


@pytest.mark.parametrize(
    "text, value, milli",
    [
        ("0", 0, 0),
        ("1", 1, 1000),
        ("500m", 1, 500),
        ("1500m", 2, 1500),
        ("100n", 1, 1),
        ("1u", 1, 1),
        ("1k", 1000, 1_000_000),
        ("1Ki", 1024, 1_024_000),
        ("1.5Gi", 1_610_612_736, 1_610_612_736_000),
        (".5", 1, 500),
        ("5.", 5, 5000),
        ("1e3", 1000, 1_000_000),
        ("12E-1", 2, 1200),
        ("1E", 10**18, int64.MAX),
        ("-1.5", -2, -1500),
        ("+2", 2, 2000),
        ("9223372036854775808", int64.MAX, int64.MAX),
        (2, 2, 2000),
        (0.1, 1, 100),
    ],
    ids=str,
)
def test_values_round_away_from_zero(text: str | float, value: int, milli: int) -> None:
    """Both readings of a quantity are those of apimachinery's Value and MilliValue."""
    assert quantity.parse_whole_units(text) == value
    assert quantity.parse_milli_units(text) == milli


@pytest.mark.parametrize(
    "text", ["", "cpu", "1 Gi", "1GB", "1..5", "--1", "0x10", "1e", "m", "\uff11", "1" * 1025]
)
def test_other_texts_are_refused(text: str) -> None:
    """What Kubernetes would not parse is an error that shows the text."""
    with pytest.raises(quantity.QuantityError, match="is not a quantity"):
        quantity.parse_quantity(text)


@pytest.mark.parametrize(
    "text, number",
    [
        ("0.1n", Fraction(1, 10**9)),
        ("-1.5n", Fraction(-2, 10**9)),
        ("1e-30", Fraction(1, 10**9)),
        ("0.0000000001Ki", Fraction(103, 10**9)),
        ("16Ei", Fraction(int64.MAX)),
        ("-17Ei", Fraction(-int64.MAX)),
        ("16E", Fraction(16 * 10**18)),
        ("1e30", Fraction(10**30)),
    ],
)
def test_number_is_rounded_and_limited_as_in_kubernetes(text: str, number: Fraction) -> None:
    """Two quantities are equal if Kubernetes keeps the same number for both."""
    assert quantity.parse_quantity(text) == number


@hypothesis.given(
    strategies.integers(min_value=0, max_value=2**53),
    strategies.sampled_from(["n", "u", "m", "", "k", "M", "Ki", "Mi", "Gi"]),
)
def test_value_is_the_smallest_integer_not_below(number: int, suffix: str) -> None:
    """Rounding up never loses more than one unit."""
    exact = quantity.parse_quantity(f"{number}{suffix}")
    rounded = quantity.parse_whole_units(f"{number}{suffix}")
    assert rounded == int64.MAX or exact <= rounded < exact + Fraction(1)


@pytest.mark.parametrize(
    "text, written",
    [
        ("0", "0"),
        ("0Gi", "0"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1000Ki", "1000Ki"),
        ("512", "512"),
        ("0.5Ki", "512"),
        ("1.0001Ki", "1024102400u"),
        ("-2048Ki", "-2Mi"),
        ("1000", "1k"),
        ("1.5", "1500m"),
        ("1500m", "1500m"),
        ("1000m", "1"),
        ("1.5k", "1500"),
        ("0.0000000001", "1n"),
        ("-0.0000000001", "-1n"),
        ("1e3", "1e3"),
        ("12E-1", "1200e-3"),
        ("100e1", "1e3"),
        ("2e0", "2e0"),
        ("1E", "1E"),
        ("100000000000Ei", "9223372036854775807"),
        ("-16Ei", "-9223372036854775807"),
        ("1e30", "1e30"),
        ("1" * 400, "1" * 400),
    ],
)
def test_a_quantity_is_written_as_kubernetes_does(text: str, written: str) -> None:
    """The suffix keeps its kind, and is the largest one that leaves a whole number."""
    assert quantity.normalize_quantity(text) == written
    assert quantity.normalize_quantity(written) == written
