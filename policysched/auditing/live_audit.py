"""Audit the pods of a running scheduler periodically, and export the violations as metrics."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, NoReturn

from prometheus_client import core

from policysched import clock as clocks
from policysched.auditing import cluster_audit, judging
from policysched.framework import runtime

_ROWS_OF_STEP = 64
"""A step then takes about a millisecond."""
_REST_FACTOR = 4.0
"""Rest after each step, in durations of the step: an audit takes at most a fifth of the time."""
_STANDBY_SECONDS = 5.0
"""Interval between checks whether a standby leads; minimum rest after an audit."""


class LiveRule(NamedTuple):
    """A rule of a profile, for labels: `rule` is `POLICY/RULE`."""

    profile: str
    rule: str


class _PodViolation(NamedTuple):
    rule: LiveRule
    uid: str


@dataclasses.dataclass(frozen=True, slots=True)
class LiveFindings:
    """The result of the last complete audit.

    Attributes:
        first_seen_seconds: when each violation was first seen, on the monotonic clock.
        rules: the rules that judged running pods.
        pod_count: number of pods that were judged.
        ended_at_seconds: when the audit ended, in seconds since 1970.
    """

    first_seen_seconds: Mapping[_PodViolation, float]
    rules: frozenset[LiveRule]
    pod_count: int
    ended_at_seconds: float


@dataclasses.dataclass(frozen=True, slots=True)
class LiveCluster:
    """The parts of a running scheduler that an audit reads.

    Attributes:
        find_framework: returns the framework that decides about a pod, or None; during a rollout,
            that of the version that decides about the pod.
        get_frameworks: returns all frameworks in use; a change of the policies replaces them.
        take_snapshot: returns the current state.
        is_leading: whether this process schedules.
    """

    find_framework: cluster_audit.ChooseFramework
    get_frameworks: Callable[[], Mapping[str, runtime.Framework]]
    take_snapshot: cluster_audit.TakeSnapshot
    is_leading: Callable[[], bool]


class LiveAudit:
    """Audits running pods in short steps; the scheduler works between two steps.

    Attributes:
        findings: of the last complete audit; None before, and while this process does not lead.
    """

    def __init__(
        self,
        cluster: LiveCluster,
        clock: clocks.Clock,
        every_seconds: float,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Begin an audit every `every_seconds`, or when the last one has ended if it is longer."""
        self.findings: LiveFindings | None = None
        self._cluster = cluster
        self._clock = clock
        self._every_seconds = every_seconds
        self._sleep = sleep

    async def run(self) -> NoReturn:
        """Audit while this process leads, until cancelled."""
        while True:
            if not self._cluster.is_leading():
                self.findings = None
                await self._sleep(_STANDBY_SECONDS)
                continue
            began_seconds = self._clock.monotonic_seconds()
            await self.audit_once()
            passed_seconds = self._clock.monotonic_seconds() - began_seconds
            await self._sleep(max(self._every_seconds - passed_seconds, _STANDBY_SECONDS))

    async def audit_once(self) -> None:
        """Audit all pods; drop the result if the policies or the leader change meanwhile."""
        frameworks = dict(self._cluster.get_frameworks())
        audit = cluster_audit.ClusterAudit(
            self._cluster.find_framework, self._cluster.take_snapshot, _ROWS_OF_STEP
        )
        found: set[_PodViolation] = set()
        began_seconds = self._clock.monotonic_seconds()
        for verdicts in audit.judge_in_steps():
            found |= _list_pod_violations(verdicts)
            now_seconds = self._clock.monotonic_seconds()
            await self._sleep(_REST_FACTOR * (now_seconds - began_seconds))
            if not self._cluster.is_leading() or not self._are_in_use(frameworks):
                return
            began_seconds = self._clock.monotonic_seconds()
        self._keep(found, audit, frameworks)

    def _are_in_use(self, frameworks: Mapping[str, runtime.Framework]) -> bool:
        current = self._cluster.get_frameworks()
        return current.keys() == frameworks.keys() and all(
            current[name] is frameworks[name] for name in frameworks
        )

    def _keep(
        self,
        found: set[_PodViolation],
        audit: cluster_audit.ClusterAudit,
        frameworks: Mapping[str, runtime.Framework],
    ) -> None:
        """Keep the violations; a known one keeps the time at which it was first seen.

        A rule that an edit changes keeps its name, and thus the ages of its violations.
        """
        now_seconds = self._clock.monotonic_seconds()
        before = {} if self.findings is None else self.findings.first_seen_seconds
        self.findings = LiveFindings(
            {each: before.get(each, now_seconds) for each in found},
            _list_rules(frameworks),
            audit.pod_count,
            self._clock.now().timestamp(),
        )

    def collect_metrics(self) -> Iterator[core.Metric]:
        """Yield the violations by profile and rule; no series before the first audit.

        After a change of the policies, rules that are no longer in force have no series, although
        the last audit judged by them.
        """
        labels = ("profile", "rule")
        pods = core.GaugeMetricFamily(
            "policysched_audit_violating_pods",
            "Running pods that a rule would not place where they are.",
            labels=labels,
        )
        oldest = core.GaugeMetricFamily(
            "policysched_audit_oldest_violation_seconds",
            "Time since the oldest violation of a rule was first seen; 0 without violations.",
            labels=labels,
        )
        judged = core.GaugeMetricFamily(
            "policysched_audit_pods", "Running pods that the last audit judged."
        )
        ended = core.GaugeMetricFamily(
            "policysched_audit_last_end_timestamp_seconds", "Time at which the last audit ended."
        )
        found = self.findings if self._cluster.is_leading() else None
        if found is not None:
            counts = Counter(each.rule for each in found.first_seen_seconds)
            now_seconds = self._clock.monotonic_seconds()
            ages: dict[LiveRule, float] = {}
            for each, first_seconds in found.first_seen_seconds.items():
                age_seconds = now_seconds - first_seconds
                ages[each.rule] = max(ages.get(each.rule, 0.0), age_seconds)
            for rule in sorted(found.rules & _list_rules(self._cluster.get_frameworks())):
                pods.add_metric(rule, counts[rule])
                oldest.add_metric(rule, ages.get(rule, 0.0))
            judged.add_metric((), found.pod_count)
            ended.add_metric((), found.ended_at_seconds)
        yield from (pods, oldest, judged, ended)


def _list_rules(frameworks: Mapping[str, runtime.Framework]) -> frozenset[LiveRule]:
    """Return all rules that judge running pods."""
    judges = map(judging.ProfileJudge, frameworks.values())
    return frozenset(
        LiveRule(judge.profile, rule.head.name) for judge in judges for rule in judge.rules
    )


def _list_pod_violations(verdicts: Iterable[judging.RuleVerdict]) -> set[_PodViolation]:
    return {
        _PodViolation(LiveRule(each.judge.profile, each.rule.head.name), info.uid)
        for each in verdicts
        for info in each.pods
    }
