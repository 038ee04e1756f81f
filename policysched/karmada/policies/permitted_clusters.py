"""Determine whether policies permit more clusters for a binding than at its last attempt.

Karmada retries a binding that fits no cluster only after an event. If clusters were excluded only
because of a metric, there is not always such an event.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclasses.dataclass(frozen=True, slots=True)
class PermittedClusters:
    """The clusters that cluster policies permit for a binding at a given moment.

    Attributes:
        is_held: whether the binding waits for a metric (`onOutage hold`).
        names: names of the clusters.
        passes: one byte for each name, 1 if all rules permit the cluster.
    """

    is_held: bool
    names: tuple[str, ...]
    passes: bytes

    def permits_more_than(self, before: PermittedClusters) -> bool:
        """Return whether a hold has ended or a cluster that existed before is newly permitted."""
        if before.is_held and not self.is_held:
            return True
        return any(now > was for was, now in self._pair_passes_of_common_clusters(before))

    def _pair_passes_of_common_clusters(
        self, before: PermittedClusters
    ) -> Iterable[tuple[int, int]]:
        if self.names == before.names:
            return zip(before.passes, self.passes, strict=True)
        was = dict(zip(before.names, before.passes, strict=True))
        now = zip(self.names, self.passes, strict=True)
        return ((was[name], passes) for name, passes in now if name in was)
