"""What `explain pod` says of rules that limit preemption."""

from __future__ import annotations

import pytest

from policysched.cli.reports import explain_pod_text
from tests.cli import clusters
from tests.explaining import desk

POLICY = """
policy notebooks { for pods where app = notebook protect from preemption as keep }
policy web {
  for pods where app = web
  preempt pods where tier = batch as only-batch
  reject when count(self) >= 1 preemption never as one
}
"""


def _pod(name: str, priority: int, on: str | None = None, **labels: str) -> clusters.Object:
    pod = clusters.pod(name, cpu="3", on=on, priority=priority)
    return {**pod, "metadata": {**pod["metadata"], "labels": labels}}


ITEMS = [
    *(clusters.node(f"n{number}", cpu="4") for number in range(4)),
    *(_pod(f"book-{number}", 0, f"n{number}", app="notebook") for number in range(2)),
    _pod("other", 0, "n2", app="db"),
    _pod("web", 100, "n3", app="web"),
    _pod("p", 100, app="web"),
]


def test_the_kept_pods_and_closed_nodes() -> None:
    """By rule, with the pods and the nodes."""
    report = desk.study_pod(ITEMS, POLICY)
    assert {each["rule"]: each for each in report["preemptionLimits"]} == {
        "notebooks/keep": {
            "rule": "notebooks/keep",
            "pods": 2,
            "nodes": 2,
            "some": ["prod/book-0", "prod/book-1"],
        },
        "web/only-batch": {
            "rule": "web/only-batch",
            "pods": 3,
            "nodes": 3,
            "some": ["prod/book-0", "prod/book-1", "prod/other"],
        },
        "web/one": {"rule": "web/one", "pods": 0, "nodes": 1, "some": []},
    }


@pytest.mark.parametrize(
    "pods, some, text",
    [
        (1, ["a/b"], "policy p/r keeps 1 pod of lower priority on 1 node: a/b"),
        (3, ["a/b"], "policy p/r keeps 3 pods of lower priority on 1 node: a/b, and 2 more"),
        (0, [], "policy p/r allows no preemption on 1 node that it rejects"),
    ],
)
def test_a_limit_in_words(pods: int, some: list[str], text: str) -> None:
    """As `explain` prints it."""
    limit = {"rule": "p/r", "pods": pods, "nodes": 1, "some": some}
    assert explain_pod_text.format_preemption_limit(limit) == text


def test_without_such_rules_nothing_is_said() -> None:
    """The field is left out, although the pod fits nowhere."""
    assert "preemptionLimits" not in desk.study_pod(ITEMS, "")
