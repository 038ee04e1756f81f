"""Which bindings without success a change of samples, or of the time, may help.

Karmada tries a binding that fits nowhere again when something else moves it, which nothing does
where a metric was all that kept clusters off it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from policysched.karmada import objects, snapshot
    from policysched.karmada.policies import cluster_policies


@dataclasses.dataclass(frozen=True, slots=True)
class Opening:
    """What cluster policies let a binding do.

    Attributes:
        is_held: whether it waits for a metric (`onOutage hold`).
        passes: whether rules let it go to each cluster, by name.
    """

    is_held: bool
    passes: Mapping[str, bool]

    def has_widened(self, before: Opening) -> bool:
        """Return whether it may do something that it might not before, with the same clusters."""
        if before.is_held and not self.is_held:
            return True
        return any(now and not before.passes.get(name, True) for name, now in self.passes.items())


class Openings:
    """Remembers what policies let bindings do when they were last looked at."""

    def __init__(self) -> None:
        """Start without memory."""
        self._before: dict[str, Opening] = {}

    def is_helped(
        self,
        binding: objects.Binding,
        policies: cluster_policies.ClusterPolicies,
        clusters: snapshot.Snapshot,
    ) -> bool:
        """Look at a binding; return whether policies may let it do more than at the last look.

        One that has not been looked at may have been refused just before things changed.
        """
        before = self._before.get(binding.key)
        now = policies.opening(binding, clusters)
        self._before[binding.key] = now
        return before is None or now.has_widened(before)

    def keep_only(self, keys: set[str]) -> None:
        """Forget all other bindings."""
        self._before = {key: self._before[key] for key in keys & self._before.keys()}

    def clear(self) -> None:
        """Forget everything: there are other policies."""
        self._before.clear()
