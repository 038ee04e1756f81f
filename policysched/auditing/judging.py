"""Ask the rules of one profile whether they reject running pods on their own nodes.

Each pod is judged as if it were scheduled now and were not on its node. Identical pods are judged
together, on all their nodes in one call: `filter_apart` answers for each node as if only its own
pods had changed.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeGuard

import numpy as np

from policysched.auditing import violations
from policysched.cluster import snapshot, what_if
from policysched.cluster.columns import columns
from policysched.cluster.pods import pending_pods, pod_shape
from policysched.compiler.rules import base, node_affinity, reject
from policysched.framework import cycle_state, interface, profile, runtime, status
from policysched.plugins.dynamic_resources import released_claims

PodsByRow: TypeAlias = Mapping[int, Sequence[pod_shape.PodInfo]]
"""Identical pods by the row of their node; no row is without pods."""


@dataclasses.dataclass(frozen=True, slots=True)
class RuleVerdict:
    """A rule that rejects identical pods on their own node.

    Attributes:
        judge: the judge of their profile.
        rule: the rule.
        row: the row of the node.
        pods: the pods; each of them is judged alone.
        answer: the answer of the rule.
    """

    judge: ProfileJudge
    rule: violations.AuditedRule
    row: int
    pods: Sequence[pod_shape.PodInfo]
    answer: status.Status


class ProfileJudge:
    """Judges running pods by the filters among the rules of one profile.

    Attributes:
        profile: the name of the profile.
        rules: the rules that judge.
        attempt_rules: the rules about the moment of an attempt, which judge no running pod.
    """

    def __init__(
        self,
        framework: runtime.Framework,
        select_rule: Callable[[violations.AuditedRule], bool] = lambda _: True,
    ) -> None:
        """Take the selected rules of `framework`, without those of shadow policies."""
        filters = [each for each in framework.profile.plugins if _is_filter_rule(each)]
        self.profile = framework.profile.scheduler_name
        self._tolerations = framework.profile.tolerations
        self.attempt_rules = tuple(each for each in filters if _judges_attempts(each))
        audited = [each for each in filters if each not in self.attempt_rules]
        self.rules = tuple(filter(select_rule, audited))

    def judge_identical_pods(
        self,
        placed: PodsByRow,
        snap: snapshot.Snapshot,
        unknown: Counter[str],
        rules: Sequence[violations.AuditedRule] | None = None,
    ) -> Iterator[RuleVerdict]:
        """Yield the rules that reject identical pods; add pods without samples to `unknown`.

        With `rules`, only these judge.
        """
        example = next(iter(placed.values()))[0]
        state = cycle_state.CycleState(self._tolerations(example.shape, snap))
        asked = self.rules if rules is None else rules
        acting = [each for each in asked if each.applies_to(state, example.shape, snap)]
        if not acting:
            return
        has_claims = released_claims.has_claims(example, snap.devices.claims)
        if has_claims and any(map(_reads_devices, acting)):
            for row, infos in placed.items():
                for info in infos:  # each pod has its own devices
                    with released_claims.suppose_released(info, snap.devices.claims):
                        yield from self._judge(acting, {row: [info]}, snap, unknown)
            return
        yield from self._judge(acting, placed, snap, unknown)

    def _judge(
        self,
        acting: Sequence[violations.AuditedRule],
        placed: PodsByRow,
        snap: snapshot.Snapshot,
        unknown: Counter[str],
    ) -> list[RuleVerdict]:
        """Return the rules of `acting` that reject identical pods."""
        asked = _RuleQuestions(acting, placed, snap, self._tolerations)
        with what_if.WhatIf(snap) as supposed:
            if any(map(depends_on_pods, acting)):
                supposed.remove_pods([(infos[0], row) for row, infos in placed.items()])
            rejections = asked.ask(unknown)
        return [
            RuleVerdict(self, rule, row, placed[row], answer) for rule, row, answer in rejections
        ]

    def describe_evidence(self, verdict: RuleVerdict, snap: snapshot.Snapshot) -> str:
        """Return the values behind a rejection, or "" if the rule has none."""
        info = pending_pods.make_pending_pod(verdict.pods[0])
        state = cycle_state.CycleState(self._tolerations(info.shape, snap))
        node = snap.view_rows(np.array([verdict.row], np.intp))
        with contextlib.ExitStack() as around:
            claims = snap.devices.claims
            if released_claims.has_claims(info, claims):
                around.enter_context(released_claims.suppose_released(verdict.pods[0], claims))
            if depends_on_pods(verdict.rule):
                supposed = around.enter_context(what_if.WhatIf(snap))
                supposed.remove_pods([(verdict.pods[0], verdict.row)])
            reason = verdict.answer.reasons[0]
            return verdict.rule.evidence_on(state, info, node, reason)


class _RuleQuestions:
    """Asks rules about identical pods on all their nodes, while a what-if change is open."""

    def __init__(
        self,
        acting: Sequence[violations.AuditedRule],
        placed: PodsByRow,
        snap: snapshot.Snapshot,
        tolerations: profile.TolerationsFn,
    ) -> None:
        """Let the rules capture their counts before pods are supposed to be gone."""
        self._rules = acting
        self._placed = placed
        self._pod = pending_pods.make_pending_pod(next(iter(placed.values()))[0])
        self._state = cycle_state.CycleState(tolerations(self._pod.shape, snap))
        self._nodes = snap.view_rows(np.fromiter(placed, np.intp, len(placed)))
        for rule in acting:
            if isinstance(rule, reject.Reject):
                rule.remember_by_samples(self._state, self._pod.shape, snap)
            elif not isinstance(rule, node_affinity.RequiredNodeAffinity):
                rule.remember(self._state, self._pod, snap)

    def ask(self, unknown: Counter[str]) -> list[tuple[violations.AuditedRule, int, status.Status]]:
        """Return the rules that reject, each with row and answer; count pods without samples."""
        found, rows = [], list(self._placed)
        for rule in self._rules:
            answers = self._ask_rule(rule, unknown)
            for place in np.flatnonzero(answers.ids).tolist():
                row = rows[place]
                answer = answers.statuses[answers.ids.item(place)]
                found.append((rule, row, answer))
        return found

    def _ask_rule(self, rule: violations.AuditedRule, unknown: Counter[str]) -> status.NodeStatuses:
        """Return the answer of a rule for each of the n nodes."""
        match rule:
            case reject.Reject():
                verdicts = rule.judge_by_samples(self._state, self._pod.shape, self._nodes)
                if verdicts.is_unknown.any():
                    unknown[rule.head.name] += self._count_pods(verdicts.is_unknown)
                return status.NodeStatuses.where(verdicts.is_rejected, rule.rejected)
            case node_affinity.RequiredNodeAffinity():
                return rule.filter(self._state, self._pod, self._nodes)
            case _:
                return rule.filter_apart(self._state, self._pod, self._nodes)

    def _count_pods(self, selected: columns.NodeMask) -> int:
        rows = self._nodes.row_numbers[selected].tolist()
        return sum(len(self._placed[row]) for row in rows)


def depends_on_pods(rule: violations.AuditedRule) -> bool:
    """Return whether the answers of a rule depend on the nodes of pods."""
    return rule.reads.has_placed_pods


def reads_metrics(rule: violations.AuditedRule) -> bool:
    """Return whether a rule reads metrics."""
    return interface.Reads.METRICS in rule.reads


def _is_filter_rule(plugin: interface.Plugin) -> TypeGuard[violations.AuditedRule]:
    return isinstance(plugin, base.PolicyRule) and not isinstance(plugin, base.ScoreRule)


def _judges_attempts(rule: violations.AuditedRule) -> bool:
    return isinstance(rule, reject.Reject) and rule.judges_attempts


def _reads_devices(rule: violations.AuditedRule) -> bool:
    return isinstance(rule, reject.DeviceReject)
