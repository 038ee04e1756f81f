"""Which pods have to go from a node so that another fits there, and on which node that hurts least.

Sources: `plugins/defaultpreemption/default_preemption.go` (SelectVictimsOnNode,
filterPodsWithPDBViolation), `framework/preemption/preemption.go` (pickOneNodeForPreemption) and
`util/utils.go` (MoreImportantPod, GetEarliestPodStartTime).
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot, what_if
from policysched.cluster.objects import disruption_budgets, selectors, time_text
from policysched.cluster.pods import pod_shape
from policysched.framework import apart, interface, preemption_limits, row_answers, status
from policysched.plugins import names
from policysched.plugins.kernels import go_sort

NO_VICTIMS = "No preemption victims found for incoming pod"
_LATEST = datetime.datetime.max.replace(tzinfo=datetime.UTC)
_PRIORITY_OFFSET = 2**31
"""Makes priorities positive, so that fewer victims of negative priority are preferred to more."""


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A node that would take the pod if some pods left it.

    Attributes:
        victims: those pods, the most important one first.
        violations: how many of them a disruption budget guards.
    """

    row: int
    victims: tuple[pod_shape.PodInfo, ...]
    violations: int

    @functools.cached_property
    def cost(self) -> tuple[int, int, int, int, float]:
        """What to compare, from the first criterion to the last; less is better.

        Violated budgets, priority of the first victim, sum of priorities, number of victims, and
        how long ago the first of the most important victims started.
        """
        priorities = [victim.shape.priority for victim in self.victims]
        highest = max(priorities)  # not always that of the first: extenders give any order
        started = min(start_time(v) for v in self.victims if v.shape.priority == highest)
        total = sum(priority + _PRIORITY_OFFSET for priority in priorities)
        return self.violations, priorities[0], total, len(priorities), -started.timestamp()


Answer = Candidate | status.Status
"""What became of a row: a candidate, or why it is none."""


