"""Generated clusters, decided by policysched and by kube-scheduler."""

from __future__ import annotations

import json
import pathlib

import pytest

from tests import seeds
from tests.conformance import oracle_process, product, run
from tests.conformance.generate import families

pytestmark = pytest.mark.e2e

SEQUENCES = 20

REGRESSIONS = sorted((pathlib.Path(__file__).parent / "data" / "regressions").glob("*.json"))


@seeds.drawn
@pytest.mark.parametrize("family", families.FAMILIES)
def test_decisions_equal_those_of_kube_scheduler(family: str, seed: int) -> None:
    """Verdicts, reasons, scores, messages, placements and victims agree on every cluster."""
    count = dict(run.shares(list(families.FAMILIES), seeds.CONFORMANCE_CASES))[family]
    _compare(family, seed, count)


@seeds.drawn
def test_long_sequences_equal_those_of_kube_scheduler(seed: int) -> None:
    """Fifty pods placed one after the other go to the same nodes."""
    _compare(families.SEQUENCES.name, seed, SEQUENCES)


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.stem)
def test_former_disagreements_are_gone(path: pathlib.Path) -> None:
    """Cases on which the two once disagreed, made small by shrinking."""
    with oracle_process.Oracle() as oracle, product.opened() as ours:
        case = json.loads(path.read_bytes())
        _, differences = run.Judge(oracle, ours).compare(case)
    assert not differences, "\n".join(str(each) for each in differences)


def _compare(family: str, seed: int, count: int) -> None:
    with oracle_process.Oracle() as oracle, product.opened() as ours:
        judge = run.Judge(oracle, ours)
        tally = run.run(judge, family, seed, range(count))
        assert tally.counts.clusters == count
        if tally.failures:
            first = tally.failures[0]
            small = judge.shrink(first)
            told = f"{len(tally.failures)} of {count} clusters of seed {seed} disagree: {first}"
            pytest.fail(f"{told}\n\nmade small:\n{small}\n{json.dumps(small.case)}")
