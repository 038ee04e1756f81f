"""Check that the tests and metrics of a policy fit its target: nodes, or clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from policysched.lang.checked import checked
from policysched.lang.syntax import syntax_expr
from policysched.lang.words import vocabulary

Target: TypeAlias = "Literal['node', 'cluster'] | None"
Test: TypeAlias = syntax_expr.NodeTest | syntax_expr.ClusterTest | syntax_expr.PodTest

DOMAINS: Mapping[type[Test], vocabulary.Domain] = {
    syntax_expr.NodeTest: "node",
    syntax_expr.ClusterTest: "cluster",
    syntax_expr.PodTest: "pod",
}
"""Type of a test -> the kind of object that its selector matches."""


class TargetMismatch(NamedTuple):
    """The message for a test or metric with a different target, and the help."""

    message: str
    help: str


def find_test_target_problem(test: Test, target: Target) -> TargetMismatch | None:
    """Return why a test cannot be used in an expression about `target`, or None if it can."""
    match test:
        case syntax_expr.NodeTest() if target == "cluster":
            return TargetMismatch(
                "`node(…)` tests nodes, but this expression is evaluated for clusters",
                "write `cluster(…)`",
            )
        case syntax_expr.PodTest() if target == "cluster":
            help_text = "select resources with `for resources where …`"
            return TargetMismatch(
                "`pod(…)` tests pods, but this expression is evaluated for clusters and resources",
                help_text,
            )
        case syntax_expr.ClusterTest() if target == "node":
            help_text = "write `node(…)`, or write the rule in a clusterPolicy"
            return TargetMismatch(
                "`cluster(…)` tests clusters, but this expression is evaluated for nodes", help_text
            )
        case _:
            return None


def find_metric_target_problem(
    metric: checked.CheckedMetric, target: Target
) -> TargetMismatch | None:
    """Return why a metric cannot be used in an expression about `target`, or None if it can."""
    if target is None or metric.target == target:
        return None
    name = metric.name
    return TargetMismatch(
        f"`{name}` is a metric of {metric.target}s, but this expression is evaluated for {target}s",
        f"declare a metric with `{target} LABEL`, where LABEL is the label that names the {target}",
    )
