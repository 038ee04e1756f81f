"""Computes the target clusters of all bindings offline, for `karmada simulate`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from policysched import errors as policysched_errors
from policysched.karmada import errors
from policysched.karmada.state import snapshot
from policysched.karmada.steps import binding_decision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from policysched.inputs import karmada_file
    from policysched.karmada import objects
    from policysched.karmada.steps import algorithm


@dataclasses.dataclass(frozen=True, slots=True)
class SimulatedBinding:
    """A binding and its simulated decision."""

    binding: objects.Binding
    decision: binding_decision.BindingDecision

    @property
    def failure(self) -> errors.PlacementFailure | None:
        """The reason why the binding has no target clusters; None if it has some."""
        result = self.decision.result
        return result if isinstance(result, errors.PlacementFailure) else None

    @property
    def targets(self) -> objects.Targets:
        """The target clusters of the binding; empty if it has none."""
        result = self.decision.result
        return () if isinstance(result, errors.PlacementFailure) else result

    def as_json(self) -> dict[str, Any]:
        """Return the result in the form of schemas/karmada-simulate.schema.json."""
        failure = self.failure
        return {
            "binding": self.binding.key,
            "clusters": [{"name": each.name, "replicas": each.replicas} for each in self.targets],
            "errorKind": failure.kind if failure else "",
            "error": failure.text if failure else "",
            "observedAffinity": self.decision.observed_affinity,
        }


def simulate_bindings(
    algorithm: algorithm.BindingAlgorithm, plane: karmada_file.KarmadaControlPlane
) -> Iterator[SimulatedBinding]:
    """Yield the decision for each binding as if it were scheduled now, in the order of the file.

    Each binding is considered alone: capacities are those that member clusters reported, and no
    decision changes them. If a plugin fails, only the affected binding fails, as in a running
    scheduler.
    """
    clusters = snapshot.make_snapshot(plane.clusters, plane.bindings)
    for binding in plane.bindings:
        try:
            decision = binding_decision.decide_binding(algorithm, binding, clusters)
        except policysched_errors.PluginFailure as error:
            former = binding.status.scheduler_observing_affinity_name
            decision = binding_decision.BindingDecision(
                errors.PlacementFailure("other", str(error)), former
            )
        yield SimulatedBinding(binding, decision)
