"""Measure how long rules over metrics have rejected pods, from past samples.

Only samples and times are those of the past; labels, pods and policies are those of now.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from policysched.auditing import cluster_audit, judging, violations
from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import interface


@dataclasses.dataclass(slots=True)
class _WatchedPods:
    """Identical pods that a rule rejects now.

    Attributes:
        placed: one of the pods for each row.
        since_seconds: since when the rule rejects them, by row.
    """

    judge: judging.ProfileJudge
    rule: violations.AuditedRule
    placed: dict[int, Sequence[pod_shape.PodInfo]] = dataclasses.field(default_factory=dict)
    since_seconds: dict[int, float] = dataclasses.field(default_factory=dict)


class MetricViolationAges:
    """Measures how long metric rules have rejected pods, while samples are replayed."""

    def __init__(self, audit: cluster_audit.ClusterAudit, found: violations.AuditResult) -> None:
        """Watch the violations in `found` of the cluster that `audit` judges."""
        self._audit = audit
        self._found = found
        self._watched: dict[tuple[str, str, int], _WatchedPods] = {}
        self._first_seconds: float | None = None
        self._now_seconds = 0.0

    def watch(self, pods: Mapping[str, pod_shape.PodInfo], snap: snapshot.Snapshot) -> None:
        """Find the violating pods among those of the cluster, keyed by `namespace/name`."""
        for each in self._found.violations:
            if not reads_metrics(each.rule):
                continue
            info = pods[each.pods[0].key]
            judge = self._audit.find_judge(info)
            rules = () if judge is None else judge.rules
            rule = next((one for one in rules if one.head.name == each.rule.head.name), None)
            row = snap.find_row(each.node)
            if judge is not None and rule is not None and row is not None:
                key = (each.profile, rule.head.name, info.shape.index)
                watched = self._watched.setdefault(key, _WatchedPods(judge, rule))
                watched.placed[row] = [info]

    def observe(self, snap: snapshot.Snapshot) -> None:
        """Judge the watched pods by the samples that are current in `snap`."""
        self._now_seconds = snap.now_seconds
        if self._first_seconds is None:
            self._first_seconds = snap.now_seconds
        for each in self._watched.values():
            verdicts = each.judge.judge_identical_pods(each.placed, snap, Counter(), [each.rule])
            rejected = {verdict.row for verdict in verdicts}
            before = each.since_seconds
            each.since_seconds = {row: before.get(row, snap.now_seconds) for row in rejected}

    def add_ages(
        self, pods: Mapping[str, pod_shape.PodInfo], snap: snapshot.Snapshot
    ) -> list[violations.Violation]:
        """Return the violations with the ages of those by metrics."""
        return [self._add_age(each, pods, snap) for each in self._found.violations]

    def _add_age(
        self,
        violation: violations.Violation,
        pods: Mapping[str, pod_shape.PodInfo],
        snap: snapshot.Snapshot,
    ) -> violations.Violation:
        shape = pods[violation.pods[0].key].shape
        watched = self._watched.get((violation.profile, violation.rule.head.name, shape.index))
        row = snap.find_row(violation.node)
        since = None if watched is None or row is None else watched.since_seconds.get(row)
        if since is None:
            return violation
        is_minimum = since == self._first_seconds
        age = violations.ViolationAge(self._now_seconds - since, is_minimum)
        return dataclasses.replace(violation, age=age)


def reads_metrics(rule: violations.AuditedRule) -> bool:
    """Return whether a rule reads metrics."""
    return interface.Reads.METRICS in rule.reads
