"""The scores that cluster policies give to clusters, and the weights for dividing replicas."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterScores:
    """The scores of the feasible clusters of a binding.

    Attributes:
        points: whole points of each cluster, added to the scores of plugins.
        votes: weights of the division of replicas, in hundredths of points; None unless replicas
            are divided by score.
    """

    points: Sequence[int]
    votes: Sequence[int] | None
