"""Describe the metric data that policies need beyond the newest samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from policysched.cluster import snapshot
from policysched.cluster.metrics import metric_windows


class MetricListener(Protocol):
    """Updates its state whenever one of its metrics is refreshed."""

    @property
    def hysteresis_key(self) -> str:
        """Key of its state in `MetricTable.hysteresis`."""
        ...

    @property
    def metrics(self) -> Collection[str]:
        """Keys of the metrics that it reads."""
        ...

    def on_metric_refreshed(self, snap: snapshot.Snapshot) -> None:
        """Update the state from the current samples."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class MetricNeeds:
    """Metric data that the cache must keep.

    Attributes:
        histories: metric key → past samples that windows need.
        placed_seconds: durations for which recent placements count
            (`cluster.metrics.recent_placements`).
        followers: listeners that are notified of every refresh of their metrics.
    """

    histories: Mapping[str, metric_windows.HistoryNeed] = dataclasses.field(default_factory=dict)
    placed_seconds: frozenset[float] = frozenset()
    followers: Sequence[MetricListener] = ()


def join_needs(first: MetricNeeds, second: MetricNeeds) -> MetricNeeds:
    """Return the needs of both; of two histories of one metric, the longer one."""
    histories = dict(first.histories)
    for key, need in second.histories.items():
        known = histories.get(key)
        if known is None or known.seconds < need.seconds:
            histories[key] = need
    return MetricNeeds(
        histories,
        first.placed_seconds | second.placed_seconds,
        tuple(
            {each.hysteresis_key: each for each in (*first.followers, *second.followers)}.values()
        ),
    )
