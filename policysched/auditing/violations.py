"""The violations that an audit found."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TypeAlias

from policysched.cluster.pods import pod_shape
from policysched.compiler import rule_changes

AuditedRule: TypeAlias = rule_changes.FilterRule


@dataclasses.dataclass(frozen=True, slots=True)
class ViolationAge:
    """How long a violation has lasted.

    Attributes:
        seconds: the time since the first sample of the present rejection.
        is_minimum: whether the violation may be older: the first samples of the history show it, or
            `until` may have held the node before.
    """

    seconds: float
    is_minimum: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Violation:
    """Identical pods on one node that a rule rejects there.

    Attributes:
        profile: the name of the profile that serves the pods.
        rule: the rule in force.
        node: the name of the node.
        pods: the pods; each of them is judged alone.
        reason: the reason of the rejection.
        evidence: the values behind the reason, or "".
        age: how long it has lasted; None if this is unknown.
    """

    profile: str
    rule: AuditedRule
    node: str
    pods: tuple[pod_shape.PodInfo, ...]
    reason: str
    evidence: str
    age: ViolationAge | None = None


@dataclasses.dataclass(slots=True)
class AuditResult:
    """The violations in a cluster, and the pods and rules that were left out.

    Attributes:
        violations: in the order of the rules, then of the nodes and pods.
        pod_count: number of pods that were judged.
        unknown: number of pods that a rule could not judge for lack of present or past samples,
            keyed by the name of the rule.
        attempt_rules: the names of rules about the moment of an attempt, which judge no running
            pod.
    """

    violations: list[Violation] = dataclasses.field(default_factory=list)
    pod_count: int = 0
    unknown: Counter[str] = dataclasses.field(default_factory=Counter)
    attempt_rules: tuple[str, ...] = ()

    def count_violating_pods(self) -> int:
        """Return the number of pods with a violation; a pod can violate several rules."""
        return len({info.uid for each in self.violations for info in each.pods})
