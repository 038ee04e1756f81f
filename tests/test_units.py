from __future__ import annotations

import pytest

from policysched import units


@pytest.mark.parametrize(
    "left, right, sign, product",
    [
        pytest.param(units.BYTES, units.BYTES, -1, "ratio", id="bytes/bytes"),
        pytest.param(units.BYTES, units.NUMBER, 1, "bytes", id="bytes*number"),
        pytest.param(units.RATIO, units.CORES, 1, "cores", id="ratio*cores"),
        pytest.param(units.NUMBER, units.RATIO, 1, "ratio", id="number*ratio"),
        pytest.param(units.NUMBER, units.NUMBER, -1, "number", id="number/number"),
        pytest.param(units.BYTES, units.SECONDS, -1, "bytesPerSecond", id="bytes/seconds"),
        pytest.param(units.NUMBER, units.SECONDS, -1, "perSecond", id="number/seconds"),
        pytest.param(units.SECONDS, units.PER_SECOND, 1, "number", id="seconds*rate"),
        pytest.param(units.BYTES, units.CORES, -1, "bytes/cores", id="bytes/cores"),
    ],
)
def test_products_and_quotients_combine_units(
    left: units.Unit, right: units.Unit, sign: int, product: str
) -> None:
    """Powers add up; a quotient of equal dimensions is a ratio."""
    assert str(left.multiply_unit(right, sign)) == product


@pytest.mark.parametrize(
    "resource, unit",
    [
        ("cpu", units.CORES),
        ("memory", units.BYTES),
        ("ephemeral-storage", units.BYTES),
        ("hugepages-2Mi", units.BYTES),
        ("pods", units.NUMBER),
        ("nvidia.com/gpu", units.NUMBER),
    ],
)
def test_resources_have_units(resource: str, unit: units.Unit) -> None:
    """Cpu is cores, memory is bytes, the rest is counted."""
    assert units.find_resource_unit(resource) == unit
