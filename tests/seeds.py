"""The seeds of tests that draw their own cases, and how many cases some of them draw.

`make test` draws the same cases in every run, so that a change decides whether it passes. `make
fresh` draws other ones, and prints their first seed. tests/conftest.py reads this module before any
test, so that a wrong variable is one error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import pytest

from tests import whole_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    Test = TypeVar("Test", bound=Callable[..., object])

FIXED: Final = 40189
"""With it karmada-scheduler left a generation unconfirmed that policysched confirmed."""

_FIRST = whole_numbers.read_variable("CONFORMANCE_SEED", FIXED, least=0)
SEEDS: Final = range(_FIRST, _FIRST + whole_numbers.read_variable("CONFORMANCE_SEEDS", 1, least=1))

CONFORMANCE_CASES: Final = whole_numbers.read_variable("CONFORMANCE_CASES", 500, least=1)
"""Clusters, decided by policysched and by kube-scheduler."""

KARMADA_CASES: Final = whole_numbers.read_variable("KARMADA_CASES", 250, least=8)
"""Control planes, decided by policysched and by karmada-scheduler; some tests draw an eighth."""


def drawn(test: Test) -> Test:
    """Run a test once for each seed, which is its parameter `seed`."""
    drawn_test: Test = pytest.mark.drawn(pytest.mark.parametrize("seed", SEEDS)(test))
    return drawn_test
