"""Every recorded verdict of the real kube-scheduler, compared in full."""

from __future__ import annotations

import pytest

from tests.conformance import cases

_COMPARED_AT_LEAST = 150
"""Pods a family; fewer would mean that the exclusions swallow what they should not."""


@pytest.mark.parametrize("family", cases.FAMILIES)
def test_verdicts_equal_those_of_kube_scheduler(family: str) -> None:
    """Plugin, code, reasons, scores, best nodes and message agree for every pod and node."""
    compared = 0
    for case in cases.load(family):
        framework = case.framework()
        for verdict in case.verdicts:
            pod = case.pending[verdict["pod"]]
            if not case.is_comparable(pod):
                continue
            snap = case.cache.snapshot()
            ours = cases.verdict_of(framework.explain_pod(pod, snap), snap.nodes.names)
            assert ours == cases.recorded(verdict), f"{case.name} {pod.key}"
            compared += 1
    assert compared >= _COMPARED_AT_LEAST
