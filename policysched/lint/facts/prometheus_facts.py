"""Facts from a Prometheus server about the queries of policies, as plain data.

This module does not query the server.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class QueryResultSeries:
    """One series in an answer.

    Attributes:
        labels: all labels of the series.
        value: the sample, or None if it is not a number.
    """

    labels: Mapping[str, str]
    value: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class QueryFacts:
    """The answer to the query of a metric.

    Attributes:
        problem: the reason why there is no answer, or "".
        read_samples: the number of samples that the query read; None if the server does not report
            it.
        seconds: the evaluation time on the server; None if the server does not report it.
    """

    problem: str = ""
    series: tuple[QueryResultSeries, ...] = ()
    read_samples: int | None = None
    seconds: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class SeriesSelectorFacts:
    """Facts about one selector of a query.

    Attributes:
        is_there: whether it has series at present.
        was_there: whether it had series within the lookback period.
        is_name_known: whether any series with its metric name existed within the lookback period.
        unknown_label: a label in the selector that no series with this name has, or "".
        unknown_value: a label value in the selector that no series with this name has, or "".
        known: the names, labels or values that exist instead.
        jobs: the values of the label `job` on its series.
        kind: counter, gauge, histogram, summary, or "" if the server does not report it.
    """

    is_there: bool = True
    was_there: bool = True
    is_name_known: bool = True
    unknown_label: str = ""
    unknown_value: str = ""
    known: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    kind: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class PrometheusFacts:
    """The facts from one Prometheus server that lint rules use.

    Attributes:
        name: the name in messages.
        lookback_days: the lookback period of the requests for series, in days.
        queries: query text -> the answer; queries that were not sent are absent.
        selectors: query text -> the facts, in the order of `query_tree.list_selectors`.
        scrape_seconds: job -> the longest scrape interval of its targets, in seconds.
        recordings: expression, in the form of `query_tree.normalise_query` -> the name of its
            recording rule.
    """

    name: str
    lookback_days: int = 7
    queries: Mapping[str, QueryFacts] = dataclasses.field(default_factory=dict)
    selectors: Mapping[str, tuple[SeriesSelectorFacts, ...]] = dataclasses.field(
        default_factory=dict
    )
    scrape_seconds: Mapping[str, float] = dataclasses.field(default_factory=dict)
    recordings: Mapping[str, str] = dataclasses.field(default_factory=dict)
