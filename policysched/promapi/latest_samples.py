"""The last sample of each node, which stays, and ages, until a newer one arrives.

If an answer lacks a node, or a query fails, the sample does not change immediately. It counts as
missing when it is older than the metric's maxAge; readers check the age of each sample. Thus a lack
of data never makes a node appear idle.
"""

from __future__ import annotations

from policysched.cluster.metrics import metric_table
from policysched.cluster.objects import node_aliases
from policysched.promapi import series_node_join

_SAME_SCRAPE_SECONDS = 1.0
"""Tolerance for times of one scrape: durations of queries and clock estimates vary."""

_FUTURE_SECONDS = 1.0
"""Tolerance for times in the future: clock corrections below this are normal."""


class LatestSamples:
    """The samples of one metric; one thread changes them, any thread may read them."""

    def __init__(self) -> None:
        """Start without samples."""
        self._samples: dict[str, metric_table.Sample] = {}
        self._published: dict[str, metric_table.Sample] = {}
        self._uids: dict[str, str | None] = {}
        self._timed: set[str] = set()
        self._stale: set[str] = set()

    @property
    def samples(self) -> dict[str, metric_table.Sample]:
        """The last sample of each node; a returned mapping does not change any more."""
        return self._published

    def set_times_back(self, seconds: float) -> None:
        """Move all times back after our clock was set back by these seconds."""
        self._samples = {
            node: metric_table.Sample(each.value, each.measured_at_seconds - seconds)
            for node, each in self._samples.items()
        }
        self._published = dict(self._samples)

    def update_samples(
        self,
        joined: series_node_join.NodeSamples,
        names: node_aliases.NodeAliasIndex,
        now_seconds: float,
        max_age_seconds: float,
    ) -> None:
        """Process an answer; `now_seconds` is seconds since 1970 on our clock.

        - Kept samples from the future are dropped: our clock was set back, and no sample would be
          newer.
        - A node with a sample gets it, unless its kept sample was measured later.
        - A node that the answer names without a usable value loses its sample.
        - Nodes that the answer does not name keep their samples while they are the same node, by
          uid.
        - A node that is known to be stale stays stale until an answer with times shows the
          opposite.
        """
        for node in [node for node, uid in self._uids.items() if names.get_node_uid(node) != uid]:
            self._forget_node(node)
        latest = now_seconds + _FUTURE_SECONDS
        for node in [n for n, each in self._samples.items() if each.measured_at_seconds > latest]:
            self._forget_node(node)
        for node in joined.without_value:
            self._drop_sample(node)
        self._note_stale(joined, names)
        oldest = now_seconds - max_age_seconds
        for node, sample in joined.samples.items():
            if not joined.is_timed and self._is_known_stale(node, oldest):
                continue
            kept = self._samples.get(node)
            self._samples[node] = sample if kept is None else _choose_newer_sample(kept, sample)
            self._uids[node] = names.get_node_uid(node)
            if joined.is_timed:
                self._timed.add(node)
            else:
                self._timed.discard(node)
        self._published = dict(self._samples)

    def _note_stale(
        self, joined: series_node_join.NodeSamples, names: node_aliases.NodeAliasIndex
    ) -> None:
        if joined.is_timed:
            self._stale -= joined.samples.keys()
            self._stale |= joined.stale
            self._uids.update({node: names.get_node_uid(node) for node in joined.stale})

    def _is_known_stale(self, node: str, oldest_seconds: float) -> bool:
        is_old = node in self._timed and self._samples[node].measured_at_seconds < oldest_seconds
        return is_old or node in self._stale

    def _drop_sample(self, node: str) -> None:
        self._samples.pop(node, None)
        self._timed.discard(node)

    def _forget_node(self, node: str) -> None:
        self._drop_sample(node)
        self._stale.discard(node)
        self._uids.pop(node, None)


def _choose_newer_sample(
    kept: metric_table.Sample, new: metric_table.Sample
) -> metric_table.Sample:
    """Return the newer sample; within one scrape, the new value with the newer time."""
    kept_for_seconds = kept.measured_at_seconds - new.measured_at_seconds
    if kept_for_seconds <= 0:
        return new
    if kept_for_seconds <= _SAME_SCRAPE_SECONDS:
        return metric_table.Sample(new.value, kept.measured_at_seconds)
    return kept
