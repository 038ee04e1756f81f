"""Clusters that passed all filters, with what choosing among them looks at."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policysched.karmada import objects


@dataclasses.dataclass(frozen=True, slots=True)
class CandidateCluster:
    """A cluster that a binding may go to.

    Attributes:
        cluster: the cluster.
        score: the points of all plugins together.
        overflow_order: 0 where the affinity means the cluster, n where its nth overflow does.
        room: replicas that still fit, in int32.
        available: `room` and the replicas of the binding that are there already.
        votes: what replicas are divided by instead of room; None where nothing says so.
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
        """What sorts the best first; no two clusters are equal in it."""
        return (self.overflow_order, -self.score, -self.available, self.name)
