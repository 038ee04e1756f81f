"""Generated expressions and devices, against kube-scheduler's own CEL."""

from __future__ import annotations

import random

import pytest

from tests import seeds
from tests.cel import compare, oracle_process

pytestmark = pytest.mark.e2e

PAIRS = 4000


@seeds.drawn
def test_generated_pairs_agree(seed: int) -> None:
    """Results, errors and the texts of common errors are those of kube-scheduler's CEL."""
    with oracle_process.Oracle() as oracle:
        tally = compare.compare_generated(oracle, random.Random(seed), PAIRS)
    assert tally.pairs >= PAIRS
    assert min(tally.matches, tally.errors, tally.compile_errors) > 0
    assert not tally.differences, str(tally.differences[0])
