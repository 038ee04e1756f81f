"""What a Prometheus says about the queries of policies, as values: nothing here asks it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class QuerySample:
    """One series of an answer.

    Attributes:
        labels: all of them.
        value: None where it is no number.
    """

    labels: Mapping[str, str]
    value: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class QueryFacts:
    """What the query of a metric gives.

    Attributes:
        problem: why there is no answer, or "".
        read_samples: how many samples it had to look at; None if the server does not say.
        seconds: how long the server took to evaluate it; None as above.
    """

    problem: str = ""
    series: tuple[QuerySample, ...] = ()
    read_samples: int | None = None
    seconds: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class SeriesSelectorFacts:
    """What is known of one selector of a query.

    Attributes:
        is_there: it has series at present.
        was_there: it had some within the time that is looked back.
        is_name_known: series with its name were there within that time.
        unknown_label: a label that it asks for and no such series has, or "".
        unknown_value: the value of which that is so, or "".
        known: what there is instead: names, labels or values.
        jobs: values of the label `job` of its series.
        kind: counter, gauge, histogram, summary, or "" if the server does not say.
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
    """What a server knows that the rules ask for.

    Attributes:
        name: what to call it.
        lookback_days: how far back it was asked for series.
        queries: by the text of the query; those that were not asked are left out.
        selectors: by the text of the query, in the order of `promql_tree.walk_query`.
        scrape_seconds: by job, the time between two scrapes; the longest one of its targets.
        recordings: the expression of a recording rule, as `normal` writes it -> its name.
    """

    name: str
    lookback_days: int = 7
    queries: Mapping[str, QueryFacts] = dataclasses.field(default_factory=dict)
    selectors: Mapping[str, tuple[SeriesSelectorFacts, ...]] = dataclasses.field(
        default_factory=dict
    )
    scrape_seconds: Mapping[str, float] = dataclasses.field(default_factory=dict)
    recordings: Mapping[str, str] = dataclasses.field(default_factory=dict)
