"""Recorded sequences of placements: each pod sees the ones before it where they were put."""

from __future__ import annotations

from typing import Any

import pytest

from policysched.cluster import pod_shape
from policysched.framework import runtime
from tests.conformance import cases

_COMPARED_AT_LEAST = 7
"""Clusters a family of 30."""


@pytest.mark.parametrize("family", cases.FAMILIES)
def test_placements_equal_those_of_kube_scheduler(family: str) -> None:
    """Pods scheduled one after the other go to the same nodes, with kept answers patched."""
    compared = 0
    for case in cases.load(family):
        if not all(case.is_comparable(pod) for pod in case.pending.values()):
            continue
        framework = case.framework()
        ours = [_place(case, framework, case.pending[p["pod"]]) for p in case.placements]
        assert ours == [_recorded(p) for p in case.placements], case.name
        compared += 1
    assert compared >= _COMPARED_AT_LEAST


def _place(
    case: cases.Case, framework: runtime.Framework, pod: pod_shape.PodInfo
) -> dict[str, Any]:
    if not framework.pre_enqueue(pod).is_success:
        return {"pod": pod.key, "node": None, "feasible": 0, "message": ""}
    snap = case.cache.snapshot()
    result = framework.schedule_pod(pod, snap)
    feasible = result.feasible_count
    if result.node_name == pod.pod.status.nominated_node_name:
        # A nominated node that fits is taken at once; all that fit are recorded nevertheless.
        feasible = framework.explain_pod(pod, snap).feasible_count
    if result.node_name is not None:
        case.cache.assume_pod(pod, result.node_name)
        case.cache.nominated.remove(pod.uid)
    return {
        "pod": pod.key,
        "node": result.node_name,
        "feasible": feasible,
        "message": result.message,
    }


def _recorded(placement: dict[str, Any]) -> dict[str, Any]:
    return {
        "pod": placement["pod"],
        "node": placement["node"],
        "feasible": placement["feasible"],
        "message": placement.get("message", ""),
    }
