"""Replay the past samples of metrics in a cluster."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from policysched.cluster import snapshot
from policysched.offline import metric_histories, offline_cluster


def find_start(
    histories: Iterable[metric_histories.MetricHistory], times: metric_histories.HistoryTimes
) -> datetime.datetime:
    """Return the time of the first step, or the beginning of the history without metrics."""
    first_seconds = min((each.at_seconds[0] for each in histories), default=times.first_seconds)
    return times.end - datetime.timedelta(seconds=times.end_seconds - first_seconds)


class _Step(NamedTuple):
    """A step of a history; `is_observed` is false before the time that is replayed."""

    at_seconds: float
    history: metric_histories.MetricHistory
    place: int
    is_observed: bool


def replay_samples(
    cluster: offline_cluster.OfflineCluster,
    histories: Sequence[metric_histories.MetricHistory],
    times: metric_histories.HistoryTimes,
    observe: Callable[[snapshot.Snapshot, Collection[str]], None] = lambda *_: None,
) -> None:
    """Refresh the metrics of a cluster at each step in `times`, up to the end.

    The clock of the cluster moves with the samples. After the steps at a time, `observe` is called
    with the state and the keys of their metrics; at the end, with all keys. Each metric begins with
    its last step before the time.
    """
    steps = sorted(_list_steps(histories, times), key=lambda step: step.at_seconds)
    is_begun = False
    for at_seconds, at_once in itertools.groupby(steps, key=lambda step: step.at_seconds):
        _advance_clock(cluster, at_seconds)
        keys = set()
        for step in at_once:
            if step.is_observed:
                keys.add(step.history.key)
                if not is_begun:
                    # Windows were incomplete before.
                    cluster.cache.metrics.hysteresis.begin_unknown(cluster.cache.nodes.names)
                    is_begun = True
            samples = step.history.get_samples(step.place)
            if samples:  # otherwise, as for `run`, the last ones are kept and age
                cluster.cache.metrics.refresh(step.history.key, samples)
        if keys and at_seconds < times.end_seconds:
            cluster.cache.expire_samples()
            observe(cluster.cache.snapshot(), keys)
    _advance_clock(cluster, times.end_seconds)
    cluster.cache.expire_samples()
    observe(cluster.cache.snapshot(), {each.key for each in histories})


def _list_steps(
    histories: Sequence[metric_histories.MetricHistory], times: metric_histories.HistoryTimes
) -> Iterator[_Step]:
    for history in histories:
        window_seconds = times.window_seconds.get(history.key, 0.0)
        first = history.find_last_step(times.first_seconds - window_seconds)
        observed = history.find_last_step(times.first_seconds)
        for place in range(first, len(history.at_seconds)):
            at_seconds = history.at_seconds[place]
            if at_seconds <= times.end_seconds:
                yield _Step(at_seconds, history, place, place >= observed)


def _advance_clock(cluster: offline_cluster.OfflineCluster, to_seconds: float) -> None:
    cluster.clock.advance(max(0.0, to_seconds - cluster.clock.now().timestamp()))
