"""Queries a Prometheus server for facts about the queries of policies, for `policysched lint`."""

from __future__ import annotations

import dataclasses
import datetime
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
import promql_parser

from policysched import errors
from policysched.lang.checking import checker
from policysched.lint import rule_input as subjects
from policysched.lint.facts import prometheus_facts, queries
from policysched.promapi import answers, connection, failures, inspection, settings
from policysched.promql import query_labels, query_text, query_tree

LOOKBACK_DAYS = 7
"""A series with a sample in this period counts as known, even that of a weekly job."""
MAX_QUERIES = 200
MAX_SECONDS = 120.0
"""Limits of the survey; `PrometheusSurvey.left_out` counts the queries beyond them."""

_T = TypeVar("_T")
_FAMILY_ENDS = ("_bucket", "_count", "_sum", "_total")
"""Suffixes of series names that the names of metric families in the metadata do not have."""
_DAY_SECONDS = 86_400.0


@dataclasses.dataclass(frozen=True, slots=True)
class PrometheusSurvey:
    """The result of querying a Prometheus server.

    Attributes:
        facts: the facts that the lint rules read.
        left_out: the number of distinct queries that were not evaluated.
    """

    facts: prometheus_facts.PrometheusFacts
    left_out: int


_OPTIONS = {
    "bearer-token-file": str,
    "ca-file": str,
    "headers": dict,
    "path-prefix": str,
    "query-params": dict,
    "timeout-seconds": float,
}
"""The keys of the table `prometheus` in the settings of lint and the types of their values."""


def make_prometheus_source(url: str, table: Mapping[str, Any]) -> settings.PrometheusSource:
    """Return the source for a server.

    Args:
        url: the address of the server.
        table: additional settings, with the keys of `_OPTIONS`.

    Raises:
        InputError: the address or a setting is invalid.
    """
    where = "prometheus in the settings of lint"
    given: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _OPTIONS:
            known = ", ".join(_OPTIONS)
            raise errors.InputError(where, f"`{key}` is not a setting", help=f"it has {known}")
        given[key] = _convert_server_setting(key, value, where)
    ca_file = given.pop("ca-file", None)
    fields = {key.replace("-", "_"): value for key, value in given.items()}
    found = settings.PrometheusSource(url, tls=settings.PrometheusTls(ca_file=ca_file), **fields)
    problem = settings.find_source_problem(found)
    if problem:
        raise errors.InputError("--prometheus", problem)
    return found


def _convert_server_setting(key: str, value: object, where: str) -> object:
    try:
        return msgspec.convert(value, dict[str, str] if _OPTIONS[key] is dict else _OPTIONS[key])
    except msgspec.ValidationError as error:
        raise errors.InputError(where, f"`{key}`: {str(error).lower()}") from error


def survey_prometheus(
    server: settings.PrometheusSource,
    result: checker.CheckResult,
    now: datetime.datetime,
    told: Callable[[int, int], None],
    monotonic_seconds: Callable[[], float] = time.monotonic,
) -> PrometheusSurvey:
    """Collect the facts from a server about every query of the policies.

    Args:
        server: the Prometheus server.
        result: the checked policies.
        now: the end of the interval in which series are searched.
        told: is called with the number of finished queries and the number of all queries, which is
            at most MAX_QUERIES.
        monotonic_seconds: the clock for the limit on the total time.

    Raises:
        RemoteError: the server does not answer queries or becomes unreachable.
    """
    if result.program is None:
        return PrometheusSurvey(prometheus_facts.PrometheusFacts(server.url), 0)
    about = subjects.LintInput(result.program, result.parsed, result.texts)
    with connection.PrometheusClient("lint", server) as opened:
        survey = _PrometheusSurveyor(
            inspection.PrometheusInspector(opened), server.url, now.timestamp()
        )
        survey.require_answering_server()
        return survey.survey_queries(about.metric_queries, told, monotonic_seconds)


