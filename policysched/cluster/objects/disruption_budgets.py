"""Store PodDisruptionBudgets, which limit the pods that preemption evicts."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator

from policysched.cluster.objects import objects, selectors, wire


class BudgetSpec(wire.WireStruct, frozen=True):
    """`spec` of a PodDisruptionBudget."""

    selector: objects.LabelSelector | None = None


class BudgetStatus(wire.WireStruct, frozen=True):
    """`status` of a PodDisruptionBudget; `disrupted_pods` maps pod names to eviction times."""

    disruptions_allowed: wire.Int32 = 0
    disrupted_pods: dict[str, str | None] = {}


class PodDisruptionBudget(wire.WireStruct, frozen=True):
    """A policy/v1 PodDisruptionBudget."""

    metadata: objects.ObjectMeta
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


@dataclasses.dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A PodDisruptionBudget in the form that preemption reads.

    Attributes:
        selector: selects the protected pods. An absent, empty or invalid selector protects none
            (`defaultpreemption/default_preemption.go`, filterPodsWithPDBViolation).
        eviction_selector: selects the pods as the Eviction API does: an empty selector selects all.
        disruptions_allowed: number of protected pods that can currently be evicted.
        disrupted_pods: names of pods whose eviction is already counted.
    """

    namespace: str
    name: str
    selector: selectors.Selector
    eviction_selector: selectors.Selector
    disruptions_allowed: int
    disrupted_pods: frozenset[str]


class DisruptionBudgets:
    """All PodDisruptionBudgets, updated by watch events.

    Attributes:
        generation: number that increases with every change.
    """

    def __init__(self) -> None:
        """Start without budgets."""
        self.generation = 0
        self._by_namespace: dict[str, dict[str, DisruptionBudget]] = {}

    def __len__(self) -> int:
        """Return the number of budgets."""
        return sum(len(by_name) for by_name in self._by_namespace.values())

    def __iter__(self) -> Iterator[DisruptionBudget]:
        """Iterate over all budgets; the collection must not change during the iteration."""
        return (budget for by_name in self._by_namespace.values() for budget in by_name.values())

    def get(self, namespace: str, name: str) -> DisruptionBudget | None:
        """Return the budget with this name, or None."""
        return self._by_namespace.get(namespace, {}).get(name)

    def list_in_namespace(self, namespace: str) -> Collection[DisruptionBudget]:
        """Return the budgets of a namespace, which protect only pods of this namespace."""
        return tuple(self._by_namespace.get(namespace, {}).values())

    def set(self, budget: PodDisruptionBudget) -> None:
        """Add or replace a budget."""
        meta = budget.metadata
        by_name = self._by_namespace.setdefault(meta.namespace, {})
        by_name[meta.name] = DisruptionBudget(
            namespace=meta.namespace,
            name=meta.name,
            selector=_make_protected_pod_selector(budget.spec.selector),
            eviction_selector=selectors.from_label_selector(budget.spec.selector),
            disruptions_allowed=budget.status.disruptions_allowed,
            disrupted_pods=frozenset(budget.status.disrupted_pods),
        )
        self.generation += 1

    def remove(self, namespace: str, name: str) -> bool:
        """Remove a budget; return False if it is unknown."""
        by_name = self._by_namespace.get(namespace, {})
        if name not in by_name:
            return False
        del by_name[name]
        if not by_name:
            del self._by_namespace[namespace]
        self.generation += 1
        return True


def _make_protected_pod_selector(selector: objects.LabelSelector | None) -> selectors.Selector:
    found = selectors.from_label_selector(selector)
    return selectors.NOTHING if found == selectors.EVERYTHING else found
