"""Coverage of policy rules: how often tests exercised each rule and each of its possible outcomes.

A filter is covered if it rejected one node and accepted another. A score is covered if it gave
points, and these were not always the same. A toleration is covered if it was granted. A rule about
preemption is covered if, for pods that fitted on no node, it kept one pod of lower priority, and
left another one to preemption.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from typing import Any

from policysched.lang.checked import checked
from policysched.offline import preemption_report
from policysched.policytests import evaluation

_FILTER = ("rejected", "passed")
_SCORE = ("scored", "differed")
_GRANT = ("granted",)
_KEEP = ("kept", "left")
_DESCRIPTIONS = {
    "rejected": "never rejected a node",
    "passed": "never let a node pass",
    "scored": "never gave points",
    "differed": "gave all nodes the same points",
    "granted": "was never granted",
    "kept": "never kept a pod from preemption",
    "left": "never left a pod to preemption",
}


@dataclasses.dataclass(slots=True)
class RuleCoverage:
    """Counts how often one rule was active, and how often each of its outcomes occurred.

    Attributes:
        hits: the number of decisions in which the rule was active.
        branches: the number of occurrences of each possible outcome.
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
        """The outcomes that never occurred, for messages."""
        return [_DESCRIPTIONS[branch] for branch, count in self.branches.items() if not count]

    def record_decision(self, decision: evaluation.ExplainedDecision, name: str) -> None:
        """Count a decision in which the rule is active, under its name in that decision."""
        self.hits += 1
        if "granted" in self.branches:
            self.branches["granted"] += 1
        elif "kept" in self.branches:
            self._record_kept_pods(decision.preemption, name)
        elif "rejected" in self.branches:
            self._record_filter(decision.report, name)
        else:
            self._record_score(list(decision.points.get(name, {}).values()))

    def _record_filter(self, report: dict[str, Any], name: str) -> None:
        if report["prefilter"] is not None:
            return  # no filter has run
        nodes = report["nodes"].values()
        rejected = sum(any(_find_rule_name(each) == name for each in node["all"]) for node in nodes)
        self.branches["rejected"] += rejected
        self.branches["passed"] += len(nodes) - rejected

    def _record_kept_pods(self, facts: preemption_report.PreemptionFacts | None, name: str) -> None:
        if facts is None:
            return  # the pod needed no preemption
        kept = len(facts.limits[name].pods) if name in facts.limits else 0
        self.branches["kept"] += kept
        if "left" in self.branches:
            self.branches["left"] += len(facts.lesser) - kept

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
    """Return the place of a rule, which does not depend on how tests refer to its file."""
    return os.path.realpath(rule.head.span.file), rule.head.span.start


class PolicyCoverage:
    """Collects the coverage of the rules in all tested policies."""

    def __init__(self) -> None:
        """Create coverage without rules."""
        self._rules: dict[tuple[str, int], RuleCoverage] = {}
        self._names: dict[str, str] = {}

    def add_rules(self, rules: Iterable[checked.Rule]) -> None:
        """Add rules, exercised or not; known rules keep their counts."""
        for rule in rules:
            head = rule.head
            key = _get_rule_location(rule)
            if key not in self._rules:
                branches = dict.fromkeys(_list_branches(rule), 0)
                file = self._names.setdefault(key[0], head.span.file)
                self._rules[key] = RuleCoverage(head.name, file, head.span.line, branches)

    def record_decision(self, decision: evaluation.ExplainedDecision) -> None:
        """Count a decision of a test."""
        acting = [fact.rule for fact in decision.rules if fact.acts]
        own = [each for each in acting if not isinstance(each, checked.ProtectRule)]
        for rule in (*own, *decision.protecting):
            known = self._rules.get(_get_rule_location(rule))
            if known is not None:
                known.record_decision(decision, rule.head.name)

    @property
    def rules(self) -> list[RuleCoverage]:
        """All rules, ordered by file and position."""
        return [self._rules[key] for key in sorted(self._rules)]

    @property
    def branch_counts(self) -> tuple[int, int]:
        """The number of outcomes that occurred, and the number of all possible outcomes."""
        taken = [count > 0 for rule in self._rules.values() for count in rule.branches.values()]
        return sum(taken), len(taken)

    @property
    def percent(self) -> float:
        """The percentage of possible outcomes that occurred; 100 without rules."""
        taken, every = self.branch_counts
        return 100 * taken / every if every else 100.0


def _list_branches(rule: checked.Rule) -> tuple[str, ...]:
    """Return the possible outcomes of a rule, which depend on its kind."""
    match rule:
        case checked.TolerationRule():
            return _GRANT
        case checked.RejectRule():
            return _FILTER
        case checked.PreemptRule(victims=None):
            return _KEEP[:1]
        case checked.PreemptRule() | checked.ProtectRule():
            return _KEEP
        case checked.ExpressionScoreRule() | checked.ResourceScoreRule():
            return _SCORE
        case _:
            return _FILTER if rule.weight is None else _SCORE
