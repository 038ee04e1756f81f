"""Every recorded preemption of the real kube-scheduler, compared in full."""

from __future__ import annotations

import gzip
import json
from typing import Any

from tests.conformance import cases, product

_COMPARED_AT_LEAST = 150
"""Pods."""


def test_preemptions_equal_those_of_kube_scheduler() -> None:
    """Room is made on one of the best nodes, by the same victims, or the same is said."""
    compared = 0
    with product.opened() as asked, gzip.open(cases.DATA / "preemption.jsonl.gz", "rt") as lines:
        for line in lines:
            record = json.loads(line)
            case = {"name": record["name"], "cluster": record["cluster"], "ask": ["preempt"]}
            ours = {p["pod"]: p for p in asked.answer(case)["preempt"]}
            for theirs in record["preempt"]:
                where = f"{record['name']} {theirs['pod']}"
                _compare(ours[theirs["pod"]], theirs, where)
                compared += 1
    assert compared >= _COMPARED_AT_LEAST


def _compare(ours: dict[str, Any], theirs: dict[str, Any], where: str) -> None:
    assert ours["feasible"] == theirs["feasible"], where
    assert ours["message"] == theirs.get("message", ""), where
    if theirs["nominated"] is None:
        assert ours["nominated"] is None, where
        return
    assert ours["nominated"] in theirs["best"], where
    assert ours["victims"] == theirs["candidates"][ours["nominated"]]["victims"], where
