"""What the scores of cluster policies come to."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterScores:
    """What scores say of the feasible clusters of a binding.

    Attributes:
        points: whole points of each, to be added to those of the plugins.
        votes: what replicas are divided by, in hundredths of points; None unless they are divided
            by score.
    """

    points: Sequence[int]
    votes: Sequence[int] | None
