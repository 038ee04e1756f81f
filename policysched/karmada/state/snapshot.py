"""The member clusters at one moment, as plugins and the estimator see them."""

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
    """All clusters, sorted by name, and answers about them that equal bindings share.

    Attributes:
        clusters: those that may be chosen: a cluster that is being deleted is none of them.
        all_count: how many there are with those that are being deleted.
        bindings: other bindings, for what depends on where they are.
        estimated: what the estimators of clusters have said of the one binding that is decided;
            None where they are not asked.
    """

    clusters: Sequence[objects.Cluster]
    all_count: int
    bindings: Sequence[objects.Binding] = ()
    estimated: estimates.Answers | None = None
    _kept: dict[Hashable, Any] = dataclasses.field(default_factory=dict)

    def memoize(self, key: Hashable, compute: Callable[[], _T]) -> _T:
        """Return the answer that was computed for the key, or compute it."""
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
