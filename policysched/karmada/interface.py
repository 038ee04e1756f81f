"""What a plugin of the multi-cluster scheduler is: it filters or scores all clusters at once.

A plugin is made once and asked about many bindings. Plugins of other packages join by the entry
point group `policysched.karmada_plugins`; see docs/karmada.md.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.karmada import objects
    from policysched.karmada.state import snapshot

PASSES = ""
"""The reason of a cluster that a filter lets pass."""

MAX_SCORE = 100


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulingRequest:
    """A binding that wants clusters.

    Attributes:
        binding: the binding as it was read.
        placement: its placement.
        affinity_name: the term of `clusterAffinities` that counts in this attempt; "" without.
    """

    binding: objects.Binding
    placement: objects.Placement
    affinity_name: str

    @property
    def spec(self) -> objects.BindingSpec:
        """The spec of the binding."""
        return self.binding.spec

    @property
    def affinity_term(self) -> objects.ClusterAffinityTerm | None:
        """The term of `clusterAffinities` that counts, if there is one."""
        for term in self.placement.cluster_affinities:
            if term.affinity_name == self.affinity_name:
                return term
        return None


class ClusterPlugin(Protocol):
    """What all plugins have; the name is what `--plugins` calls it."""

    name: str


@runtime_checkable
class ClusterFilterPlugin(ClusterPlugin, Protocol):
    """Says which clusters cannot take a binding."""

    def filter(
        self, request: SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[str]:
        """Return for each of `clusters.clusters` why it cannot, or `PASSES`."""
        ...


@runtime_checkable
class ClusterScorePlugin(ClusterPlugin, Protocol):
    """Says which clusters are better; points are added up over plugins, all with weight 1."""

    def score(
        self, request: SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[int]:
        """Return for each of `clusters.clusters` its points, 0 to `MAX_SCORE`."""
        ...
