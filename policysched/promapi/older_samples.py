"""The samples of the time before a start, from a range query: what windows are begun with."""

from __future__ import annotations

import collections
import dataclasses

from policysched.cluster.metrics import metric_windows
from policysched.cluster.objects import node_aliases
from policysched.lang.checked import checked
from policysched.promapi import failures, sample_matrix, series_node_join


@dataclasses.dataclass(frozen=True, slots=True)
class BackfillSamples:
    """What a range query brought.

    Attributes:
        samples: by moment and node.
        counts: how often each rule was needed, at the moment at which it was needed most.
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
    """Find nodes and times of the series, by the rules for instant answers at each moment.

    Args:
        found: what the server said.
        metric: whose query it was.
        names: the nodes that there are.
        behind_seconds: what to add to a time of the server to have ours.
        has_freshness: see `joining.join_matrix`.
    """
    joined = series_node_join.join_matrix(
        found, metric, names, behind_seconds, has_freshness=has_freshness
    )
    samples = metric_windows.OlderSamples(joined.names, joined.times, joined.values)
    joined.counts[failures.QueryIssue.EMPTY] = int(not samples.has_any)
    return BackfillSamples(samples, joined.counts)
