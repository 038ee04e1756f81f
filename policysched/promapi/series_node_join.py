"""Joins series with nodes: the value of the declared label determines the node of a series.

Each series is matched with a node once, even if the answer contains many timestamps.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
from collections.abc import Iterable
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from policysched.cluster.metrics import metric_table
from policysched.cluster.objects import node_aliases
from policysched.lang.checked import checked
from policysched.promapi import answers, failures, sample_matrix

_Cause = failures.QueryIssue
_Counts: TypeAlias = collections.Counter[failures.QueryIssue]
ScalarT = TypeVar("ScalarT", bound=np.generic)


@dataclasses.dataclass(slots=True)
class NodeSamples:
    """The samples of nodes in an instant answer.

    Attributes:
        samples: keyed by node name; measurement times are on the local clock.
        without_value: nodes that the answer names without a usable value.
        stale: nodes whose samples are older than maxAge, or of unknown age.
        is_timed: whether the answer contains measurement times.
        counts: how often each rule of docs/metrics.md applied.
    """

    samples: dict[str, metric_table.Sample] = dataclasses.field(default_factory=dict)
    without_value: set[str] = dataclasses.field(default_factory=set)
    stale: set[str] = dataclasses.field(default_factory=set)
    is_timed: bool = True
    counts: collections.Counter[failures.QueryIssue] = dataclasses.field(
        default_factory=collections.Counter
    )

    @property
    def has_named_nodes(self) -> bool:
        """Whether any series matches a node, with or without a usable value."""
        return bool(self.samples or self.without_value or self.stale)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeSampleMatrix:
    """The samples of M nodes at K times.

    Attributes:
        names: the M nodes, in the order of the columns.
        values: float64 (K, M), undefined if the time is -inf.
        times: float64 (K, M), measurement times on the local clock; -inf if there is no sample.
        is_named: bool (K, M), whether a series matches the node.
        is_valued: bool (K, M), whether exactly one series matches the node, with a finite number.
        is_stale: bool (K, M), whether samples are older than maxAge, or of unknown age.
        counts: for each rule of docs/metrics.md, its largest count at any one timestamp.
    """

    names: tuple[str, ...]
    values: sample_matrix.Floats
    times: sample_matrix.Floats
    is_named: sample_matrix.Bools
    is_valued: sample_matrix.Bools
    is_stale: sample_matrix.Bools
    counts: _Counts


def join_instant_vector(
    answer: answers.InstantVector,
    metric: checked.CheckedMetric,
    names: node_aliases.NodeAliasIndex,
    asked_at_seconds: float,
    *,
    has_freshness: bool,
) -> NodeSamples:
    """Join an instant answer with nodes by the rules of `join_matrix`.

    `asked_at_seconds` is the evaluation time on the local clock.
    """
    found = sample_matrix.convert_to_sample_matrix(answer)
    behind_seconds = round(asked_at_seconds - (answer.evaluated_at_seconds or 0.0), 3)
    joined = join_matrix(found, metric, names, behind_seconds, has_freshness=has_freshness)
    joined.counts[_Cause.EMPTY] = not answer.series
    if not len(found.at_seconds):
        return NodeSamples(counts=joined.counts)
    is_sampled = np.isfinite(joined.times[0])
    sampled = zip(joined.values[0].tolist(), joined.times[0].tolist(), strict=True)
    samples = [metric_table.Sample(*each) for each in sampled]
    return NodeSamples(
        dict(itertools.compress(zip(joined.names, samples, strict=True), is_sampled)),
        set(itertools.compress(joined.names, joined.is_named[0] & ~joined.is_valued[0])),
        set(itertools.compress(joined.names, joined.is_stale[0])),
        has_freshness,
        joined.counts,
    )


def join_matrix(
    found: sample_matrix.SampleMatrix,
    metric: checked.CheckedMetric,
    names: node_aliases.NodeAliasIndex,
    behind_seconds: float,
    *,
    has_freshness: bool,
) -> NodeSampleMatrix:
    """Find the node of each series and the age of its samples at each time.

    Ages are differences between times of the server, so the server's clock can differ from the
    local one. The estimated offset between the clocks tends to be too low, so samples appear older
    rather than newer. A scrape has the same time in all answers that contain it.

    Args:
        found: the decoded answer.
        metric: the metric that the query belongs to.
        names: the index of the current nodes.
        behind_seconds: number to add to a time of the server to get the local time.
        has_freshness: whether the query asked for measurement times; without them, the evaluation
            time is used.
    """
    matched = _match_series_to_nodes(found, metric.label, names)
    counts = matched.counts + _count_answer_warnings(found)
    values = found.values[:, matched.series]
    is_there = found.is_there[:, matched.series]
    is_number = found.is_number[:, matched.series]
    series_count = np.zeros((len(found.at_seconds), len(matched.names)), np.intp)
    np.add.at(series_count.T, matched.places, is_there.T)
    is_single = is_there & (series_count[:, matched.places] == 1)
    is_valued = is_single & is_number & np.isfinite(values)
    measured = found.at_seconds[:, np.newaxis]
    if has_freshness:
        measured = _find_measurement_times(found, metric.label, matched)
    is_timed = is_valued & np.isfinite(measured) & (measured > 0)
    ages = found.at_seconds[:, np.newaxis] - measured
    is_stale = is_valued & ~(is_timed & (ages <= metric.max_age_seconds))
    counts[_Cause.DUPLICATE] = _count_at_worst_moment(series_count > 1)
    counts[_Cause.UNUSABLE] = _count_at_worst_moment(is_single & ~is_number)
    counts[_Cause.NON_FINITE] = _count_at_worst_moment(is_single & is_number & ~is_valued)
    counts[_Cause.OUT_OF_RANGE] = _count_at_worst_moment(
        is_valued & _is_outside_range(values, metric)
    )
    counts[_Cause.STALE] = _count_at_worst_moment(is_stale)
    counts[_Cause.UNTIMED] = int(not has_freshness and len(measured) > 0)
    return NodeSampleMatrix(
        tuple(matched.names),
        matched.gather_by_node(values, is_valued, 0.0),
        matched.gather_by_node(measured + behind_seconds, is_timed, -np.inf),
        is_named=series_count > 0,
        is_valued=matched.gather_by_node(is_valued, is_valued, fill=False),
        is_stale=matched.gather_by_node(is_stale, is_valued, fill=False),
        counts=counts,
    )


class _MatchedSeries:
    """The series that match exactly one node, and their nodes.

    Attributes:
        names: the M nodes.
        series: intp (s,), indexes of the series in the answer.
        places: intp (s,), for each series, the index of its node in `names`.
        counts: for each rule, the number of series without exactly one node.
    """

    def __init__(self, names: Iterable[str], series: list[int], places: list[int]) -> None:
        self.names = list(names)
        self.series = np.array(series, np.intp)
        self.places = np.array(places, np.intp)
        self.counts: _Counts = collections.Counter()

    def gather_by_node(
        self, of_series: npt.NDArray[ScalarT], is_valued: sample_matrix.Bools, fill: float
    ) -> npt.NDArray[ScalarT]:
        """Return (K, M) from (K, s): the entry of the only valued series of a node, else `fill`."""
        found = np.full((len(is_valued), len(self.names)), fill, of_series.dtype)
        rows, columns = np.nonzero(is_valued)
        found[rows, self.places[columns]] = np.broadcast_to(of_series, is_valued.shape)[is_valued]
        return found


def _match_series_to_nodes(
    found: sample_matrix.SampleMatrix, label: str, names: node_aliases.NodeAliasIndex
) -> _MatchedSeries:
    """Find the node of each series; an ambiguous series gets no node."""
    place_of: dict[str, int] = {}
    series, places = [], []
    nodeless: dict[failures.QueryIssue, list[int]] = collections.defaultdict(list)
    for number, labels in enumerate(found.labels):
        if found.is_freshness[number]:
            continue
        text = labels.get(label, "")
        nodes = names.find_nodes(text) if text else frozenset()
        if len(nodes) == 1:
            (node,) = nodes
            series.append(number)
            places.append(place_of.setdefault(node, len(place_of)))
        elif text:
            nodeless[_Cause.AMBIGUOUS if nodes else _Cause.UNMATCHED].append(number)
        else:
            nodeless[_Cause.UNLABELLED].append(number)
    matched = _MatchedSeries(place_of, series, places)
    for cause, numbers in nodeless.items():
        matched.counts[cause] = _count_at_worst_moment(found.is_there[:, numbers])
    return matched


def _find_measurement_times(
    found: sample_matrix.SampleMatrix, label: str, matched: _MatchedSeries
) -> sample_matrix.Floats:
    """Return float64 (K, s): the measurement time of each sample, NaN if unknown.

    A measurement is never later than the evaluation, so later times are set to the evaluation time.
    """
    times_of: dict[str, sample_matrix.Floats] = {}
    is_said = found.is_there & found.is_number
    for number, labels in enumerate(found.labels):
        if found.is_freshness[number] and label in labels:
            before = times_of.get(labels[label], np.nan)
            said = np.where(is_said[:, number], found.values[:, number], before)
            times_of[labels[label]] = said
    measured = np.full((len(found.at_seconds), len(matched.series)), np.nan)
    for place, number in enumerate(matched.series.tolist()):
        times = times_of.get(found.labels[number][label])
        if times is not None:
            measured[:, place] = times
    finite = np.isfinite(measured)
    np.minimum(measured, found.at_seconds[:, np.newaxis], out=measured, where=finite)
    return measured


def _is_outside_range(
    values: sample_matrix.Floats, metric: checked.CheckedMetric
) -> sample_matrix.Bools:
    low = -np.inf if metric.low is None else metric.low
    high = np.inf if metric.high is None else metric.high
    return (values < low) | (values > high)


def _count_answer_warnings(found: sample_matrix.SampleMatrix) -> _Counts:
    return collections.Counter(
        {
            _Cause.WARNING: int(bool(found.warnings)),
            _Cause.INFO: int(bool(found.infos)),
            _Cause.PARTIAL: int(found.is_partial),
        }
    )


def _count_at_worst_moment(is_so: sample_matrix.Bools) -> int:
    """Return the largest number of true entries in one row, that is, at one time."""
    return int(np.count_nonzero(is_so, axis=1).max(initial=0))
