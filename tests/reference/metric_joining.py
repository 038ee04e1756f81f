"""Series to nodes, one by one, as `promapi.series_node_join` does for all moments at once."""

from __future__ import annotations

import collections
import math

from policysched.cluster.objects import node_aliases
from policysched.lang.checked import checked
from policysched.promapi import answers, failures

Cause = failures.QueryIssue


class Moment:
    """What an answer for one moment says about nodes.

    Attributes:
        samples: node → value and age in seconds.
        without_value: nodes that are named without a value.
        stale: nodes whose samples are too old, or of unknown age.
        counts: how often each rule was needed.
    """

    def __init__(
        self,
        answer: answers.InstantVector,
        metric: checked.CheckedMetric,
        names: node_aliases.NodeAliasIndex,
    ) -> None:
        self.samples: dict[str, tuple[float, float]] = {}
        self.without_value: set[str] = set()
        self.stale: set[str] = set()
        self.counts: collections.Counter[failures.QueryIssue] = collections.Counter()
        measured = {
            each.labels[metric.label]: each.value
            for each in answer.measured
            if each.value is not None and metric.label in each.labels
        }
        for node, found in self._by_node(answer, metric.label, names).items():
            value = self._value(found, metric)
            if value is None:
                self.without_value.add(node)
                continue
            at = measured.get(found[0].labels[metric.label])
            age_seconds = _age_seconds(at, answer.evaluated_at_seconds)
            if age_seconds is None or age_seconds > metric.max_age_seconds:
                self.stale.add(node)
                self.counts[Cause.STALE] += 1
            if age_seconds is not None:
                self.samples[node] = value, age_seconds

    def _by_node(
        self, answer: answers.InstantVector, label: str, names: node_aliases.NodeAliasIndex
    ) -> dict[str, list[answers.InstantVectorSample]]:
        found: dict[str, list[answers.InstantVectorSample]] = {}
        for series in answer.series:
            text = series.labels.get(label, "")
            nodes = names.find_nodes(text) if text else frozenset()
            if len(nodes) == 1:
                (node,) = nodes
                found.setdefault(node, []).append(series)
            elif not text:
                self.counts[Cause.UNLABELLED] += 1
            else:
                self.counts[Cause.AMBIGUOUS if nodes else Cause.UNMATCHED] += 1
        return found

    def _value(
        self, found: list[answers.InstantVectorSample], metric: checked.CheckedMetric
    ) -> float | None:
        value = found[0].value
        if len(found) > 1:
            self.counts[Cause.DUPLICATE] += 1
            return None
        if value is None:
            self.counts[Cause.UNUSABLE] += 1
            return None
        if not math.isfinite(value):
            self.counts[Cause.NON_FINITE] += 1
            return None
        is_low = metric.low is not None and value < metric.low
        is_high = metric.high is not None and value > metric.high
        self.counts[Cause.OUT_OF_RANGE] += is_low or is_high
        return value


def _age_seconds(at_seconds: float | None, evaluated_at_seconds: float | None) -> float | None:
    assert evaluated_at_seconds is not None
    if at_seconds is None or not math.isfinite(at_seconds) or at_seconds <= 0:
        return None
    return max(0.0, evaluated_at_seconds - at_seconds)
