"""The placement statements of cluster policies in the form of rules: views can link to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from policysched.karmada.policies import cluster_policies
from policysched.lang import source
from policysched.lang.checked import checked_cluster


def describe_statements(policies: cluster_policies.ClusterPolicies) -> list[dict[str, Any]]:
    """Return the statements of all policies with the fields of `rules_page.describe_rule`."""
    return [
        {
            "name": f"{policy}/{name}",
            "policy": policy,
            "kind": kind,
            "text": name,
            "file": span.file,
            "line": span.line,
            "column": span.column,
            "length": span.end - span.start,
            "weight": None,
            "isOfProfile": True,
        }
        for policy, placement in policies.iterate_placements()
        for kind, name, span in _iterate_statements(placement)
    ]


def _iterate_statements(
    placement: checked_cluster.ClusterPlacement,
) -> Iterator[tuple[str, str, source.Span]]:
    """Yield the kind, the name and the place of each statement."""
    for group in placement.groups:
        yield "clusterGroup", group.name, group.span
    for spread in placement.spread:
        yield "spreadConstraint", f"spreadConstraint by {spread.by}", spread.span
    if placement.division is not None and placement.division.span is not None:
        yield "replicas", "replicas", placement.division.span


def name_additions(
    policies: cluster_policies.ClusterPolicies | None, applied: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the statements that complete the placement of a binding, for each of its policies.

    `applied` is the field `policies` of the report of `explain binding`.
    """
    described = [] if policies is None else describe_statements(policies)
    return [
        {
            "policy": each["policy"],
            "adds": [
                {"statement": statement["kind"], "name": statement["name"]}
                for statement in described
                if statement["policy"] == each["policy"] and statement["kind"] in each["adds"]
            ],
        }
        for each in applied
    ]
