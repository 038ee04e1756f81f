"""The seeds of tests that draw their own cases.

`make test` draws the same cases in every run, so that a change decides whether it passes. `make
fresh` draws other ones, and prints their first seed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Test = TypeVar("Test", bound=Callable[..., object])

FIXED: Final = 40189
"""With it karmada-scheduler left a generation unconfirmed that policysched confirmed."""

_FIRST = int(os.environ.get("CONFORMANCE_SEED", FIXED))
SEEDS: Final = range(_FIRST, _FIRST + int(os.environ.get("CONFORMANCE_SEEDS", "1")))


def drawn(test: Test) -> Test:
    """Run a test once for each seed, which is its parameter `seed`."""
    drawn_test: Test = pytest.mark.drawn(pytest.mark.parametrize("seed", SEEDS)(test))
    return drawn_test
