"""Extracts the facts of one decision for the demo from the JSON form of `explain`."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeAlias

TIE = "total: a tie; the demo takes the first name"
"""The summary of equal totals. The demo has no random generator; `run` breaks ties at random."""

Report: TypeAlias = Mapping[str, Any]
"""A report in the form of schemas/explain.schema.json."""


@dataclasses.dataclass(frozen=True, slots=True)
class NodeExclusion:
    """A reason for rejection and the nodes that it excludes.

    Attributes:
        rule: the policy rule or the built-in plugin that rejects the nodes.
    """

    reason: str
    rule: str
    nodes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class RulePointsComparison:
    """The weighted points of one rule for the chosen node and the runner-up.

    `is_summary` is true if the row summarises several rules.
    """

    rule: str
    chosen: int | float
    runner_up: int | float
    is_summary: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class DecisionFacts:
    """The facts that the demo shows about one decision.

    Attributes:
        pod: `namespace/name`.
        profile: the schedulerName.
        node: the chosen node; None if no node is feasible, with the reason in `message`.
        feasible, node_count: the numbers of feasible nodes and of all nodes.
        runner_up: the next best node; None if only one node is feasible.
        points: the rules whose points differ between feasible nodes, the largest difference first.
        same_points: the sum of the points of all other rules, which is the same for each node.
        excluded: the exclusions, those with the most nodes first.
        before_edit: the node that the policies before the latest edit would choose; "" if the pod
            would fit nowhere; None if there was no edit.
    """

    pod: str
    profile: str
    node: str | None
    message: str
    feasible: int
    node_count: int
    runner_up: str | None
    points: tuple[RulePointsComparison, ...]
    same_points: int | float
    total: RulePointsComparison
    excluded: tuple[NodeExclusion, ...]
    before_edit: str | None = None

    @property
    def edit_effect(self) -> str:
        """A text about the effect of the latest policy edit on the decision; "" for no effect."""
        if self.before_edit is None or self.before_edit == self.node:
            return ""
        return f"before the edit: {self.before_edit or 'nowhere'}"


def extract_decision_facts(report: Report, profile: str, node: str | None) -> DecisionFacts:
    """Extract the facts from a report about a pod that was placed on `node`."""
    scores: Mapping[str, Mapping[str, int | float]] = report["scores"]
    others = sorted((n for n in scores if n != node), key=lambda n: (-scores[n]["total"], n))
    runner_up = others[0] if others else None
    chosen = scores.get(node or "", {"total": 0})
    second = scores[runner_up] if runner_up else chosen
    telling = {rule for rule in chosen if len({each[rule] for each in scores.values()}) > 1}
    points = [
        RulePointsComparison(rule, chosen[rule], second[rule]) for rule in telling - {"total"}
    ]
    points.sort(key=lambda p: (-abs(p.chosen - p.runner_up), p.rule))
    same = sum(chosen[rule] for rule in chosen if rule not in telling and rule != "total")
    return DecisionFacts(
        pod=report["pod"],
        profile=profile,
        node=node,
        message=report["message"],
        feasible=report["feasible"],
        node_count=len(report["nodes"]),
        runner_up=runner_up,
        points=tuple(points),
        same_points=same,
        total=RulePointsComparison("total", chosen["total"], second["total"]),
        excluded=_collect_exclusions(report["nodes"]),
    )


def select_rule_points_rows(found: DecisionFacts, lines: int) -> list[RulePointsComparison]:
    """Return the rows of a points table with `lines` lines: rules, remaining rules, the total."""
    rest = []
    if found.same_points:
        title = "rules that give all nodes the same points"
        rest.append(
            RulePointsComparison(title, found.same_points, found.same_points, is_summary=True)
        )
    room = max(1, lines - len(rest) - 1)
    shown = list(found.points)
    if len(shown) > room:
        shown, cut = shown[: room - 1], shown[room - 1 :]
        chosen, runner_up = sum(p.chosen for p in cut), sum(p.runner_up for p in cut)
        rest.insert(
            0, RulePointsComparison(f"{len(cut)} more rules", chosen, runner_up, is_summary=True)
        )
    is_tie = found.total.chosen == found.total.runner_up
    total = dataclasses.replace(found.total, rule=TIE)
    return [*shown, *rest, total if is_tie else found.total]


def format_exclusions(found: DecisionFacts) -> str:
    """Format the number of excluded nodes by rule: `2 TaintToleration, 1 web-tier/fast-disk`."""
    count: Counter[str] = Counter()
    for excluded in found.excluded:
        count[excluded.rule] += len(excluded.nodes)
    return ", ".join(f"{number} {rule}" for rule, number in count.most_common())


def _collect_exclusions(verdicts: Mapping[str, Any]) -> tuple[NodeExclusion, ...]:
    """Return every reason that excludes a node, not only the first reason for each node."""
    nodes: dict[tuple[str, str], list[str]] = {}
    for name, verdict in verdicts.items():
        for failure in verdict["all"]:
            rule = f"{failure['policy']}/{failure['rule']}" if failure["rule"] else ""
            key = (failure["reason"], rule or failure["plugin"])
            nodes.setdefault(key, []).append(name)
    found = [NodeExclusion(*key, tuple(names)) for key, names in nodes.items()]
    return tuple(sorted(found, key=lambda e: (-len(e.nodes), e.reason)))
