"""The plugin interface of the multi-cluster scheduler: filter or score all clusters in one call.

A plugin is created once and called for many bindings. Other packages can provide plugins through
the entry point group `policysched.karmada_plugins`; see docs/karmada.md.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.karmada import objects
    from policysched.karmada.state import snapshot

PASSES = ""
"""What a filter returns, instead of a reason, for a cluster that passes."""

MAX_SCORE = 100


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulingRequest:
    """A binding that needs clusters.

    Attributes:
        binding: the binding as it was read.
        placement: the placement, completed by cluster policies.
        affinity_name: name of the term of `clusterAffinities` that this attempt uses; without
            terms, the name in the binding's status.
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
        """The term of `clusterAffinities` that this attempt uses, or None without terms."""
        for term in self.placement.cluster_affinities:
            if term.affinity_name == self.affinity_name:
                return term
        return None


class ClusterPlugin(Protocol):
    """The base of all plugins; `--plugins` refers to a plugin by its `name`."""

    name: str


@runtime_checkable
class ClusterFilterPlugin(ClusterPlugin, Protocol):
    """A plugin that excludes clusters."""

    def filter(
        self, request: SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[str]:
        """Return `PASSES`, or the reason for exclusion, for each of `clusters.clusters`."""
        ...


@runtime_checkable
class ClusterScorePlugin(ClusterPlugin, Protocol):
    """A plugin that scores clusters; the scores of all plugins are summed with weight 1."""

    def score(
        self, request: SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[int]:
        """Return a score for each of `clusters.clusters`, from 0 to `MAX_SCORE`."""
        ...
