"""Clusters that passed all filters, with the values used for selection."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policysched.karmada import objects


@dataclasses.dataclass(frozen=True, slots=True)
class CandidateCluster:
    """A feasible cluster of a binding.

    Attributes:
        cluster: the cluster.
        score: sum of the scores of all plugins and policies.
        overflow_order: 0 for a cluster of the affinity term, n for a cluster of its nth overflow
            affinity.
        room: number of additional replicas that fit, in int32.
        available: `room` plus the binding's current replicas on the cluster.
        votes: weight in the division of replicas, replacing `room`; None unless a policy divides by
            score.
    """

    cluster: objects.Cluster
    score: int
    overflow_order: int
    room: int
    available: int
    votes: int | None = None

    @property
    def name(self) -> str:
        """The name of the cluster."""
        return self.cluster.metadata.name

    @property
    def sort_key(self) -> tuple[int, int, int, str]:
        """The key that sorts the best cluster first; it is unique."""
        return (self.overflow_order, -self.score, -self.available, self.name)
