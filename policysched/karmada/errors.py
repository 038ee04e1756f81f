"""Why a binding gets no clusters: expected outcomes, so values and not exceptions.

Source of kinds and texts: Karmada v1.18.2 `pkg/scheduler/framework/types.go`.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind: TypeAlias = Literal["fit", "unschedulable", "other"]


@dataclasses.dataclass(frozen=True, slots=True)
class PlacementFailure:
    """Why an attempt ended without clusters.

    Attributes:
        kind: `fit`: no cluster passes; clears what was there and waits for a change.
            `unschedulable`: no room; keeps what is there and is tried again. `other`: the same.
        text: what condition and event say.
        is_held: whether a cluster policy waits for a metric, and nothing was decided.
    """

    kind: Kind
    text: str
    is_held: bool = False

    def with_step_prefix(self, step: str) -> PlacementFailure:
        """Return the failure as the step tells it, which failed because of it."""
        return dataclasses.replace(self, text=f"{step}: {self.text}")


def make_no_fit_failure(all_count: int, reasons: Iterable[str]) -> PlacementFailure:
    """Return the failure of a binding that no cluster can take, with the reasons counted."""
    counted = collections.Counter(reasons)
    said = ", ".join(sorted(f"{count} {reason}" for reason, count in counted.items()))
    told = said if all_count and counted else "no cluster exists"
    return PlacementFailure("fit", f"0/{all_count} clusters are available: {told}.")
