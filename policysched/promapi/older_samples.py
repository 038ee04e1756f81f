"""Samples from before the start, fetched with a range query to fill windows."""

from __future__ import annotations

import collections
import dataclasses

from policysched.cluster.metrics import metric_windows
from policysched.cluster.objects import node_aliases
from policysched.lang.checked import checked
from policysched.promapi import failures, sample_matrix, series_node_join


@dataclasses.dataclass(frozen=True, slots=True)
class BackfillSamples:
    """The older samples of one metric, joined with nodes.

    Attributes:
        samples: one entry for each time and node.
        counts: for each rule of docs/metrics.md, its largest count at any one timestamp.
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
    """Join series with nodes, applying the rules for instant answers at each time.

    Args:
        found: the decoded answer.
        metric: the metric that the query belongs to.
        names: the index of the current nodes.
        behind_seconds: number to add to a time of the server to get the local time.
        has_freshness: whether the query asked for measurement times.
    """
    joined = series_node_join.join_matrix(
        found, metric, names, behind_seconds, has_freshness=has_freshness
    )
    samples = metric_windows.OlderSamples(joined.names, joined.times, joined.values)
    joined.counts[failures.QueryIssue.EMPTY] = int(not samples.has_any)
    return BackfillSamples(samples, joined.counts)
