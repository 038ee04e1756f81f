"""Generated extenders, asked by policysched and by kube-scheduler."""

from __future__ import annotations

import logging

import pytest

from tests import seeds
from tests.conformance import oracle_process
from tests.conformance.extenders import product, run, server

pytestmark = pytest.mark.e2e

_SHARE = 10
"""One case for so many clusters of other comparisons."""


@seeds.drawn
def test_decisions_and_requests_equal_those_of_kube_scheduler(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Outcomes agree for every pod, and the extenders receive the same."""
    caplog.set_level(logging.CRITICAL)  # extenders fail on purpose
    count = seeds.CONFORMANCE_CASES // _SHARE
    with oracle_process.Oracle() as oracle, server.ExtenderServer() as extenders:
        tally = run.Judge(oracle, extenders, product.extend).compare_cases(seed, range(count))
    assert tally.cases == count
    told = [f"{name}: {differences[0]}" for name, differences in list(tally.failures.items())[:3]]
    assert not tally.failures, "\n".join(
        [f"{len(tally.failures)} of {count} cases of seed {seed} disagree", *told]
    )
