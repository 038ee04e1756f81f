"""Changes that flip the winner: made by hand on clusters of their own, and decided anew."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policysched.explaining import winner_flips
from policysched.framework.scoring import score_table
from tests import examples
from tests.cli import clusters
from tests.explaining import desk

POLICY = """\
version 1
metric busy: ratio = `b` node instance
metric load: number = `l` node instance
policy w {{
  for pods
  score busy prefer low normalize linear(0%, 100%) missing score 0 weight {low_busy} as low-busy
  score load prefer low normalize minmax missing score 0 weight {low_load} as low-load
  reject when busy > 90% missing allow as hot
}}
profile policysched {{
  policies w
  plugin NodeResourcesFit weight {fit}
}}
"""
WEIGHTS = {"low_busy": 3, "low_load": 2, "fit": 1}
_KEYS = {"w/low-busy": "low_busy", "w/low-load": "low_load", "NodeResourcesFit": "fit"}
_OTHER = {"requests": {"cpu": "100m", "memory": "256Mi"}}


def _world(cpu_milli: list[int]) -> list[desk.Object]:
    """Return nodes of 4 cores and 8 Gi, each with one pod on it, and the pod `prod/p`."""
    items = []
    for number, amount in enumerate(cpu_milli):
        placed = clusters.pod(f"on-n{number}", cpu=f"{amount}m", on=f"n{number}")
        placed["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1Gi"
        items += [clusters.node(f"n{number}"), placed]
    pod = clusters.pod("p", cpu="100m")
    pod["spec"]["containers"][0]["resources"] = _OTHER
    return [*items, pod]


def _metrics(busy: list[float], load: list[float]) -> dict[str, dict[str, float]]:
    return {
        "busy": {f"n{number}": value for number, value in enumerate(busy)},
        "load": {f"n{number}": value for number, value in enumerate(load)},
    }


VALUES = st.tuples(
    st.lists(st.sampled_from([500, 1000, 2000, 3500]), min_size=3, max_size=3),
    st.lists(st.sampled_from([0.1, 0.123, 0.4, 0.85, 0.95]), min_size=3, max_size=3),
    st.lists(st.sampled_from([0.0, 1.5, 40.0, 41.0]), min_size=3, max_size=3),
)


@settings(
    max_examples=examples.scale(20), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(values=VALUES)
def test_each_change_flips_the_winner_and_one_step_less_does_not(values: Any) -> None:
    """None of the best nodes stays among the best; before that, one of them does."""
    cpu_milli, busy, load = values
    items, metrics = _world(cpu_milli), _metrics(busy, load)
    report = desk.study_pod(items, POLICY.format(**WEIGHTS), metrics)
    before = set(report["best"])
    if not report["feasible"]:
        return
    assert report["triedAll"]
    for flip in report["flips"]:
        winners = _changed(items, metrics, flip, flip["to"])
        assert winners == set(flip["winners"])
        assert not winners & before
        assert _changed(items, metrics, flip, flip["to"] - _step(flip)) & before


def _step(flip: desk.Report) -> float:
    """Return the step of a kind of change, with the sign of this one."""
    size = {"weight": 1, "requests": 10 if flip["what"] == "cpu" else 16 * 1024 * 1024}.get(
        flip["kind"], 0.001
    )
    if flip["what"] == "load":
        digits = {0.0: 0.001, 1.5: 0.01}
        size = digits.get(flip["from"], 0.1)
    return size if flip["to"] > flip["from"] else -size


def _changed(
    items: list[desk.Object], metrics: dict[str, dict[str, float]], flip: desk.Report, to: float
) -> set[str]:
    """Return the best nodes after a change that is made by hand."""
    match flip["kind"]:
        case "weight":
            weights = WEIGHTS | {_KEYS[flip["what"]]: int(to)} if flip["what"] in _KEYS else None
            if weights is not None:
                return desk.best(items, POLICY.format(**weights), metrics)
            statement = (
                f"plugin NodeResourcesFit weight 1\n  plugin {flip['what']} weight {int(to)}"
            )
            text = POLICY.format(**WEIGHTS).replace("plugin NodeResourcesFit weight 1", statement)
            return desk.best(items, text, metrics)
        case "metric":
            several = copy.deepcopy(metrics)
            several[flip["what"]][flip["node"]] = to
            return desk.best(items, POLICY.format(**WEIGHTS), several)
        case _:
            return desk.best(_requesting(items, flip, to), POLICY.format(**WEIGHTS), metrics)


def _requesting(items: list[desk.Object], flip: desk.Report, to: float) -> list[desk.Object]:
    several = copy.deepcopy(items)
    (placed,) = (each for each in several if each["metadata"]["name"] == f"on-{flip['node']}")
    requests = placed["spec"]["containers"][0]["resources"]["requests"]
    requests[flip["what"]] = f"{int(to)}m" if flip["what"] == "cpu" else str(int(to))
    return several


# --- examples ------------------------------------------------------------------------------------


def test_the_changes_of_a_cluster() -> None:
    """A weight, a value and requests: each told with what it is, becomes, and who wins then."""
    metrics = _metrics([0.4, 0.2, 0.5], [0, 0, 0])
    report = desk.study_pod(_world([500, 2000, 500]), POLICY.format(**WEIGHTS), metrics)
    assert report["best"] == ["n1"]
    texts = [(flip["kind"], flip["text"], flip["winners"]) for flip in report["flips"]]
    assert texts == EXPECTED


EXPECTED = [
    ("metric", "load on n1 from 0 to 0.001", ["n0"]),
    ("weight", "weight of NodeResourcesFit from 1 to 4", ["n0"]),
    ("metric", "busy on n0 from 40% to 25.9%", ["n0"]),
    ("metric", "busy on n1 from 20% to 34.1%", ["n0"]),
    ("requests", "1910m of cpu more requested on n1", ["n0"]),
    ("requests", "6928Mi of memory more requested on n1", ["n0"]),
]


@given(
    points=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 100)), min_size=2, max_size=6),
    weight=st.integers(1, 100),
)
def test_changes_of_weights_are_the_smallest(points: list[tuple[int, int]], weight: int) -> None:
    """As trying every weight finds them."""
    others, finals = (np.array(column, np.int64) for column in zip(*points, strict=True))
    totals = 100 * (others + weight * finals)
    detail = score_table.Detail(finals, finals, 1)
    expected = []
    for changes in (range(1, 101 - weight), range(-1, -weight, -1)):
        flipping = (c for c in changes if _is_flipped(totals, totals + 100 * c * finals))
        expected += [next(flipping, None)]
    found = winner_flips.compute_flipping_weight_changes(totals, detail, weight)
    assert found == [change for change in expected if change is not None]


def _is_flipped(before: Any, after: Any) -> bool:
    best = set(np.flatnonzero(before == before.max()).tolist())
    return not best & set(np.flatnonzero(after == after.max()).tolist())


def test_points_of_winner_and_runner_up_side_by_side() -> None:
    """Raw values with their units, normalised ones, weights and weighted points add up."""
    metrics = _metrics([0.4, 0.2, 0.5], [0, 3, 8])
    report = desk.study_pod(_world([500, 500, 500]), POLICY.format(**WEIGHTS), metrics)
    winner, runner_up = report["ranking"]
    assert [winner["node"], runner_up["node"]] == ["n0", "n1"]
    for each in report["ranking"]:
        points = report["scores"][each["node"]]
        assert {rule["rule"]: rule["points"] for rule in each["rules"]} | {
            "total": each["total"]
        } == points
        for rule in each["rules"]:
            assert rule["points"] == pytest.approx(rule["weight"] * rule["normalised"])
    by_name = {rule["rule"]: rule for rule in winner["rules"]}
    assert by_name["w/low-busy"] == {
        "rule": "w/low-busy",
        "raw": 0.4,
        "unit": "ratio",
        "normalised": 60,
        "weight": 3,
        "points": 180,
    }


def test_no_change_flips_what_nobody_else_can_win() -> None:
    """With one node that fits there is nothing to flip."""
    report = desk.study_pod(_world([500]), POLICY.format(**WEIGHTS), _metrics([0.1], [0]))
    assert (report["flips"], len(report["ranking"])) == ([], 1)


def test_metrics_with_hysteresis_are_left_out() -> None:
    """What `until` makes of a value follows from former ones."""
    policy = POLICY.replace(
        "reject when busy > 90% missing allow",
        "reject when busy > 90% until busy < 80% missing allow",
    )
    metrics = _metrics([0.4, 0.2, 0.5], [0, 3, 8])
    report = desk.study_pod(_world([500, 500, 500]), policy.format(**WEIGHTS), metrics)
    assert {flip["what"] for flip in report["flips"] if flip["kind"] == "metric"} <= {"load"}
