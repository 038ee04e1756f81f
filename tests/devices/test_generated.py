"""Generated claims, against kube-scheduler's own allocator."""

from __future__ import annotations

import random

import pytest

from tests import line_process, seeds
from tests.devices import compare

pytestmark = pytest.mark.e2e

CASES = 600


@seeds.drawn
def test_generated_cases_agree(seed: int) -> None:
    """Devices, configurations, node selectors and the texts of errors are kube-scheduler's."""
    with line_process.LineProcess("devices-oracle") as oracle:
        tally = compare.compare_generated(oracle, random.Random(seed), CASES)
    assert tally.cases == CASES
    assert min(tally.allocated, tally.shares, tally.errors, tally.node_errors) > 0
    assert not tally.differences, str(tally.differences[0])
