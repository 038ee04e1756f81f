"""The list of bindings that get no clusters, or other ones than they have, gravest first."""

from __future__ import annotations

import enum
from collections import Counter
from typing import Any

from policysched import clock as clocks
from policysched.karmada import objects
from policysched.karmada.scheduler import triggers
from policysched.offline import binding_sessions, binding_simulating
from policysched.page import binding_page, rejection_counts

_MOST_ROWS = 1000
_MOST_EXPLAINED = 100
_MOST_SECONDS = 3.0


class BindingOutcome(enum.Enum):
    """How the decision about a binding differs from its present clusters, gravest first."""

    NOWHERE = "nowhere"
    """It has no clusters, and gets none."""
    LOSES_ALL = "losesAll"
    """It has clusters, and a new decision gives it none."""
    WAITS = "waits"
    """It has no clusters yet, and gets some."""
    MOVES = "moves"
    """It has clusters, and a new decision gives it other ones, or other replicas."""


_GRAVEST_FIRST = list(BindingOutcome)


class BindingOutcomes:
    """Decides about all bindings, once and for some seconds at a time."""

    def __init__(self, decider: binding_sessions.BindingDecider) -> None:
        """Begin without decisions."""
        self._decider = decider
        self._waiting = decider.simulate_bindings()
        self._found: list[tuple[BindingOutcome, binding_simulating.SimulatedBinding]] = []
        self._decided = 0

    def make_page(self, clock: clocks.Clock) -> dict[str, Any]:
        """Return the bindings that differ; the next call continues after three seconds."""
        self._decide_some(clock)
        found = self._found
        return {
            "total": len(found),
            "pods": [_describe_row(outcome, each) for outcome, each in found[:_MOST_ROWS]],
            **self._count_rejections().describe(),
            "counts": Counter(outcome.value for outcome, _ in found),
            "decided": self._decided,
            "bindings": len(self._decider.plane.bindings),
        }

    def _decide_some(self, clock: clocks.Clock) -> None:
        end_seconds = clock.monotonic_seconds() + _MOST_SECONDS
        while clock.monotonic_seconds() < end_seconds:
            simulated = next(self._waiting, None)
            if simulated is None:
                break
            self._decided += 1
            outcome = _classify(simulated)
            if outcome is not None:
                self._found.append((outcome, simulated))
        self._found.sort(key=lambda each: (_GRAVEST_FIRST.index(each[0]), each[1].binding.key))

    def _count_rejections(self) -> rejection_counts.RejectionCounts:
        """Count the clusters that each filter rejects, over the first bindings that get none."""
        counts = rejection_counts.RejectionCounts()
        failed = [each for _, each in self._found if each.failure is not None]
        for each in failed[:_MOST_EXPLAINED]:
            attempt = binding_page.choose_attempt(self._decider.make_report(each.binding))
            counts.add_funnel(binding_page.make_funnel(attempt["verdicts"], self._decider))
        return counts


def _classify(simulated: binding_simulating.SimulatedBinding) -> BindingOutcome | None:
    """Return how a decision differs from the present clusters; None if it does not."""
    present = simulated.binding.spec.clusters
    if simulated.failure is not None:
        return BindingOutcome.LOSES_ALL if present else BindingOutcome.NOWHERE
    if not present:
        return BindingOutcome.WAITS if simulated.targets else None
    return None if set(simulated.targets) == set(present) else BindingOutcome.MOVES


def _describe_row(
    outcome: BindingOutcome, simulated: binding_simulating.SimulatedBinding
) -> dict[str, Any]:
    binding = simulated.binding
    return {
        "pod": binding.key,
        "priority": binding.spec.priority,
        "profile": triggers.get_scheduler_name(binding),
        "outcome": outcome.value,
        "fits": simulated.failure is None,
        "message": simulated.failure.text if simulated.failure else "",
        "isSuspended": binding.spec.suspension.scheduling,
        "present": _describe_targets(binding.spec.clusters),
        "shares": _describe_targets(simulated.targets),
    }


def _describe_targets(targets: objects.Targets) -> list[dict[str, Any]]:
    return [{"name": each.name, "replicas": each.replicas} for each in targets]
