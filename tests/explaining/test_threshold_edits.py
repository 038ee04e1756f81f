"""Thresholds are as near as they can be written: whole counts, exact sizes."""

from __future__ import annotations

import pytest

from tests.cli import clusters
from tests.explaining import desk


def _pod() -> desk.Object:
    pod = clusters.pod("p")
    pod["spec"]["containers"][0]["resources"]["limits"] = {"memory": "8Gi"}
    return pod


@pytest.mark.parametrize(
    "rule, expected",
    [
        pytest.param("limits(memory) > 4Gi missing reject", [("4Gi", "8Gi")], id="bytes"),
        pytest.param("limits(memory) >= 4Gi missing reject", [("4Gi", "8.01Gi")], id="not strict"),
        pytest.param("requested(pods) >= 1", [("1", "3")], id="a count"),
        pytest.param("requested(pods) + 3 >= 1", [("3", "-2"), ("1", "6")], id="a summand"),
        pytest.param("requested(pods) * 2 >= 1", [("2", "0.499"), ("1", "5")], id="a factor"),
        pytest.param("requested(pods) / 4 >= 0.25", [("0.25", "0.501")], id="parts"),
        pytest.param("floor(requested(cpu)) < requested(cpu)", [], id="no number is written"),
        pytest.param("requested(cpu) >= 2", [("2000m", "2510m")], id="cores"),
    ],
)
def test_the_nearest_threshold(rule: str, expected: list[tuple[str, str]]) -> None:
    """It lets the pod fit; counts stay whole, and numbers of conversions are not offered."""
    on_node = [clusters.pod(name, "1250m", on="n1") for name in ("a", "b")]
    items = [clusters.node("n1"), *on_node, _pod()]
    report = desk.study_pod(items, f"version 1\npolicy w {{ for pods reject when {rule} }}\n")
    offered = [e for e in report["edits"] if e["kind"] == "threshold"]
    assert {(e["from"], e["to"]) for e in offered} == set(expected)
