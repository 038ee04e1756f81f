"""What the cache has to keep for compiled policies, and when their metrics next change by time."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from policysched.cluster import metric_needs, snapshot
from policysched.cluster.metrics import metric_windows
from policysched.compiler import metric_parts
from policysched.compiler.rules import reject
from policysched.framework import interface
from policysched.lang.checked import checked


def of(
    parts: metric_parts.MetricParts, plugins: Iterable[interface.Plugin]
) -> metric_needs.MetricNeeds:
    """Return what is needed for rules that were made of `parts`."""
    histories: dict[str, metric_windows.HistoryNeed] = {}
    for samples in parts.in_use():
        if samples.window is not None:
            key, seconds = samples.metric.key, samples.window.seconds
            longest = max(seconds, histories[key].seconds) if key in histories else seconds
            histories[key] = _history(samples.metric, longest)
    followers = [
        plugin.hysteresis
        for plugin in plugins
        if isinstance(plugin, reject.Reject) and plugin.hysteresis is not None
    ]
    return metric_needs.MetricNeeds(histories, parts.placed_seconds(), followers)


def both(
    one: metric_needs.MetricNeeds, other: metric_needs.MetricNeeds
) -> metric_needs.MetricNeeds:
    """Return what serves both: the longer history of each metric."""
    histories = dict(one.histories)
    for key, need in other.histories.items():
        if key not in histories or histories[key].seconds < need.seconds:
            histories[key] = need
    return metric_needs.MetricNeeds(
        histories,
        one.placed_seconds | other.placed_seconds,
        (*one.followers, *other.followers),
    )


def _history(metric: checked.CheckedMetric, seconds: float) -> metric_windows.HistoryNeed:
    return metric_windows.HistoryNeed(
        seconds, metric.max_age_seconds, metric.refresh_seconds, metric.low, metric.high
    )


def next_change(
    parts: metric_parts.MetricParts, snap: snapshot.Snapshot
) -> datetime.datetime | None:
    """Return when a sample next turns stale, or a just-placed pod ceases to count."""
    moments = [samples.current(snap).valid_until for samples in parts.in_use()]
    end_seconds = snap.placed.recent.next_change_seconds()
    if end_seconds is not None:
        moments.append(datetime.datetime.fromtimestamp(end_seconds, datetime.UTC))
    return min((moment for moment in moments if moment is not None), default=None)