class VictimSearch:
    """Looks for victims of one pod on nodes that rejected it."""

    def __init__(
        self,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        refilter: apart.Refilter,
        budgets: disruption_budgets.DisruptionBudgets,
        limits: preemption_limits.PodPreemptionLimits | None = None,
    ) -> None:
        """Look on behalf of `pod`; `budgets` are spared as far as possible.

        Pods that `limits` keep stay on their rows.
        """
        self._priority = pod.shape.priority
        self._snap = snap
        self._refilter = refilter
        self._budgets = Budgets(budgets)
        self._limits = limits
        self._stamp = (budgets.generation, None if limits is None else limits.stamp)

    def on_rows(self, rows: Sequence[int]) -> list[Answer]:
        """Return what becomes of each row; what equal pods have found out still holds."""
        kept: row_answers.RowAnswers[Answer] | None = self._refilter.kept("victims")
        if kept is None:
            return self._search(rows)
        kept.renew(self._stamp)
        snap, nominated_on = self._snap, self._refilter.nominated_on
        found: dict[int, Answer] = {}
        for row in rows:
            known = kept.get(row, snap, nominated_on(row))
            if known is not None:
                found[row] = known
        missing = [row for row in rows if row not in found]
        for row, answer in zip(missing, self._search(missing), strict=True):
            kept.put(row, snap, nominated_on(row), answer)
            found[row] = answer
        return [found[row] for row in rows]

    def _search(self, rows: Sequence[int]) -> list[Answer]:
        if not rows:
            return []
        self._refilter.begin()
        if self._refilter.is_apart:
            return self._on_independent_rows(rows)
        return [answer for row in rows for answer in self._on_independent_rows([row])]

    def _on_independent_rows(self, rows: Sequence[int]) -> list[Answer]:
        """Take rows whose answers do not depend on each other, all in one go."""
        lesser = {row: self._lesser(row) for row in rows}
        none = status.unresolvable("", NO_VICTIMS)
        answers: dict[int, Answer] = dict.fromkeys(rows, none)
        with what_if.WhatIf(self._snap) as world:
            world.remove_pods([(info, row) for row, pods in lesser.items() for info in pods])
            asked = [row for row, pods in lesser.items() if pods]
            refused = self._refused(asked)
            answers.update(refused)
            fitting = {row: lesser[row] for row in asked if row not in refused}
            if self._limits is not None:
                fitting = self._return_kept_pods(world, fitting, self._limits, answers)
            answers.update(self._reprieve(world, fitting))
        return [answers[row] for row in rows]

    def _return_kept_pods(
        self,
        world: what_if.WhatIf,
        lesser: Mapping[int, list[pod_shape.PodInfo]],
        limits: preemption_limits.PodPreemptionLimits,
        answers: dict[int, Answer],
    ) -> dict[int, list[pod_shape.PodInfo]]:
        """Put the pods that `limits` keep back on their rows; return the pods that stay off.

        Rows that do not take the pod beside the kept pods get their answer in `answers`. Only rows
        that take it without them come here: limits add no node to those of preemption.
        """
        keeping = {
            row: [(info, limits.find_keeping_rules(info.shape)) for info in pods]
            for row, pods in lesser.items()
        }
        kept = [(info, row) for row, pods in keeping.items() for info, rules in pods if rules]
        world.add_pods(kept)
        changed = list(dict.fromkeys(row for _, row in kept))
        refused = self._refused(changed)
        for row in refused:
            rules = sorted({rule for _, found in keeping[row] for rule in found})
            reasons = tuple(f"node(s) had pods kept by policy {rule}" for rule in rules)
            answers[row] = status.Status(
                status.Code.UNSCHEDULABLE, reasons, names.DEFAULT_PREEMPTION
            )
        return {
            row: [info for info, rules in pods if not rules]
            for row, pods in keeping.items()
            if row not in refused
        }

    def _lesser(self, row: int) -> list[pod_shape.PodInfo]:
        return [p for p in self._snap.placed.get_pods(row) if p.shape.priority < self._priority]

    def _refused(self, rows: Sequence[int]) -> dict[int, status.Status]:
        """Return which of `rows` do not take the pod as they are now, and why."""
        if not rows:
            return {}
        found = self._refilter.filter(np.array(rows, np.intp))
        refused = np.flatnonzero(found.ids).tolist()
        return {rows[i]: found.statuses[found.ids[i]] for i in refused}

    def _reprieve(
        self, world: what_if.WhatIf, lesser: Mapping[int, list[pod_shape.PodInfo]]
    ) -> dict[int, Answer]:
        """Let as many pods as possible stay: guarded ones first, then the most important ones.

        `lesser` are off their rows; what stays off afterwards are the victims.
        """
        turns = {row: self._budgets.split(most_important_first(p)) for row, p in lesser.items()}
        searches = {row: _Reprieve(*split) for row, split in turns.items()}
        for turn in range(max((len(s.order) for s in searches.values()), default=0)):
            next_pod = {row: s.order[turn] for row, s in searches.items() if turn < len(s.order)}
            world.add_pods([(info, row) for row, info in next_pod.items()])
            refused = self._refused(list(next_pod))
            world.remove_pods([(next_pod[row], row) for row in refused])
            for row in refused:
                searches[row].victims.append(turn)
        return {row: self._answer(row, search) for row, search in searches.items()}

    def _answer(self, row: int, search: _Reprieve) -> Answer:
        if not search.victims:
            name = self._snap.nodes.names[row]
            reason = f'expected at least one victim pod on node "{name}"'
            return status.Status(status.Code.ERROR, (reason,))
        guarded = len(search.guarded)
        victims = [search.order[turn] for turn in search.victims]
        if 0 < guarded < len(search.order):
            victims = most_important_first(victims)
        violations = sum(turn < guarded for turn in search.victims)
        return Candidate(row, tuple(victims), violations)


class _Reprieve:
    """How far the search on one row is: `victims` are turns, indexes into `order`."""

    def __init__(self, guarded: list[pod_shape.PodInfo], others: list[pod_shape.PodInfo]) -> None:
        """Try pods that budgets guard before the others."""
        self.guarded = guarded
        self.order = guarded + others
        self.victims: list[int] = []


class _Guard(NamedTuple):
    """Budgets that count the same pods, of which the least one decides."""

    number: int
    disruptions_allowed: int
    disrupted_pods: frozenset[str]


