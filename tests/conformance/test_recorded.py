"""Every recorded answer of the real kube-scheduler, compared in full."""

from __future__ import annotations

import pytest

from tests.conformance import cases, compare, product

_CLUSTERS = 30
_PODS_AT_LEAST = 190


@pytest.mark.parametrize("family", cases.FAMILIES)
def test_answers_equal_those_of_kube_scheduler(family: str) -> None:
    """Verdicts, scores, messages, placements and victims agree for every pod and node."""
    total = compare.Counts()
    with product.opened() as ours:
        for case in cases.records(family):
            found = list(compare.differences(ours.answer(case), case))
            assert not found, "\n".join([case["name"], *map(str, found)])
            total.add(compare.counts(case))
    assert total.clusters == _CLUSTERS
    assert min(total.pods, total.placements) >= _PODS_AT_LEAST
    assert total.preemptions >= (_PODS_AT_LEAST if family == "preemption" else 0)
