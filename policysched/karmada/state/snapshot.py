"""The member clusters at a point in time, as the input of plugins and capacity estimates."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from policysched.karmada import objects
    from policysched.karmada.state import estimates

_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class ControlPlaneSnapshot:
    """All clusters, ordered by name, and a cache of results that identical bindings share.

    Attributes:
        clusters: the clusters that are not being deleted.
        all_count: number of clusters, including clusters that are being deleted.
        bindings: other bindings, for plugins that depend on their clusters.
        estimated: the answers of estimators about the binding of the decision; None if estimators
            are not used.
    """

    clusters: Sequence[objects.Cluster]
    all_count: int
    bindings: Sequence[objects.Binding] = ()
    estimated: estimates.Answers | None = None
    _kept: dict[Hashable, Any] = dataclasses.field(default_factory=dict)

    def memoize(self, key: Hashable, compute: Callable[[], _T]) -> _T:
        """Return the cached result for the key; compute it on the first call.

        Copies of a snapshot share the cache even if their `bindings` or `estimated` differ, so the
        result must depend only on `clusters` and `key`.
        """
        if key not in self._kept:
            self._kept[key] = compute()
        kept: _T = self._kept[key]
        return kept


def make_snapshot(
    clusters: Sequence[objects.Cluster], bindings: Sequence[objects.Binding] = ()
) -> ControlPlaneSnapshot:
    """Return the snapshot of these clusters."""
    living = [c for c in clusters if c.metadata.deletion_timestamp is None]
    living.sort(key=lambda cluster: cluster.metadata.name)
    return ControlPlaneSnapshot(tuple(living), len(clusters), tuple(bindings))
