from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched import quantity, units
from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lang.words import numerals


@pytest.mark.parametrize(
    "text, unit, value",
    [
        pytest.param("5", units.NUMBER, 5.0, id="number"),
        pytest.param("0.7", units.NUMBER, 0.7, id="decimal"),
        pytest.param("1e3", units.NUMBER, 1000.0, id="exponent"),
        pytest.param("-3", units.NUMBER, -3.0, id="negative"),
        pytest.param("80%", units.RATIO, 0.8, id="percent"),
        pytest.param("80%", units.NUMBER, 0.8, id="percent-number"),
        pytest.param("0.5", units.RATIO, 0.5, id="small-ratio"),
        pytest.param("80", units.RATIO, None, id="80-is-no-ratio"),
        pytest.param("5m", units.SECONDS, 300.0, id="minutes"),
        pytest.param("5m", units.CORES, 5.0, id="milli-cores"),
        pytest.param("5m", units.NUMBER, 0.005, id="thousandths"),
        pytest.param("5m", units.RATIO, None, id="5m-is-no-ratio"),
        pytest.param("1h30m", units.SECONDS, 5400.0, id="compound-duration"),
        pytest.param("1h30m", units.CORES, None, id="compound-is-no-quantity"),
        pytest.param("500ms", units.SECONDS, 0.5, id="milliseconds"),
        pytest.param("2", units.CORES, 2000.0, id="cores"),
        pytest.param("4Gi", units.BYTES, 4.0 * 2**30, id="gibibytes"),
        pytest.param("4G", units.BYTES, 4e9, id="gigabytes"),
        pytest.param("4G", units.NUMBER, 4e9, id="billions"),
        pytest.param("4Gi", units.CORES, None, id="gibi-is-no-cores"),
        pytest.param("4Gi", units.NUMBER, None, id="gibi-is-no-number"),
        pytest.param("4Ki", units.PER_SECOND, None, id="kibi-is-no-rate-of-events"),
        pytest.param("1.5", units.COMPUTED_RATIO, 1.5, id="more-than-there-is"),
        pytest.param("150%", units.COMPUTED_RATIO, 1.5, id="more-than-there-is-in-percent"),
        pytest.param("4", units.BYTES, None, id="plain-is-no-bytes"),
        pytest.param("0", units.BYTES, 0.0, id="zero-bytes"),
        pytest.param("0", units.SECONDS, 0.0, id="zero-seconds"),
        pytest.param("10M", units.BYTES_PER_SECOND, 1e7, id="bytes-per-second"),
        pytest.param("100", units.PER_SECOND, 100.0, id="per-second"),
        pytest.param("5s", units.NUMBER, None, id="seconds-are-no-number"),
        pytest.param("500m", units.BYTES, None, id="bytes-have-no-thousandths"),
        pytest.param("10u", units.BYTES_PER_SECOND, None, id="nor-have-their-rates"),
        pytest.param("50k", units.CORES, None, id="cores-have-no-thousands"),
        pytest.param("500M", units.CORES, None, id="millions-are-no-milli-cores"),
        pytest.param("5k", units.PER_SECOND, 5000.0, id="thousands-per-second"),
    ],
)
def test_a_literal_is_read_in_the_unit_of_its_place(
    text: str, unit: units.Unit, value: float | None
) -> None:
    """Each reading is exact, and what is no amount of that unit has none."""
    literal = numerals.parse_numeral(text)
    assert literal is not None
    assert literal.convert_to_unit(unit) == value


@pytest.mark.parametrize("text", ["10min", "5X", "5.5.5", "1h30", "5KiB", "1" * 40, "1e999"])
def test_an_unknown_suffix_is_no_number(text: str) -> None:
    """Nothing is guessed."""
    assert numerals.parse_numeral(text) is None


@pytest.mark.parametrize(
    "text, natural",
    [
        pytest.param("5m", None, id="ambiguous"),
        pytest.param("5m0s", (300.0, units.SECONDS), id="duration"),
        pytest.param("4Gi", (4.0 * 2**30, units.BYTES), id="binary"),
        pytest.param("4k", (4000.0, units.NUMBER), id="decimal"),
        pytest.param("80%", (0.8, units.RATIO), id="percent"),
    ],
)
def test_a_lone_literal_has_a_unit_only_if_its_suffix_has_one(
    text: str, natural: tuple[float, units.Unit] | None
) -> None:
    """`5m` alone is minutes or thousandths, so it has no natural unit."""
    literal = numerals.parse_numeral(text)
    assert literal is not None
    assert literal.get_unambiguous_value() == natural


@given(st.integers(0, 10**6), st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi"]))
def test_quantities_are_those_of_kubernetes(number: int, suffix: str) -> None:
    """Cores and bytes of a literal are what the same text means in a pod spec."""
    text = f"{number}{suffix}"
    literal = numerals.parse_numeral(text)
    assert literal is not None
    if suffix in ("", "m"):
        assert literal.convert_to_unit(units.CORES) == float(quantity.parse_milli_units(text))
    if suffix not in ("", "m"):
        assert literal.convert_to_unit(units.BYTES) == float(quantity.parse_whole_units(text))


@pytest.mark.parametrize(
    "rule, written",
    [
        pytest.param("reject when free(cpu) < 010", ["010"], id="expression"),
        pytest.param("score free(cpu) prefer high weight 05", ["05"], id="weight"),
        pytest.param(
            "reject when free(memory) < 007Gi and 0.5 < 00.7", ["007Gi", "00.7"], id="two"
        ),
        pytest.param("nodeAffinity required rack = 010 and zone In (007)", [], id="labels"),
        pytest.param("reject when free(cpu) < 0 or 0.7 < 10", [], id="plain"),
    ],
)
def test_a_leading_zero_has_a_warning(rule: str, written: list[str]) -> None:
    """It changes no number, and labels are text."""
    text = f"policy web {{\n  for pods where app = web\n  {rule}\n}}\n"
    result = checker.check([source.SourceText("x.policy", text)])
    assert result.program is not None
    found = [(each.code, text[each.span.start : each.span.end]) for each in result.diagnostics]
    assert found == [("PS809", each) for each in written]
    assert all(each.severity is diagnostics.Severity.WARNING for each in result.diagnostics)
