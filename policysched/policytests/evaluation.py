"""Evaluates the pod of a test case like `explain`, and its replicas like `simulate`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from policysched import errors
from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.compiler import shared_parts
from policysched.compiler.pods import scope
from policysched.compiler.rules import score
from policysched.framework import cycle_state, runtime
from policysched.lang.checked import checked
from policysched.offline import preemption_report, sessions, simulating
from policysched.policytests import suite_inputs


@dataclasses.dataclass(frozen=True, slots=True)
class RuleFact:
    """A rule of a policy that selects the pod.

    Attributes:
        acts: whether the rule is active: not disabled, within its time, and not in an outage.
    """

    rule: checked.Rule
    acts: bool


@dataclasses.dataclass(frozen=True, slots=True)
class ExplainedDecision:
    """The complete decision for one pod, as compared with expectations.

    Attributes:
        report: the report of `explain`.
        policies: the names of the policies that select the pod.
        rules: the rules of these policies.
        points: score name -> node -> points from 0 to 100, before they are weighted.
        raw: full name of a rule -> node -> computed number; nodes without a value are absent.
        preemption: what preemption may do for the pod; None if the pod fits on a node.
        victims: `namespace/name` of the pods that preemption would evict for the pod.
        protecting: the rules of all profiles that protect placed pods now.
    """

    report: dict[str, Any]
    policies: list[str]
    rules: list[RuleFact]
    points: dict[str, dict[str, float]]
    raw: dict[str, dict[str, float]]
    preemption: preemption_report.PreemptionFacts | None = None
    victims: list[str] = dataclasses.field(default_factory=list)
    protecting: list[checked.Rule] = dataclasses.field(default_factory=list)

    @property
    def skipped(self) -> list[str]:
        """The names of the inactive rules."""
        return [fact.rule.head.name for fact in self.rules if not fact.acts]


@dataclasses.dataclass(frozen=True, slots=True)
class CaseOutcome:
    """The decision and the placements with which expectations are compared.

    Attributes:
        decision: the decision for the only pod, or for the first replica.
        placements: the placements of the replicas, in the order of scheduling.
    """

    decision: ExplainedDecision
    placements: list[simulating.SimulatedPlacement] = dataclasses.field(default_factory=list)


def evaluate_case(
    subject: suite_inputs.CaseDecisionInputs,
    where: str,
    observe: Callable[[ExplainedDecision], None],
    *,
    are_replicas: bool,
) -> CaseOutcome:
    """Make the decision for the pod of a case, or place its replicas one by one.

    `observe` is called with the decision for each pod before the pod is placed.

    Raises:
        InputError: no profile serves the pod, or the cluster is invalid.
    """
    decider = subject.basis.make_decider(subject.found, where)
    infos = list(decider.cluster.pending)
    simulation = decider.simulate_placements()
    first: ExplainedDecision | None = None
    placements = []
    for info in infos:  # replicas are identical, so the queue keeps this order
        decision = _decide_pod(decider, subject.basis, info)
        observe(decision)
        first = first or decision
        if are_replicas:
            placements.append(next(simulation))
    if first is None:
        problem = "the pod of a test has ended or is being deleted"
        raise errors.InputError(where, problem)
    return CaseOutcome(first, placements)


def _decide_pod(
    decider: sessions.PodDecider, basis: sessions.DeciderFactory, info: pod_shape.PodInfo
) -> ExplainedDecision:
    """Return the decision for a pod without placing the pod."""
    framework = decider.choice.require_framework(info)
    report = decider.make_pod_report(framework, info)
    facts = list(_list_rule_facts(decider, basis, framework, info, report))
    snap = decider.cluster.cache.snapshot()
    selected = [
        policy.name
        for policy in _list_enforced_policies(basis, framework)
        if scope.PolicyScope(policy.scope).selects(info.shape, snap.counts.namespaces)
    ]
    weights = framework.profile.weights
    points: dict[str, dict[str, float]] = {}
    for node, weighted in report["scores"].items():
        for name, value in weighted.items():
            if name != "total":
                points.setdefault(name, {})[node] = value / weights[name]
    raw = _compute_raw_scores(decider, framework, info)
    preemption, victims = _try_preemption(framework, info, snap, report)
    protecting = _list_protecting_rules(decider, basis)
    return ExplainedDecision(report, selected, facts, points, raw, preemption, victims, protecting)


def _try_preemption(
    framework: runtime.Framework,
    info: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
    report: dict[str, Any],
) -> tuple[preemption_report.PreemptionFacts | None, list[str]]:
    """Return what preemption may do for a pod, and its victims; no pod is evicted."""
    if report["feasible"] or "gated" in report:
        return None, []
    facts = preemption_report.find_preemption_facts(framework, info, snap)
    result = framework.schedule_pod(info, snap)
    if result.diagnosis is None:
        return facts, []
    answer = framework.run_post_filter(result.state, info, snap, result.diagnosis)
    return facts, [] if answer is None else [each.key for each in answer.victims]


def _list_protecting_rules(
    decider: sessions.PodDecider, basis: sessions.DeciderFactory
) -> list[checked.Rule]:
    """Return the `protect` rules of all profiles that are active now."""
    program = basis.policies.program
    state = cycle_state.CycleState()
    now = decider.cluster.cache.snapshot().now
    return [
        placed.rule
        for profile in (program.profiles if program else ())
        for placed in shared_parts.placed_rules(profile)
        if isinstance(placed.rule, checked.ProtectRule)
        and scope.Timetable(placed.rule.head.active).is_active(now, state)
    ]


def _find_profile(
    basis: sessions.DeciderFactory, framework: runtime.Framework
) -> checked.CheckedProfile | None:
    """Return the checked profile in use, or None for a profile without policies."""
    program = basis.policies.program
    name = framework.profile.scheduler_name
    for spec in basis.policies.specs:
        if spec.name == name and spec.number is not None and program is not None:
            return program.profiles[spec.number]
    return None


def _list_enforced_policies(
    basis: sessions.DeciderFactory, framework: runtime.Framework
) -> list[checked.CheckedPolicy]:
    profile = _find_profile(basis, framework)
    every = profile.policies if profile else ()
    return [policy for policy in every if policy.mode == "enforce"]


def _list_rule_facts(
    decider: sessions.PodDecider,
    basis: sessions.DeciderFactory,
    framework: runtime.Framework,
    info: pod_shape.PodInfo,
    report: dict[str, Any],
) -> Iterator[RuleFact]:
    """Yield the rules of the policies that select the pod."""
    profile = _find_profile(basis, framework)
    if profile is None:
        return
    holds = profile.on_outage == "hold"
    lost = {
        f"{each['policy']}/{each['rule']}"
        for each in report.get("rules", ())
        if each["outage"] is not None and not holds
    }
    snap = decider.cluster.cache.snapshot()
    parts = shared_parts.SharedParts(())
    state = cycle_state.CycleState()
    for placed in shared_parts.placed_rules(profile):
        rule_scope = parts.rule_scope(placed)
        if rule_scope.policy.selects(info.shape, snap.counts.namespaces):
            acts = rule_scope.applies_to(state, info.shape, snap)
            yield RuleFact(placed.rule, acts and placed.rule.head.name not in lost)


def _compute_raw_scores(
    decider: sessions.PodDecider, framework: runtime.Framework, info: pod_shape.PodInfo
) -> dict[str, dict[str, float]]:
    """Return the raw numbers of expression scores, in the canonical scale of their unit."""
    snap = decider.cluster.cache.snapshot()
    state = framework.make_state(info, snap)
    found: dict[str, dict[str, float]] = {}
    for plugin in framework.profile.plugins:
        if not isinstance(plugin, score.NumberScore):
            continue
        if not plugin.applies_to(state, info.shape, snap):
            continue
        values = plugin.compute_numbers(state, info.shape, snap.view_all_rows())
        known = ~np.isnan(values) & snap.is_alive
        found[plugin.head.name] = {
            snap.nodes.names[row]: float(values[row]) for row in np.flatnonzero(known).tolist()
        }
    return found
