"""Measure how long rules over metrics have rejected pods, from past samples.

Only samples and times are those of the past; labels, pods and policies are those of now.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np

from policysched.auditing import cluster_audit, judging, violations
from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.compiler.rules import reject
from policysched.lang.checked import checked_expr


class _WatchKey(NamedTuple):
    """Which pods are watched together; `shape` is None if the rule treats all its pods alike."""

    profile: str
    rule: str
    shape: int | None


class _Beginning(NamedTuple):
    """When a rejection began; this is the latest possible time if it `may_be_earlier`."""

    seconds: float
    may_be_earlier: bool


@dataclasses.dataclass(slots=True)
class _WatchedPods:
    """Pods that a rule over metrics rejects now, and that differ in nothing that it reads.

    Attributes:
        placed: one of the pods for each row.
        beginnings: when the present rejection begins, by row.
        unknown: the rows of which the last observation does not show whether `until` holds them;
            None before the first observation.
    """

    judge: judging.ProfileJudge
    rule: reject.Reject
    placed: dict[int, Sequence[pod_shape.PodInfo]] = dataclasses.field(default_factory=dict)
    beginnings: dict[int, _Beginning] = dataclasses.field(default_factory=dict)
    unknown: AbstractSet[int] | None = None

    def observe(self, snap: snapshot.Snapshot) -> None:
        """Judge the pods by the samples that are current in `snap`."""
        verdicts = self.judge.judge_identical_pods(self.placed, snap, Counter(), [self.rule])
        before, unknown = self.beginnings, self.unknown
        self.beginnings = {
            row: before.get(row)
            or _Beginning(snap.now_seconds, may_be_earlier=unknown is None or row in unknown)
            for row in (verdict.row for verdict in verdicts)
        }
        self.unknown = self._find_unknown_rows(snap)

    def _find_unknown_rows(self, snap: snapshot.Snapshot) -> AbstractSet[int]:
        if self.rule.hysteresis is None:
            return frozenset()
        rows = np.fromiter(self.placed, np.intp, len(self.placed))
        return set(rows[self.rule.hysteresis.is_unknown(snap.view_rows(rows))].tolist())


class MetricViolationAges:
    """Measures how long metric rules have rejected pods, while samples are replayed."""

    def __init__(
        self,
        audit: cluster_audit.ClusterAudit,
        found: violations.AuditResult,
        pods: Mapping[str, pod_shape.PodInfo],
        snap: snapshot.Snapshot,
    ) -> None:
        """Watch the violations in `found` in the cluster that `audit` judges.

        `pods` are all pods of this cluster, keyed by `namespace/name`; `snap` shows its nodes,
        which do not change.
        """
        self._found = found
        self._pods = pods
        self._rows = {each.node: snap.find_row(each.node) for each in found.violations}
        self._watched: dict[_WatchKey, _WatchedPods] = {}
        self._seen_metrics: set[str] = set()
        self._now_seconds = 0.0
        for each in found.violations:
            if judging.reads_metrics(each.rule):
                self._watch(each, audit)

    def _watch(self, violation: violations.Violation, audit: cluster_audit.ClusterAudit) -> None:
        info = self._pods[violation.pods[0].key]
        judge = audit.find_judge(info)
        rules = () if judge is None else judge.rules
        rule = next((one for one in rules if one.head.name == violation.rule.head.name), None)
        row = self._rows[violation.node]
        if judge is not None and isinstance(rule, reject.Reject) and row is not None:
            key = _make_key(violation, info)
            watched = self._watched.setdefault(key, _WatchedPods(judge, rule))
            watched.placed[row] = [info]

    def observe(self, snap: snapshot.Snapshot, metrics: Collection[str]) -> None:
        """Judge the pods that rules over one of `metrics` reject, after a step of these metrics.

        Between the steps of its own metrics, a rule has no new samples to judge by. It is judged
        first when each of its metrics has had a step.
        """
        self._now_seconds = snap.now_seconds
        self._seen_metrics |= set(metrics)
        for each in self._watched.values():
            own = each.rule.metrics
            if not own.isdisjoint(metrics) and own <= self._seen_metrics:
                each.observe(snap)

    def list_aged_violations(self) -> list[violations.Violation]:
        """Return the violations with the ages of those by metrics."""
        return [self._add_age(each) for each in self._found.violations]

    def _add_age(self, violation: violations.Violation) -> violations.Violation:
        watched = self._watched.get(_make_key(violation, self._pods[violation.pods[0].key]))
        row = self._rows[violation.node]
        begun = None if watched is None or row is None else watched.beginnings.get(row)
        if begun is None:
            return violation
        age = violations.ViolationAge(self._now_seconds - begun.seconds, begun.may_be_earlier)
        return dataclasses.replace(violation, age=age)


def _make_key(violation: violations.Violation, info: pod_shape.PodInfo) -> _WatchKey:
    """Return the key of violating pods; few keys mean few judgements."""
    rule = violation.rule
    is_about_nodes = isinstance(rule, reject.Reject) and not (
        judging.depends_on_pods(rule)
        or checked_expr.reads_pod(rule.condition.source)
        or checked_expr.reads_devices(rule.condition.source)
    )
    shape = None if is_about_nodes else info.shape.index
    return _WatchKey(violation.profile, rule.head.name, shape)
