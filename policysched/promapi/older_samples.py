"""The samples of the time before a start, from a range query: what windows are begun with."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import re
from collections.abc import Sequence

from policysched.cluster import metric_table, node_names
from policysched.lang import checked
from policysched.promapi import answers, failures, joining

_DEPENDS_ON_RANGE = re.compile(r"@\s*(start|end)\s*\(")


@dataclasses.dataclass(slots=True)
class OlderSamples:
    """What a range query brought.

    Attributes:
        by_node: samples by time, each scrape once.
        counts: how often each rule was needed, at the moment at which it was needed most.
    """

    by_node: dict[str, list[metric_table.Sample]]
    counts: collections.Counter[failures.Cause]


def depends_on_range(promql: str) -> bool:
    """Return whether a query means something else as part of a range query."""
    return _DEPENDS_ON_RANGE.search(promql) is not None


async def join(
    found: Sequence[answers.Answer],
    metric: checked.CheckedMetric,
    names: node_names.NodeNames,
    behind_seconds: float,
    *,
    has_freshness: bool,
) -> OlderSamples:
    """Find nodes and times of the series at each moment, by the rules for instant answers.

    Others have their turn after each moment: together they may be a hundred refreshes. A scrape
    that was the last one at several moments is one sample, with its value at the first of them.

    Args:
        found: answers, oldest first.
        metric: whose query it was.
        names: the nodes that there are.
        behind_seconds: what to add to a time of the server to have ours.
        has_freshness: see `joining.join`.
    """
    older = OlderSamples({}, collections.Counter())
    for answer in found:
        at_seconds = (answer.evaluated_at_seconds or 0.0) + behind_seconds
        joined = joining.join(answer, metric, names, at_seconds, has_freshness=has_freshness)
        older.counts |= joined.counts
        for node, sample in joined.samples.items():
            known = older.by_node.setdefault(node, [])
            if not known or sample.measured_at_seconds > known[-1].measured_at_seconds:
                known.append(sample)
        await asyncio.sleep(0)
    older.counts[failures.Cause.EMPTY] = int(not older.by_node)
    return older
