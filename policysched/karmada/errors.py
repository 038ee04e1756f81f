"""Failures to place a binding; they are expected outcomes, and therefore not exceptions.

Source of the kinds and texts: Karmada v1.18.2 `pkg/scheduler/framework/types.go`.
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
    """The reason why an attempt ended without clusters.

    Attributes:
        kind: `fit`: no cluster passes the filters; the current clusters are removed, and the
            binding waits for a change. `unschedulable`: not enough available replicas; the current
            clusters stay, and the binding is retried. `other`: handled like `unschedulable`.
        text: message of the condition and the event.
        is_held: whether the decision was postponed because a cluster policy waits for a metric.
    """

    kind: Kind
    text: str
    is_held: bool = False

    def add_step_prefix(self, step: str) -> PlacementFailure:
        """Return the failure with its text prefixed by the name of the failed step."""
        return dataclasses.replace(self, text=f"{step}: {self.text}")


def make_no_fit_failure(all_count: int, reasons: Iterable[str]) -> PlacementFailure:
    """Return the failure of a binding that fits no cluster; the text counts clusters by reason."""
    counted = collections.Counter(reasons)
    said = ", ".join(sorted(f"{count} {reason}" for reason, count in counted.items()))
    told = said if all_count and counted else "no cluster exists"
    return PlacementFailure("fit", f"0/{all_count} clusters are available: {told}.")
