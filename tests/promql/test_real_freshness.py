from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policysched.promql import freshness, query_text
from tests import examples
from tests.promapi import promql_world as world
from tests.realcluster import prometheus

pytestmark = pytest.mark.e2e

_FORM = settings(
    max_examples=examples.scale(150),
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
    text = freshness._FreshnessWriter(world.MAX_AGE_SECONDS).render_vector_freshness(
        promql_parser.parse(query.text)
    )
    values = server.query(query.text, time=world.NOW)
    rendered = query_text.render_query(promql_parser.parse(query.text))
    assert sorted(server.query(rendered, time=world.NOW), key=repr) == sorted(values, key=repr)
    times = {_labels(one): float(one["value"][1]) for one in server.query(text, time=world.NOW)}
    assert times.keys() == set(map(_labels, values))
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
    asked = freshness.add_freshness(query.text, "instance", world.MAX_AGE_SECONDS)
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
    text = freshness._FreshnessWriter(world.MAX_AGE_SECONDS).render_vector_freshness(
        promql_parser.parse(query)
    )
    values = {_labels(one) for one in server.query(query, time=world.NOW)}
    times = {_labels(one): float(one["value"][1]) for one in server.query(text, time=world.NOW)}
    assert times.keys() == values
    for labels, time in times.items():
        scraped = world.NOW - world.NODES[dict(labels)["instance"]]
        if world.NOW - scraped > world.MAX_AGE_SECONDS:
            assert time < world.NOW - world.MAX_AGE_SECONDS
        else:
            assert scraped - world.MAX_AGE_SECONDS / 10 <= time <= scraped + 0.002


_N0, _N1 = 0.0, 3.25
"""How long ago the two were scraped that tell instant vectors apart."""


@pytest.mark.parametrize(
    "query, ages",
    [
        pytest.param("load", {"n0": _N0, "n1": _N1, "n2": 9.0}, id="selector"),
        pytest.param("{__name__='load',instance=~`n[01]`}", {"n0": _N0, "n1": _N1}, id="quotes"),
        pytest.param("load{instance!~'n[2-9]'}", {"n0": _N0, "n1": _N1}, id="regex"),
        pytest.param("load{instance='n1'} * scalar(load{instance='n2'})", {"n1": 9.0}, id="scalar"),
        pytest.param(
            "scalar(load{instance='n2'}) + scalar(load{instance='n0'}) - load{instance='n1'}",
            {"n1": 9.0},
            id="scalars",
        ),
        pytest.param(
            "clamp_max(load{instance='n0'}, scalar(load{instance='n1'}))",
            {"n0": _N1},
            id="scalar-argument",
        ),
        pytest.param("load{instance='n0'} + time() * pi()", {"n0": _N0}, id="scalar-functions"),
        pytest.param(
            "label_replace(vector(1), 'instance', 'n0', '', '')", {"n0": 0.0}, id="vector"
        ),
        pytest.param(
            "label_replace(vector(scalar(load{instance='n1'})), 'instance', 'x', '', '')",
            {"x": _N1},
            id="vector-of-scalar",
        ),
        pytest.param("absent(load{instance='x'})", {"x": 0.0}, id="absent"),
        pytest.param("absent_over_time(load{instance='x'}[5m])", {"x": 0.0}, id="absent-over-time"),
        pytest.param(
            "label_replace(hour(), 'instance', 'x', '', '')", {"x": 0.0}, id="time-of-day"
        ),
        pytest.param("hour(load{instance='n1'})", {"n1": _N1}, id="function-of-vector"),
        pytest.param(
            "label_join(load{instance='n1'}, 'instance', '-', 'instance', 'none')",
            {"n1-": _N1},
            id="label-join",
        ),
        pytest.param("topk(1, load{instance='n2'})", {"n2": 9.0}, id="topk"),
        pytest.param("load > 91", {}, id="filter-that-nothing-passes"),
        pytest.param("load == bool 91 and load{instance='n0'}", {"n0": _N0}, id="bool-and"),
        pytest.param("load{instance='n0'} or load{instance='n1'}", {"n0": _N0, "n1": _N1}, id="or"),
        pytest.param("load unless load{instance=~'n[1-9]'}", {"n0": _N0}, id="unless"),
        pytest.param("-load{instance='n0'} ^ 2", {"n0": _N0}, id="unary"),
        pytest.param("load{instance='n3'} offset 40s", {"n3": 1.0}, id="offset"),
        pytest.param("load{instance='n3'} @ 1699999970", {"n3": 4.0}, id="at"),
        pytest.param("load{instance='n1'} @ end()", {"n1": _N1}, id="at-end"),
        pytest.param("rate(load{instance='n3'}[5m] offset 40s)", {"n3": 1.0}, id="range-offset"),
        pytest.param("rate(load{instance='n3'}[5m])", {"n3": 41.0}, id="rate-of-the-dead"),
        pytest.param("rate(load{instance='n6'}[10m])", {"n6": None}, id="rate-of-the-long-dead"),
        pytest.param(
            "rate(load{instance='n0'}[5m]) / avg_over_time(load{instance='n0'}[5m] offset 5m)",
            {"n0": 0.0},
            id="against-the-past",
        ),
        pytest.param(
            "max_over_time(load{instance='n3'}[5m:10s] offset 30s)", {"n3": 11.0}, id="sub-offset"
        ),
        pytest.param(
            "histogram_quantile(0.9, label_replace(load{instance='n1'}, 'le', '+Inf', '', ''))",
            {"n1": _N1},
            id="quantile",
        ),
        pytest.param("sort_desc((load{instance='n1'}))", {"n1": _N1}, id="sort"),
        pytest.param(
            "load{instance='n1'} + on (instance) group_right () sum by (instance, device) "
            "(disk_size)",
            {"n1": _N1},
            id="group-right",
        ),
        pytest.param(
            "sum by (instance) (load # a comment\n)",
            {"n0": _N0, "n1": _N1, "n2": 9.0},
            id="comment",
        ),
        pytest.param(
            "sum by (instance) (rate(load{instance='n0'}[1m]) + on (instance) group_left () "
            "(load{instance='n0'} * 0 / 0))",
            {"n0": _N0},
            id="nan",
        ),
    ],
)
def test_kinds_of_expressions(
    server: prometheus.Prometheus, query: str, ages: dict[str, float | None]
) -> None:
    """One query gives each node's value and the age of its sample, None for beyond maxAge."""
    asked = freshness.add_freshness(query, "instance", world.MAX_AGE_SECONDS)
    assert asked.problem == ""
    found = server.query(asked.promql, time=world.NOW)
    alone = server.query(query, time=world.NOW)
    times = {
        one["metric"]["instance"]: float(one["value"][1])
        for one in found
        if freshness.MARK in one["metric"]
    }
    values = [one for one in found if freshness.MARK not in one["metric"]]
    assert sorted(values, key=repr) == sorted(alone, key=repr)
    assert times.keys() == ages.keys() == {one["metric"]["instance"] for one in alone}
    for node, age in ages.items():
        expected = 0.0 if age is None else pytest.approx(world.NOW - age, abs=0.002)
        assert times[node] == expected
