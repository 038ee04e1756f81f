"""Which rules tests exercised, and both ways in which each can turn out.

A filter must have rejected a node and let one pass; a score must have given points, and different
ones; a toleration must have been granted.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from typing import Any

from policysched.lang.checked import checked
from policysched.policytests import evaluation

_FILTER = ("rejected", "passed")
_SCORE = ("scored", "differed")
_GRANT = ("granted",)
_DESCRIPTIONS = {
    "rejected": "never rejected a node",
    "passed": "never let a node pass",
    "scored": "never gave points",
    "differed": "gave all nodes the same points",
    "granted": "was never granted",
}


@dataclasses.dataclass(slots=True)
class RuleCoverage:
    """One rule.

    Attributes:
        hits: in how many decisions it had a say.
        branches: how often it turned out in each way that it can.
    """

    name: str
    file: str
    line: int
    branches: dict[str, int]
    hits: int = 0
    _lowest: float | None = None
    _highest: float | None = None

    @property
    def missing_outcomes(self) -> list[str]:
        """What never happened, in words."""
        return [_DESCRIPTIONS[branch] for branch, count in self.branches.items() if not count]

    def record_decision(self, decision: evaluation.ExplainedDecision, name: str) -> None:
        """Count a decision in which the rule has a say, by the name that it has there."""
        self.hits += 1
        if "granted" in self.branches:
            self.branches["granted"] += 1
        elif "rejected" in self.branches:
            self._record_filter(decision.report, name)
        else:
            self._record_score(list(decision.points.get(name, {}).values()))

    def _record_filter(self, report: dict[str, Any], name: str) -> None:
        if report["prefilter"] is not None:
            return  # no filter was asked
        nodes = report["nodes"].values()
        rejected = sum(any(_find_rule_name(each) == name for each in node["all"]) for node in nodes)
        self.branches["rejected"] += rejected
        self.branches["passed"] += len(nodes) - rejected

    def _record_score(self, points: list[float]) -> None:
        if not points:
            return
        self.branches["scored"] += 1
        known = [each for each in (self._lowest, self._highest) if each is not None]
        self._lowest, self._highest = min(points + known), max(points + known)
        if self._lowest != self._highest:
            self.branches["differed"] += 1


def _find_rule_name(failure: dict[str, Any]) -> str:
    return f"{failure['policy']}/{failure['rule']}"


def _get_rule_location(rule: checked.Rule) -> tuple[str, int]:
    """Return where a rule stands, whichever way the tests name its file."""
    return os.path.realpath(rule.head.span.file), rule.head.span.start


class PolicyCoverage:
    """The rules of all policies that were tested."""

    def __init__(self) -> None:
        """Begin without rules."""
        self._rules: dict[tuple[str, int], RuleCoverage] = {}
        self._names: dict[str, str] = {}

    def add_rules(self, rules: Iterable[checked.Rule]) -> None:
        """Add rules, exercised or not; those that are known already stay as they are."""
        for rule in rules:
            head = rule.head
            key = _get_rule_location(rule)
            if key not in self._rules:
                branches = dict.fromkeys(_list_branches(rule), 0)
                file = self._names.setdefault(key[0], head.span.file)
                self._rules[key] = RuleCoverage(head.name, file, head.span.line, branches)

    def record_decision(self, decision: evaluation.ExplainedDecision) -> None:
        """Count a decision of a test."""
        for fact in decision.rules:
            if fact.acts:
                head = fact.rule.head
                self._rules[_get_rule_location(fact.rule)].record_decision(decision, head.name)

    @property
    def rules(self) -> list[RuleCoverage]:
        """All rules, by file and line."""
        return [self._rules[key] for key in sorted(self._rules)]

    @property
    def branch_counts(self) -> tuple[int, int]:
        """How many branches were taken, of how many."""
        taken = [count > 0 for rule in self._rules.values() for count in rule.branches.values()]
        return sum(taken), len(taken)

    @property
    def percent(self) -> float:
        """Return the share of branches that were taken; 100 where there are no rules."""
        taken, every = self.branch_counts
        return 100 * taken / every if every else 100.0


def _list_branches(rule: checked.Rule) -> tuple[str, ...]:
    match rule:
        case checked.TolerationRule():
            return _GRANT
        case checked.RejectRule():
            return _FILTER
        case checked.ExpressionScoreRule() | checked.ResourceScoreRule():
            return _SCORE
        case _:
            return _FILTER if rule.weight is None else _SCORE
