"""What policies need of metrics beyond the newest sample; kept by the cache."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from policysched.cluster import snapshot
from policysched.cluster.metrics import metric_windows


class MetricListener(Protocol):
    """Moves a state of its own whenever a metric is refreshed."""

    @property
    def hysteresis_key(self) -> str:
        """Key of its state in `MetricTable.latches`."""
        ...

    @property
    def metrics(self) -> Collection[str]:
        """Keys of the metrics that it follows."""
        ...

    def on_metric_refreshed(self, snap: snapshot.Snapshot) -> None:
        """Look at the samples as they are now."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class MetricNeeds:
    """What is to be kept.

    Attributes:
        histories: samples behind windows, by key of the metric.
        placed_seconds: for how long just-placed pods count (`cluster.metrics.recent_placements`).
        followers: told of every refresh.
    """

    histories: Mapping[str, metric_windows.HistoryNeed] = dataclasses.field(default_factory=dict)
    placed_seconds: frozenset[float] = frozenset()
    followers: Sequence[MetricListener] = ()
