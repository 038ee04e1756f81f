"""Exclude violators from moves: by kind, label, limit or disruption budget."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection

from policysched.cluster.objects import disruption_budgets, selectors
from policysched.cluster.pods import pod_shape, workloads
from policysched.extenders import interest, settings

EVICT_LABEL = "policysched.io/audit-evict"
"""The label of pods; the value `never` excludes them."""
_NEVER = "never"
_SYSTEM = "system-"
_KEPT_KINDS = ("DaemonSet", "Job")
"""A DaemonSet creates the pod again on its node. A Job loses the work of the pod, and fails if more
pods are evicted than its `backoffLimit` allows."""


@dataclasses.dataclass(frozen=True, slots=True)
class MoveLimits:
    """The limits of the operator.

    Attributes:
        excluded: selects the labels of pods that are not moved.
        max_moves: maximum number of pods that are moved in one run.
        max_per_workload: maximum number of pods of a workload that are moved in one run.
        moves_system_pods: whether pods of the priority classes `system-…` are moved.
        extenders: HTTP extenders; a simulation does not know their answers.
        scheduler_names: schedulerNames of the pods that are moved; another scheduler would place
            the pods of all others again.
    """

    excluded: selectors.Selector = selectors.NOTHING
    max_moves: int = 20
    max_per_workload: int = 1
    moves_system_pods: bool = False
    extenders: Collection[settings.ExtenderSettings] = ()
    scheduler_names: Collection[str] = ("default-scheduler",)


class MoveExclusions:
    """Decides whether a violator may be moved, while others are moved."""

    def __init__(self, limits: MoveLimits, budgets: disruption_budgets.DisruptionBudgets) -> None:
        """Apply `limits` and the disruption budgets."""
        self._limits = limits
        self._budgets = budgets
        self._moved: Counter[str] = Counter()
        self._disrupted: Counter[tuple[str, str]] = Counter()

    def find_obstacle(self, info: pod_shape.PodInfo) -> str:
        """Return why a pod must not be moved now; "" if it may be."""
        limits, labels = self._limits, info.pod.metadata.labels
        scheduler_name = info.pod.spec.scheduler_name
        if scheduler_name not in limits.scheduler_names:
            return f"no audited profile serves its schedulerName {scheduler_name}"
        workload = workloads.find_workload(info.pod.metadata)
        if workload is None:
            return "the pod has no controller that would create it again"
        if workload.kind in _KEPT_KINDS:
            return f"the pod belongs to a {workload.kind}"
        if labels.get(EVICT_LABEL) == _NEVER:
            return f"the pod has the label {EVICT_LABEL}: {_NEVER}"
        if limits.excluded.matches(labels):
            return "--exclude selects the pod"
        name = info.pod.spec.priority_class_name
        if name.startswith(_SYSTEM) and not limits.moves_system_pods:
            return f"the pod has the priority class {name}"
        if interest.describe_interest(limits.extenders, info.pod):
            return "an HTTP extender decides about the pod, too"
        if self._moved.total() >= limits.max_moves:
            return f"--max-moves {limits.max_moves} is reached"
        if self._moved[workloads.format_workload(info.pod.metadata)] >= limits.max_per_workload:
            return f"--max-per-workload {limits.max_per_workload} is reached"
        return self._find_budget_obstacle(info)

    def note_move(self, info: pod_shape.PodInfo) -> None:
        """Count a pod that is moved."""
        self._change(info, 1)

    def take_back_move(self, info: pod_shape.PodInfo) -> None:
        """Count a pod no longer, because it was not evicted."""
        self._change(info, -1)

    def _change(self, info: pod_shape.PodInfo, change: int) -> None:
        self._moved[workloads.format_workload(info.pod.metadata)] += change
        for budget in self._list_budgets(info):
            self._disrupted[budget.namespace, budget.name] += change

    def _find_budget_obstacle(self, info: pod_shape.PodInfo) -> str:
        """Return the disruption budget that allows no eviction; the API allows one budget."""
        budgets = self._list_budgets(info)
        if len(budgets) > 1:
            return "several disruption budgets select the pod, so it cannot be evicted"
        for budget in budgets:
            left = budget.disruptions_allowed - self._disrupted[budget.namespace, budget.name]
            if left <= 0:
                return f"the disruption budget {budget.name} allows no eviction"
        return ""

    def _list_budgets(self, info: pod_shape.PodInfo) -> list[disruption_budgets.DisruptionBudget]:
        metadata = info.pod.metadata
        known = self._budgets.list_in_namespace(metadata.namespace)
        return [each for each in known if each.eviction_selector.matches(metadata.labels)]
