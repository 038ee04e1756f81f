"""Exact amounts of capacities and counters, with their texts."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from policysched import quantity
from policysched.cluster.objects import wire

Number: TypeAlias = int | Fraction


class Amount(NamedTuple):
    """A quantity: its exact number, and its text as Kubernetes writes it."""

    number: Number
    text: str


def make_amount(source: wire.Quantity) -> Amount:
    """Return the amount of a quantity.

    Raises:
        quantity.QuantityError: the source is not a quantity.
    """
    text = str(source)
    number = quantity.parse_quantity(text)
    return Amount(
        number.numerator if number.denominator == 1 else number, quantity.normalize_quantity(text)
    )


def make_amounts(sources: Mapping[str, wire.Quantity]) -> dict[str, Amount]:
    """Return the amounts of quantities by name.

    Raises:
        quantity.QuantityError: a source is not a quantity.
    """
    return {name: make_amount(source) for name, source in sources.items()}
