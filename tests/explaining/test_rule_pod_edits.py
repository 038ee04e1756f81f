"""What rules read of the pod, and by which it would fit: labels, annotations, priority."""

from __future__ import annotations

import pytest

from tests.cli import clusters
from tests.explaining import desk


def _solo() -> desk.Object:
    pod = clusters.pod("a", on="n1")
    pod["metadata"]["labels"] = {"role": "solo"}
    return pod


@pytest.mark.parametrize(
    "body, expected",
    [
        pytest.param(
            "for pods reject when pod(tier != gold)",
            ["add the label tier=gold to the pod"],
            id="a label that is missing",
        ),
        pytest.param(
            "for pods reject when pod(app != db)",
            ["change the label app of the pod from web to db"],
            id="another value",
        ),
        pytest.param(
            "for pods reject when pod(app = web)",
            ["drop the label app=web"],
            id="a label that must not be there",
        ),
        pytest.param(
            "for pods reject when pod(annotation(seen) DoesNotExist)",
            ["add the annotation seen=true to the pod"],
            id="an annotation",
        ),
        pytest.param(
            "for pods nodeAffinity required host = pod(rack) missing reject",
            ["add the label rack=a to the pod"],
            id="a label that a node has",
        ),
        pytest.param(
            "for pods nodeAffinity required host = pod(annotation(rack)) missing reject",
            ["add the annotation rack=a to the pod"],
            id="an annotation with the value of a node",
        ),
        pytest.param(
            "for pods reject when count(pods where role = pod(role)) > 5 missing reject",
            ["add the label role=solo to the pod"],
            id="a label that counted pods have",
        ),
        pytest.param(
            "for pods reject when priority < 100",
            ["raise the priority of the pod from 0 to 100 (priorityClassName)"],
            id="the priority",
        ),
        pytest.param(
            "for pods reject when pod(priority <= 100)",
            ["raise the priority of the pod from 0 to 101 (priorityClassName)"],
            id="the priority of `pod`",
        ),
        pytest.param(
            "for pods where priority < 100 reject when node(nodeName = n1)",
            ["raise the priority of the pod from 0 to 100 (priorityClassName)"],
            id="the priority of the scope",
        ),
        pytest.param(
            "for pods where app = web reject when node(nodeName = n1)",
            [],
            id="labels by which a policy selects its pods",
        ),
        pytest.param(
            "for pods where role = solo podAntiAffinity required pods where app = web "
            "topologyKey host",
            ["drop the label app=web"],
            id="pods that repel it",
        ),
        pytest.param(
            "for pods reject when priority < 2000000000",
            [],
            id="a priority that no class may have",
        ),
    ],
)
def test_what_rules_read_of_the_pod(body: str, expected: list[str]) -> None:
    """Each edit lets the pod fit."""
    items = [clusters.node("n1", host="a"), _solo(), clusters.pod("p")]
    report = desk.study_pod(items, f"version 1\npolicy w {{ {body} }}\n")
    assert not report["feasible"]
    edits = [e for e in report["edits"] if e["kind"] in ("label", "annotation", "priority")]
    assert [each["text"] for each in edits] == expected
