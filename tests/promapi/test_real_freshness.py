from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policysched.promapi import freshness
from tests.promapi import promql_world as world
from tests.realcluster import prometheus

pytestmark = pytest.mark.e2e

_FORM = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[prometheus.Prometheus]:
    """The series of `promql_world` in a real Prometheus."""
    flags = [f"--query.lookback-delta={world.LOOKBACK_SECONDS:.0f}s"]
    with prometheus.Prometheus(
        tmp_path_factory.mktemp("prometheus"), openmetrics=world.openmetrics(), flags=flags
    ) as running:
        yield running


def _labels(series: dict[str, Any]) -> world.Labels:
    return frozenset((k, v) for k, v in series["metric"].items() if k != "__name__")


@_FORM
@given(query=world.queries)
def test_times_are_those_of_the_last_scrapes(
    server: prometheus.Prometheus, query: world.Query
) -> None:
    """T has the series of the query, and their value is when each was measured."""
    text = freshness._Freshness(world.MAX_AGE_SECONDS).of(promql_parser.parse(query.text))
    values = {_labels(one) for one in server.query(query.text, time=world.NOW)}
    times = {_labels(one): float(one["value"][1]) for one in server.query(text, time=world.NOW)}
    assert times.keys() == values
    expected = query.times(world.NOW)
    assert times.keys() == expected.keys()
    oldest = world.NOW - world.MAX_AGE_SECONDS
    for labels, time in times.items():
        if time != pytest.approx(expected[labels], abs=0.002):
            assert (time < oldest, expected[labels] < oldest) == (True, True), dict(labels)


@_FORM
@given(query=world.queries.filter(lambda query: not query.has_devices))
def test_one_query_brings_values_and_times(
    server: prometheus.Prometheus, query: world.Query
) -> None:
    """What is sent answers with the query's own series, and with one time for each node."""
    asked = freshness.with_freshness(query.text, "instance", world.MAX_AGE_SECONDS)
    assert asked.has_freshness
    found = server.query(asked.promql, time=world.NOW)
    values = [one for one in found if freshness.MARK not in one["metric"]]
    times = [one["metric"]["instance"] for one in found if freshness.MARK in one["metric"]]
    alone = server.query(query.text, time=world.NOW)
    assert sorted(values, key=repr) == sorted(alone, key=repr)
    assert sorted(times) == sorted(one["metric"]["instance"] for one in alone)


_INNER = st.sampled_from(
    [
        ("load", world.LOOKBACK_SECONDS),
        ("rate(load[1m])", 50.0),
        ("sum by (instance) (disk_size)", world.LOOKBACK_SECONDS),
        ("(disk_size / disk_total) * on (instance) group_left () load", world.LOOKBACK_SECONDS),
    ]
)


@_FORM
@given(inner=_INNER, outer=st.sampled_from(["max_over_time", "avg_over_time", "rate"]))
@pytest.mark.parametrize("step", ["", "7s", "30s"])
def test_subqueries_are_looked_into(
    server: prometheus.Prometheus, inner: tuple[str, float], outer: str, step: str
) -> None:
    """A subquery repeats old samples for as long as its window is; T knows their age."""
    query = f"{outer}(({inner[0]})[5m:{step}])"
    text = freshness._Freshness(world.MAX_AGE_SECONDS).of(promql_parser.parse(query))
    values = {_labels(one) for one in server.query(query, time=world.NOW)}
    times = {_labels(one): float(one["value"][1]) for one in server.query(text, time=world.NOW)}
    assert times.keys() == values
    for labels, time in times.items():
        scraped = world.NOW - world.NODES[dict(labels)["instance"]]
        if world.NOW - scraped > world.MAX_AGE_SECONDS:
            assert time < world.NOW - world.MAX_AGE_SECONDS
        else:
            assert scraped - world.MAX_AGE_SECONDS / 10 <= time <= scraped + 0.002
