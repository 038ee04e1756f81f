"""Waits between attempts."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from policysched import backoff

BACKOFF = backoff.Backoff(first_seconds=0.5, max_seconds=8.0)


@given(failures=st.integers(1, 10_000), seed=st.integers())
def test_waits_double_up_to_the_limit(failures: int, seed: int) -> None:
    """The n-th wait lies between half and all of 0.5 s * 2**(n-1), at most 8 s."""
    ceiling = min(0.5 * 2.0 ** min(failures - 1, 50), 8.0)
    assert ceiling / 2 <= BACKOFF.compute_wait_seconds(failures, random.Random(seed)) <= ceiling


def test_waits_are_spread() -> None:
    """Two clients that fail together do not come back together."""
    waits = {BACKOFF.compute_wait_seconds(3, random.Random(seed)) for seed in range(20)}
    assert len(waits) == 20