class Budgets:
    """Tells the pods whose eviction would violate a disruption budget from the others."""

    def __init__(self, budgets: disruption_budgets.DisruptionBudgets) -> None:
        """Go by `budgets` as they are."""
        self._budgets = budgets
        self._guards: dict[str, list[tuple[selectors.Selector, _Guard]]] = {}  # by namespace
        self._by_shape: dict[int, list[_Guard]] = {}

    def split(
        self, pods: Iterable[pod_shape.PodInfo]
    ) -> tuple[list[pod_shape.PodInfo], list[pod_shape.PodInfo]]:
        """Return the pods that some budget could not spare if all were evicted, and the others.

        Earlier pods use up the budgets. Both lists keep the order. Evictions that a budget has
        counted already cost it nothing.
        """
        pods = list(pods)
        if not len(self._budgets):
            return [], pods
        used: dict[tuple[str, int], int] = {}
        guarded: list[pod_shape.PodInfo] = []
        others: list[pod_shape.PodInfo] = []
        for info in pods:
            (guarded if self._is_violated(info, used) else others).append(info)
        return guarded, others

    def _is_violated(self, info: pod_shape.PodInfo, used: dict[tuple[str, int], int]) -> bool:
        is_violated = False
        name, namespace = info.pod.metadata.name, info.shape.namespace
        for guard in self._guarding(info.shape):
            if name not in guard.disrupted_pods:
                key = namespace, guard.number
                count = used[key] = used.get(key, 0) + 1
                is_violated |= count > guard.disruptions_allowed
        return is_violated

    def _guarding(self, shape: pod_shape.PodShape) -> list[_Guard]:
        known = self._by_shape.get(shape.index)
        if known is None:
            candidates = self._in_namespace(shape.namespace) if shape.labels else ()
            known = [guard for selector, guard in candidates if selector.matches(shape.labels)]
            self._by_shape[shape.index] = known
        return known

    def _in_namespace(self, namespace: str) -> list[tuple[selectors.Selector, _Guard]]:
        guards = self._guards.get(namespace)
        if guards is None:
            least: dict[tuple[selectors.Selector, frozenset[str]], int] = {}
            for one in self._budgets.list_in_namespace(namespace):
                key = one.selector, one.disrupted_pods
                least[key] = min(one.disruptions_allowed, least.get(key, one.disruptions_allowed))
            guards = self._guards[namespace] = [
                (selector, _Guard(number, allowed, disrupted))
                for number, ((selector, disrupted), allowed) in enumerate(least.items())
            ]
        return guards


def most_important_first(pods: Sequence[pod_shape.PodInfo]) -> list[pod_shape.PodInfo]:
    """Sort pods by priority, then those that started earlier before others.

    A pod that has not started yet counts as starting when it is looked at, so each such pod is
    taken to be earlier than an equal one that is looked at next. Equals come out as Go sorts them.
    """
    keys = [(-info.shape.priority, start_time(info)) for info in pods]
    if len(set(keys)) == len(keys):
        return [pods[number] for number in sorted(range(len(pods)), key=keys.__getitem__)]

    def is_more_important(one: int, other: int) -> bool:
        return keys[one] < keys[other] if keys[one] != keys[other] else keys[one][1] is _LATEST

    return [pods[number] for number in go_sort.ordered(range(len(pods)), is_more_important)]


def start_time(info: pod_shape.PodInfo) -> datetime.datetime:
    """Return when a pod started; the end of time for one that has not yet."""
    text = info.pod.status.start_time
    return _LATEST if text is None else _parsed(text)


@functools.lru_cache(maxsize=65_536)
def _parsed(text: str) -> datetime.datetime:
    return time_text.parse_rfc3339(text) or _LATEST


def cheapest(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that hurt least; several when no criterion tells them apart."""
    costs = [candidate.cost for candidate in candidates]
    least = min(costs)
    return [c for c, cost in zip(candidates, costs, strict=True) if cost == least]


def potential_rows(diagnosis: interface.Diagnosis, snap: snapshot.Snapshot) -> npt.NDArray[np.intp]:
    """Return intp (n,): the nodes that might take the pod if others left them.

    Where removing pods cannot help, plugins have answered UNSCHEDULABLE_AND_UNRESOLVABLE.
    """
    resolvable = status.Code.UNSCHEDULABLE
    if diagnosis.pre_filter is not None:
        everywhere = diagnosis.pre_filter.code is resolvable
        return np.flatnonzero(snap.is_alive) if everywhere else np.zeros(0, np.intp)
    may_help = np.array([s.code is resolvable for s in diagnosis.statuses])
    return np.flatnonzero(may_help[diagnosis.ids] & snap.is_alive)
