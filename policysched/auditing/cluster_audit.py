"""Audit all running pods of a cluster, in short steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from policysched.auditing import judging, violations
from policysched.cluster import snapshot
from policysched.cluster.pods import pending_pods, pod_shape
from policysched.framework import runtime

ChooseFramework: TypeAlias = Callable[[pod_shape.PodInfo], runtime.Framework | None]
TakeSnapshot: TypeAlias = Callable[[], snapshot.Snapshot]
_Groups: TypeAlias = dict[tuple[judging.ProfileJudge, int], dict[int, list[str]]]
"""The uids of identical pods by row, keyed by judge and index of the shape."""

_ROWS_OF_STEP = 256
"""By default; fewer rows make shorter steps, and a longer audit."""


class ClusterAudit:
    """Judges the running pods of a cluster.

    Attributes:
        pod_count: number of pods judged so far.
        unknown: number of pods that a rule could not judge for lack of present or past samples, by
            rule.
    """

    def __init__(
        self,
        choose: ChooseFramework,
        take_snapshot: TakeSnapshot,
        rows_of_step: int = _ROWS_OF_STEP,
        select_rule: Callable[[violations.AuditedRule], bool] = lambda _: True,
    ) -> None:
        """Judge each pod by the rules of the framework that `choose` returns.

        A step judges identical pods on at most `rows_of_step` nodes. Only rules that `select_rule`
        selects judge.
        """
        self._select_rule = select_rule
        self._rows_of_step = rows_of_step
        self.pod_count = 0
        self.unknown: Counter[str] = Counter()
        self._choose = choose
        self._take_snapshot = take_snapshot
        self._judges: dict[runtime.Framework, judging.ProfileJudge] = {}

    @property
    def attempt_rules(self) -> tuple[str, ...]:
        """The names of rules about the moment of an attempt, which judge no running pod."""
        rules = (rule for each in self._judges.values() for rule in each.attempt_rules)
        return tuple(sorted({rule.head.name for rule in rules}))

    def judge_in_steps(self) -> Iterator[Sequence[judging.RuleVerdict]]:
        """Yield the rejections of each step; the cluster may change between two steps.

        Pods that are added or deleted in between are not judged.
        """
        groups: _Groups = {}
        size = self._rows_of_step
        for first in range(0, self._take_snapshot().size, size):
            self._group_pods(range(first, first + size), groups)
            yield ()
        for uids in groups.values():
            rows = list(uids)
            for first in range(0, len(rows), size):
                part = {row: uids[row] for row in rows[first : first + size]}
                yield self._judge_present_pods(part)

    def judge_pod(self, info: pod_shape.PodInfo) -> Sequence[judging.RuleVerdict]:
        """Return the rejections of one pod on its node."""
        snap = self._take_snapshot()
        row = snap.find_row(info.pod.spec.node_name)
        judge = self.find_judge(info)
        if row is None or judge is None:
            return ()
        return tuple(judge.judge_identical_pods({row: [info]}, snap, Counter()))

    def find_judge(self, info: pod_shape.PodInfo) -> judging.ProfileJudge | None:
        """Return the judge of a pod; None if no profile serves it."""
        framework = self._choose(info)
        if framework is None:
            return None
        if framework not in self._judges:
            self._judges[framework] = judging.ProfileJudge(framework, self._select_rule)
        return self._judges[framework]

    def _group_pods(self, rows: range, groups: _Groups) -> None:
        """Add the pods of rows to the groups of identical pods."""
        snap = self._take_snapshot()
        for row in rows:
            if row >= snap.size or not snap.is_alive[row]:
                continue
            for info in snap.placed.get_pods(row):
                judge = self.find_judge(info) if _is_running(info) else None
                if judge is not None:
                    self.pod_count += 1
                    key = (judge, info.shape.index)
                    groups.setdefault(key, {}).setdefault(row, []).append(info.uid)

    def _judge_present_pods(
        self, uids_by_row: dict[int, list[str]]
    ) -> Sequence[judging.RuleVerdict]:
        """Return the rejections of pods that were identical, without those that have left.

        Pods that have changed since then are judged as they are now.
        """
        snap = self._take_snapshot()
        placed: dict[tuple[judging.ProfileJudge, int], dict[int, list[pod_shape.PodInfo]]] = {}
        for row, uids in uids_by_row.items():
            present = {info.uid: info for info in snap.placed.get_pods(row)}
            for info in (present[uid] for uid in uids if uid in present):
                judge = self.find_judge(info) if _is_running(info) else None
                if judge is not None:
                    of_shape = placed.setdefault((judge, info.shape.index), {})
                    of_shape.setdefault(row, []).append(info)
        return [
            verdict
            for (judge, _), identical in placed.items()
            for verdict in judge.judge_identical_pods(identical, snap, self.unknown)
        ]


def audit_cluster(
    choose: ChooseFramework,
    take_snapshot: TakeSnapshot,
    advance: Callable[[], None] = lambda: None,
) -> violations.AuditResult:
    """Return all violations with their evidence; `advance` is called after each step."""
    audit = ClusterAudit(choose, take_snapshot)
    verdicts: list[judging.RuleVerdict] = []
    for step in audit.judge_in_steps():
        verdicts += step
        advance()
    snap = take_snapshot()
    found = [make_violation(each, snap) for each in verdicts]
    found.sort(key=lambda each: (each.rule.head.name, each.profile, each.node, each.pods[0].key))
    return violations.AuditResult(found, audit.pod_count, audit.unknown, audit.attempt_rules)


def make_violation(verdict: judging.RuleVerdict, snap: snapshot.Snapshot) -> violations.Violation:
    """Return a rejection as a violation, with its evidence."""
    return violations.Violation(
        verdict.judge.profile,
        verdict.rule,
        snap.nodes.names[verdict.row],
        tuple(sorted(verdict.pods, key=lambda info: info.key)),
        verdict.answer.reasons[0],
        verdict.judge.describe_evidence(verdict, snap),
    )


def _is_running(info: pod_shape.PodInfo) -> bool:
    """Return whether a pod is bound and would be scheduled if it were created again."""
    return bool(info.pod.spec.node_name) and pending_pods.would_be_scheduled(info)
