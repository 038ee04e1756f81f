"""What cluster policies let a binding do, and whether that has become more.

Karmada tries a binding that fits nowhere again when something else moves it, which nothing does
where a metric was all that kept clusters off it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclasses.dataclass(frozen=True, slots=True)
class PermittedClusters:
    """What cluster policies let a binding do at one moment.

    Attributes:
        is_held: whether it waits for a metric (`onOutage hold`).
        names: of the clusters.
        passes: a byte for each of them, 1 where all rules let the binding go there.
    """

    is_held: bool
    names: tuple[str, ...]
    passes: bytes

    def permits_more_than(self, before: PermittedClusters) -> bool:
        """Return whether more is let than before, with clusters that there were then, too."""
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
