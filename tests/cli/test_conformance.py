"""`explain` and `simulate` as a user runs them, on clusters with verdicts of kube-scheduler."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance import cases

_COMPARED_AT_LEAST = 150
_CLUSTERS_AT_LEAST = 12


def _records(family: str) -> Iterator[dict[str, Any]]:
    with gzip.open(cases.DATA / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _answers(command: str, *options: str, family: str) -> list[Any]:
    """Return what a command answers to each cluster of a family, given as JSON lines."""
    clusters = "\n".join(json.dumps(record["cluster"]) for record in _records(family))
    argv = [sys.executable, "-m", "policysched", command, "--cluster", "-", *options, "-o", "json"]
    done = subprocess.run(argv, input=clusters, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def _without_blanks(value: dict[str, Any]) -> dict[str, Any]:
    """Return a verdict as it is recorded: without `all` and without fields that say nothing."""
    return {key: v for key, v in value.items() if key != "all" and v not in ("", [])}


def _as_recorded(report: dict[str, Any]) -> dict[str, Any]:
    gate = report.get("gated")
    prefilter = report["prefilter"]
    nodes = {name: _without_blanks(verdict) for name, verdict in report["nodes"].items()}
    return {
        **report,
        "gated": None if gate is None else _without_blanks(gate),
        "prefilter": None if prefilter is None else _without_blanks(prefilter),
        "nodes": {} if prefilter else nodes,
    }


@pytest.mark.parametrize("family", cases.FAMILIES)
def test_explain_says_what_kube_scheduler_says(family: str) -> None:
    """Every pending pod gets kube-scheduler's verdict on every node, its scores and its message."""
    answers = _answers("explain", "--all", family=family)
    compared = 0
    for case, reports in zip(cases.load(family), answers, strict=True):
        assert [report["pod"] for report in reports] == [v["pod"] for v in case.verdicts]
        for verdict, report in zip(case.verdicts, reports, strict=True):
            if case.is_comparable(case.pending[verdict["pod"]]):
                assert _as_recorded(report) == cases.recorded(verdict), case.name
                compared += 1
    assert compared >= _COMPARED_AT_LEAST


@pytest.mark.parametrize("family", cases.FAMILIES)
def test_simulate_places_as_kube_scheduler_does(family: str) -> None:
    """The pending pods go to kube-scheduler's nodes, in its order, out of the same best ones."""
    answers = _answers("simulate", "--deterministic", family=family)
    keys = ("pod", "node", "feasible", "best", "message")
    compared = 0
    for case, answer in zip(cases.load(family), answers, strict=True):
        if not all(case.is_comparable(pod) for pod in case.pending.values()):
            continue
        ours = [{key: placement[key] for key in keys} for placement in answer["placements"]]
        recorded = [{"message": "", **placement} for placement in case.placements]
        assert ours == [{key: p[key] for key in keys} for p in recorded], case.name
        compared += 1
    assert compared >= _CLUSTERS_AT_LEAST