class _PrometheusSurveyor:
    """Sends one query after another; facts that the server does not provide stay unknown."""

    def __init__(
        self, inspector: inspection.PrometheusInspector, name: str, now_seconds: float
    ) -> None:
        self._inspector = inspector
        self._name = name
        self._start = now_seconds - LOOKBACK_DAYS * _DAY_SECONDS
        self._end = now_seconds
        self._known: dict[str, prometheus_facts.SeriesSelectorFacts] = {}

    def require_answering_server(self) -> None:
        """Raise RemoteError unless the server answers the query `vector(1)`."""
        try:
            self._inspector.evaluate_query("vector(1)")
        except failures.QueryError as error:
            raise errors.RemoteError(f"{self._name} cannot be queried: {error}") from error

    def survey_queries(
        self,
        asked: tuple[queries.MetricQuery, ...],
        told: Callable[[int, int], None],
        monotonic_seconds: Callable[[], float],
    ) -> PrometheusSurvey:
        """Return the facts about queries, up to the limits on time and number."""
        deadline = monotonic_seconds() + MAX_SECONDS
        found: dict[str, prometheus_facts.QueryFacts] = {}
        selectors: dict[str, tuple[prometheus_facts.SeriesSelectorFacts, ...]] = {}
        for number, each in enumerate(asked[:MAX_QUERIES]):
            told(number, min(len(asked), MAX_QUERIES))
            if monotonic_seconds() >= deadline:
                break
            found[each.query.text] = self._survey_query(each.query.text)
            parts = query_tree.list_selectors(each.expr)
            selectors[each.query.text] = tuple(self._survey_selector(part) for part in parts)
        facts = prometheus_facts.PrometheusFacts(
            name=self._name,
            lookback_days=LOOKBACK_DAYS,
            queries=found,
            selectors=selectors,
            scrape_seconds=self._query_or_default({}, self._inspector.list_scrape_intervals),
            recordings=dict(self._list_recording_rules()),
        )
        return PrometheusSurvey(facts, len({each.query.text for each in asked}) - len(found))

    def _query_or_default(self, otherwise: _T, ask: Callable[[], _T]) -> _T:
        """Return the server's answer, or `otherwise` if the query fails.

        Raises:
            RemoteError: the server has become unreachable or refuses the credentials.
        """
        try:
            return ask()
        except failures.QueryError as error:
            if error.cause in {failures.QueryIssue.UNREACHABLE, failures.QueryIssue.CREDENTIAL}:
                raise errors.RemoteError(f"{self._name} cannot be queried: {error}") from error
            return otherwise

    def _survey_query(self, promql: str) -> prometheus_facts.QueryFacts:
        try:
            evaluated = self._inspector.evaluate_query(promql)
        except failures.QueryError as error:
            return prometheus_facts.QueryFacts(problem=str(error))
        series = tuple(_convert_to_query_sample(each) for each in evaluated.answer.series)
        return prometheus_facts.QueryFacts("", series, evaluated.read_samples, evaluated.seconds)

    def _survey_selector(
        self, part: promql_parser.VectorSelector
    ) -> prometheus_facts.SeriesSelectorFacts:
        """Return the facts about a selector; identical selectors are queried once."""
        try:
            text = query_text.render_selector(part)
        except query_text.UnwritableQueryError:
            return prometheus_facts.SeriesSelectorFacts()
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._query_or_default(
                prometheus_facts.SeriesSelectorFacts(), lambda: self._ask_about_series(part, text)
            )
        return known

    def _ask_about_series(
        self, part: promql_parser.VectorSelector, text: str
    ) -> prometheus_facts.SeriesSelectorFacts:
        """Return whether series match a selector, and if not, which part of it is unknown."""
        ask, name = self._inspector, part.name or ""
        if ask.evaluate_query(f"count({text})").answer.series:
            jobs: list[str] = self._query_or_default(
                [], lambda: ask.list_label_values("job", text, self._start, self._end)
            )
            kind = self._query_or_default("", lambda: self._get_metric_kind(name)) if name else ""
            return prometheus_facts.SeriesSelectorFacts(jobs=tuple(jobs), kind=kind)
        if not name or ask.has_series(text, self._start, self._end):
            return prometheus_facts.SeriesSelectorFacts(is_there=False)
        if not ask.has_series(name, self._start, self._end):
            names = ask.list_label_values("__name__", "", self._start, self._end)
            return prometheus_facts.SeriesSelectorFacts(
                is_there=False, was_there=False, is_name_known=False, known=tuple(names)
            )
        return self._find_unknown_series_label(part, name)

    def _find_unknown_series_label(
        self, part: promql_parser.VectorSelector, name: str
    ) -> prometheus_facts.SeriesSelectorFacts:
        """Return the first label or value of the selector that no series with this name has."""
        labels = self._inspector.list_label_names(name, self._start, self._end)
        for label, value in query_labels.find_required_matchers(part):
            if label not in labels:
                return prometheus_facts.SeriesSelectorFacts(
                    is_there=False, was_there=False, unknown_label=label, known=tuple(labels)
                )
            values = self._inspector.list_label_values(label, name, self._start, self._end)
            # A truncated list does not prove that a value is absent.
            is_listed_whole = len(values) < inspection.MAX_LISTED
            if value is not None and value not in values and is_listed_whole:
                return prometheus_facts.SeriesSelectorFacts(
                    is_there=False,
                    was_there=False,
                    unknown_label=label,
                    unknown_value=value,
                    known=tuple(values),
                )
        return prometheus_facts.SeriesSelectorFacts(is_there=False, was_there=False)

    def _get_metric_kind(self, name: str) -> str:
        found = self._inspector.find_metric_type(name)
        if found:
            return found
        end = next((end for end in _FAMILY_ENDS if name.endswith(end)), "")
        family = self._inspector.find_metric_type(name.removesuffix(end)) if end else ""
        # The series of histograms and summaries are counters, unlike the metric family.
        return "counter" if family in {"histogram", "summary"} else family

    def _list_recording_rules(self) -> Iterator[tuple[str, str]]:
        rules: list[tuple[str, str]] = self._query_or_default(
            [], self._inspector.list_recording_rules
        )
        for name, query in rules:
            try:
                yield query_tree.normalise_query(promql_parser.parse(query)), name
            except ValueError:
                continue  # the server can accept syntax that the parser does not know


def _convert_to_query_sample(
    each: answers.InstantVectorSample,
) -> prometheus_facts.QueryResultSeries:
    is_number = each.value is not None and math.isfinite(each.value)
    labels: Mapping[str, str] = each.labels
    return prometheus_facts.QueryResultSeries(labels, each.value if is_number else None)
