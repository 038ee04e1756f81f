"""Series to nodes: the value of the declared label says which node a series is about."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Iterable

from policysched.cluster import metric_table, node_names
from policysched.lang import checked
from policysched.promapi import answers, failures

_Cause = failures.Cause


@dataclasses.dataclass(slots=True)
class Joined:
    """What an answer says about the nodes of the cluster.

    Attributes:
        samples: by node, with the time of measurement on our clock.
        without_value: nodes that the answer names, without a value that can be used.
        stale: nodes whose samples are older than maxAge, or of unknown age.
        is_timed: whether the answer says when samples were measured.
        counts: how often each rule was needed.
    """

    samples: dict[str, metric_table.Sample] = dataclasses.field(default_factory=dict)
    without_value: set[str] = dataclasses.field(default_factory=set)
    stale: set[str] = dataclasses.field(default_factory=set)
    is_timed: bool = True
    counts: collections.Counter[failures.Cause] = dataclasses.field(
        default_factory=collections.Counter
    )

    @property
    def names_nodes(self) -> bool:
        """Whether any series is of a node, whatever its value."""
        return bool(self.samples or self.without_value or self.stale)


def join(
    answer: answers.Answer,
    metric: checked.CheckedMetric,
    names: node_names.NodeNames,
    asked_at_seconds: float,
    *,
    has_freshness: bool,
) -> Joined:
    """Find the node of each series and the age of its samples.

    Ages are differences of the server's own times, so that its clock may differ from ours. They are
    taken off from when we asked, which makes samples rather too old than too new. Times are rounded
    to milliseconds, as Prometheus' are: one scrape has one time however often it is seen.

    Args:
        answer: what the server said.
        metric: whose query it was.
        names: the nodes that there are.
        asked_at_seconds: when the query was evaluated or before, in seconds since 1970 on our
            clock.
        has_freshness: whether the query asked for times of measurement; without them a sample was
            measured when the query was evaluated.
    """
    joined = Joined()
    _count_remarks(answer, joined.counts)
    found = _by_node(answer, metric.label, names, joined)
    evaluated_at = answer.evaluated_at_seconds
    if evaluated_at is None:
        return joined
    measured = _latest(answer.measured, metric.label) if has_freshness else None
    joined.is_timed = measured is not None
    joined.counts[_Cause.UNTIMED] += not joined.is_timed
    for node, of_node in found.items():
        value = _value(of_node, metric, joined.counts)
        if value is None:
            joined.without_value.add(node)
            continue
        (series,) = of_node
        at = series.at_seconds if measured is None else measured.get(series.labels[metric.label])
        age_seconds = _age_seconds(at, evaluated_at)
        if age_seconds is None or age_seconds > metric.max_age_seconds:
            joined.counts[_Cause.STALE] += 1
            joined.stale.add(node)
        if age_seconds is not None:
            joined.samples[node] = metric_table.Sample(value, asked_at_seconds - age_seconds)
    return joined


def _age_seconds(at_seconds: float | None, evaluated_at_seconds: float) -> float | None:
    """Return how old a sample was when the query was evaluated, None for one without a time."""
    if at_seconds is None or not math.isfinite(at_seconds) or at_seconds <= 0:
        return None
    return max(0.0, evaluated_at_seconds - at_seconds)


def _by_node(
    answer: answers.Answer, label: str, names: node_names.NodeNames, joined: Joined
) -> dict[str, list[answers.Series]]:
    """Return the series of each node, in the order of the answer."""
    found: dict[str, list[answers.Series]] = collections.defaultdict(list)
    for series in answer.series:
        for node in _nodes(series, label, names, joined):
            found[node].append(series)
    return found


def _count_remarks(answer: answers.Answer, counts: collections.Counter[failures.Cause]) -> None:
    counts[_Cause.WARNING] += bool(answer.warnings)
    counts[_Cause.INFO] += bool(answer.infos)
    counts[_Cause.PARTIAL] += answer.is_partial
    counts[_Cause.EMPTY] += not answer.series


def _nodes(
    series: answers.Series, label: str, names: node_names.NodeNames, joined: Joined
) -> frozenset[str]:
    """Return the node of a series; what may be of several nodes is of none."""
    text = series.labels.get(label, "")
    if not text:
        joined.counts[_Cause.UNLABELLED] += 1
        return frozenset()
    nodes = names.find(text)
    if len(nodes) == 1:
        return nodes
    joined.counts[_Cause.AMBIGUOUS if nodes else _Cause.UNMATCHED] += 1
    return frozenset()


def _value(
    of_node: list[answers.Series],
    metric: checked.CheckedMetric,
    counts: collections.Counter[failures.Cause],
) -> float | None:
    if len(of_node) > 1:
        counts[_Cause.DUPLICATE] += 1
        return None
    value = of_node[0].value
    if value is None:
        counts[_Cause.UNUSABLE] += 1
        return None
    if not math.isfinite(value):
        counts[_Cause.NON_FINITE] += 1
        return None
    is_low = metric.low is not None and value < metric.low
    is_high = metric.high is not None and value > metric.high
    counts[_Cause.OUT_OF_RANGE] += is_low or is_high
    return value


def _latest(measured: Iterable[answers.Series], label: str) -> dict[str, float]:
    """Return label value → time of measurement."""
    return {
        each.labels[label]: each.value
        for each in measured
        if label in each.labels and each.value is not None
    }
