"""The last sample of each node, which is kept and ages until a newer sample arrives.

If an answer lacks a node, or a query fails, the node's sample does not change immediately. Readers
check the age of each sample, and treat it as missing once it is older than the metric's maxAge. A
lack of data therefore never makes a node appear idle.
"""

from __future__ import annotations

from policysched.cluster.metrics import metric_table
from policysched.cluster.objects import node_aliases
from policysched.promapi import series_node_join

_SAME_SCRAPE_SECONDS = 1.0
"""Seconds by which times of one scrape can differ: query durations and clock estimates vary."""

_FUTURE_SECONDS = 1.0
"""Seconds by which a sample can be in the future: smaller clock corrections are routine."""


class LatestSamples:
    """The samples of one metric; one thread changes them, any thread can read them."""

    def __init__(self) -> None:
        """Start without samples."""
        self._samples: dict[str, metric_table.Sample] = {}
        self._published: dict[str, metric_table.Sample] = {}
        self._uids: dict[str, str | None] = {}
        self._timed: set[str] = set()
        self._stale: set[str] = set()

    @property
    def samples(self) -> dict[str, metric_table.Sample]:
        """The last sample of each node, keyed by node name; a returned mapping never changes."""
        return self._published

    def shift_times_back(self, seconds: float) -> None:
        """Move all measurement times back, after the local clock was set back by `seconds`."""
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
        """Merge an answer into the kept samples; `now_seconds` is local time in seconds since 1970.

        - Kept samples from the future are dropped: the local clock was set back, and no new sample
          would replace them.
        - A sample in the answer replaces the node's kept sample, unless the kept one comes from a
          later scrape.
        - A node that the answer names without a usable value loses its sample.
        - A node that the answer does not name keeps its sample while the node's uid stays the
          same.
        - If answers with measurement times have shown that a node's sample is stale, only another
          answer with times replaces it.
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
    """Return the newer sample; for the same scrape, combine the new value with the later time."""
    kept_for_seconds = kept.measured_at_seconds - new.measured_at_seconds
    if kept_for_seconds <= 0:
        return new
    if kept_for_seconds <= _SAME_SCRAPE_SECONDS:
        return metric_table.Sample(new.value, kept.measured_at_seconds)
    return kept
