"""Units of numbers: the dimension of a metric, a resource or a literal.

A Unit is a product of powers of three base dimensions. All numbers use one canonical scale:

    dimension   canonical number        exactness
    bytes       bytes                   whole up to 2^53 in a float64
    cores       milli-cores             whole up to 2^53, so sums of requests stay exact
    seconds     seconds
    none        the number itself; a ratio is 0..1 (80% is 0.8)
"""

from __future__ import annotations

import dataclasses

STORAGE = "storage"
"""The resource that the claims of pods request; nodes and containers do not have it."""
CORES_SCALE = 1000.0
"""Canonical numbers per core: milli-cores, the scale in which Kubernetes calculates."""


@dataclasses.dataclass(frozen=True, slots=True)
class Unit:
    """A product of powers of bytes, cores and seconds.

    Attributes:
        byte_power: 1 for bytes.
        core_power: 1 for cores.
        second_power: 1 for seconds, -1 for per-second rates.
        is_ratio: dimensionless, and declared or derived to be a share.
        may_exceed_one: set for computed ratios, because pods can request more than nodes have.
    """

    byte_power: int = 0
    core_power: int = 0
    second_power: int = 0
    is_ratio: bool = False
    may_exceed_one: bool = False

    @property
    def is_dimensionless(self) -> bool:
        """Whether the unit is a plain number or a ratio."""
        return not (self.byte_power or self.core_power or self.second_power)

    def has_same_dimension(self, other: Unit) -> bool:
        """Return whether numbers of the two units can be added and compared."""
        return (self.byte_power, self.core_power, self.second_power) == (
            other.byte_power,
            other.core_power,
            other.second_power,
        )

    def multiply_unit(self, other: Unit, sign: int = 1) -> Unit:
        """Return the unit of the product with `other`, or of the quotient if `sign` is -1."""
        product = Unit(
            self.byte_power + sign * other.byte_power,
            self.core_power + sign * other.core_power,
            self.second_power + sign * other.second_power,
        )
        is_quotient_of_equals = sign < 0 and not self.is_dimensionless
        is_share = self.is_ratio or other.is_ratio or is_quotient_of_equals
        return COMPUTED_RATIO if product.is_dimensionless and is_share else product

    def get_sum_unit(self) -> Unit:
        """Return the unit that results from adding or subtracting two numbers of this unit."""
        return COMPUTED_RATIO if self.is_ratio else self

    def __str__(self) -> str:
        """Return the name of the unit in the language, or a product such as `bytes·seconds`."""
        if self.is_dimensionless:
            return "ratio" if self.is_ratio else "number"
        return NAMES.get(self) or _format_product_unit(self)


NUMBER = Unit()
RATIO = Unit(is_ratio=True)
COMPUTED_RATIO = Unit(is_ratio=True, may_exceed_one=True)
BYTES = Unit(byte_power=1)
CORES = Unit(core_power=1)
SECONDS = Unit(second_power=1)
BYTES_PER_SECOND = Unit(byte_power=1, second_power=-1)
PER_SECOND = Unit(second_power=-1)

NAMES: dict[Unit, str] = {
    NUMBER: "number",
    RATIO: "ratio",
    BYTES: "bytes",
    CORES: "cores",
    SECONDS: "seconds",
    BYTES_PER_SECOND: "bytesPerSecond",
    PER_SECOND: "perSecond",
}


def _format_product_unit(unit: Unit) -> str:
    powers = (
        ("bytes", unit.byte_power),
        ("cores", unit.core_power),
        ("seconds", unit.second_power),
    )
    above = [name for name, power in powers for _ in range(max(power, 0))]
    below = [name for name, power in powers for _ in range(max(-power, 0))]
    return "·".join(above or ["1"]) + "".join(f"/{name}" for name in below)


def find_resource_unit(name: str) -> Unit:
    """Return the unit of a node resource.

    `cpu` is measured in cores, memory and similar resources in bytes. All others are counted.
    """
    if name == "cpu":
        return CORES
    if name in ("memory", "ephemeral-storage", STORAGE) or name.startswith("hugepages-"):
        return BYTES
    return NUMBER
