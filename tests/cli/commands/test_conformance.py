"""`explain` and `simulate` as a user runs them, on clusters with answers of kube-scheduler."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from tests.conformance import cases, compare, product

# `make test` compares the engine with kube-scheduler for all families, and the commands for these.
_SOME_FAMILIES = ("mixed", "preemption")
FAMILIES = [
    pytest.param(each, marks=() if each in _SOME_FAMILIES else pytest.mark.proof)
    for each in cases.FAMILIES
]


def _answers(command: str, *options: str, family: str) -> list[Any]:
    """Return what a command answers to each cluster of a family, given as JSON lines."""
    clusters = "\n".join(json.dumps(record["cluster"]) for record in cases.records(family))
    argv = [sys.executable, "-m", "policysched", command, "--cluster", "-", *options, "-o", "json"]
    done = subprocess.run(argv, input=clusters, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_explain_says_what_kube_scheduler_says(family: str) -> None:
    """Every pending pod gets kube-scheduler's verdict on every node, its scores and its message."""
    answers = _answers("explain", "--all", family=family)
    for case, reports in zip(cases.records(family), answers, strict=True):
        recorded = {"verdict": case["verdict"]}
        assert not list(compare.differences({"verdict": reports}, recorded)), case["name"]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_simulate_places_as_kube_scheduler_does(family: str, tmp_path: pathlib.Path) -> None:
    """The pending pods go to kube-scheduler's nodes, in its order, out of the same best ones."""
    policy = tmp_path / "profile.policy"
    policy.write_text(product.policy_text({}, product.MAKING_ROOM), encoding="utf-8")
    options = ("--deterministic", "--policies", str(policy), "--scheduler-name", product.PROFILE)
    answers = _answers("simulate", *options, family=family)
    for case, answer in zip(cases.records(family), answers, strict=True):
        ours, recorded = {"place": answer["placements"]}, {"place": case["place"]}
        assert not list(compare.differences(ours, recorded)), case["name"]
