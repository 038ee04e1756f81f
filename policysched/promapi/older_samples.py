"""The samples before a start, from a range query, with which windows begin."""

from __future__ import annotations

import collections
import dataclasses

from policysched.cluster.metrics import metric_windows
from policysched.cluster.objects import node_aliases
from policysched.lang.checked import checked
from policysched.promapi import failures, sample_matrix, series_node_join


@dataclasses.dataclass(frozen=True, slots=True)
class BackfillSamples:
    """The result of a range query.

    Attributes:
        samples: by time and node.
        counts: how often each rule applied, at the time at which it applied most often.
    """

    samples: metric_windows.OlderSamples
    counts: collections.Counter[failures.QueryIssue]


def join_range_answer(
    found: sample_matrix.SampleMatrix,
    metric: checked.CheckedMetric,
    names: node_aliases.NodeAliasIndex,
    behind_seconds: float,
    *,
    has_freshness: bool,
) -> BackfillSamples:
    """Find nodes and times of the series, by the rules for instant answers at each time.

    Args:
        found: the answer.
        metric: the metric of the query.
        names: the index of the current nodes.
        behind_seconds: offset from a time of the server to our clock.
        has_freshness: see `series_node_join.join_matrix`.
    """
    joined = series_node_join.join_matrix(
        found, metric, names, behind_seconds, has_freshness=has_freshness
    )
    samples = metric_windows.OlderSamples(joined.names, joined.times, joined.values)
    joined.counts[failures.QueryIssue.EMPTY] = int(not samples.has_any)
    return BackfillSamples(samples, joined.counts)
