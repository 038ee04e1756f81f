from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from policysched import clock as clocks
from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lint import linter, settings
from policysched.offline import lint_prometheus
from tests.lint import cases
from tests.promapi import exporter as exporters
from tests.realcluster import prometheus

if TYPE_CHECKING:
    import pathlib

pytestmark = pytest.mark.e2e

_START_LIMIT_SECONDS = 60.0
_RULES = """\
groups:
- name: nodes
  interval: 1s
  rules:
  - record: instance:busy:rate1m
    expr: avg by (instance) (rate(busy_seconds_total[1m]))
"""
_GOOD = "max by (instance) (rate(busy_seconds_total[2m]))"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[prometheus.Prometheus]:
    """A Prometheus that scrapes two nodes, and has series of three days ago."""
    folder: pathlib.Path = tmp_path_factory.mktemp("prometheus")
    rules = folder / "rules.yml"
    rules.write_text(_RULES, encoding="utf-8")
    past = int(clocks.SystemClock().now().timestamp()) - 3 * 86_400
    series = f'# TYPE gone gauge\ngone{{instance="n1"}} 1 {past}\n# EOF\n'
    with exporters.Exporter() as exporter:
        config = exporter.prometheus_config({"n1": "n1", "n2": "n2:9100"}, "1s")
        config["rule_files"] = [str(rules)]
        with prometheus.Prometheus(folder / "data", config=config, openmetrics=series) as started:
            started.process.wait_until(
                lambda: len(started.query(_GOOD)) == 2,
                time_limit_seconds=_START_LIMIT_SECONDS,
            )
            started.process.wait_until(
                lambda: bool(started.query("instance:busy:rate1m")),
                time_limit_seconds=_START_LIMIT_SECONDS,
            )
            yield started


def found(server: prometheus.Prometheus, query: str, options: str = "") -> list[tuple[str, str]]:
    """Return code and text of what the server's answers make lint say of a query."""
    text = f"""metric load: ratio = `{query}`
  node instance {options} missing allow
policy web {{
  for pods where app = web
  reject when load > 90% over 5m avg as hot
}}
"""
    result = cases.checked(text)
    asked = lint_prometheus.survey_prometheus(
        lint_prometheus.make_prometheus_source(server.url, {}),
        result,
        clocks.SystemClock().now(),
        lambda _done, _total: None,
    )
    assert asked.left_out == 0
    chosen = settings.LintSettings(select=("PS6",))
    findings = linter.lint_program(result, chosen, prometheus=asked.facts).findings
    return [(each.code, f"{each.message} {each.help}") for each in findings]


def test_what_is_right_is_not_reported(server: prometheus.Prometheus) -> None:
    """A query that gives one value in its unit for each node has no finding."""
    assert found(server, _GOOD) == []


@pytest.mark.parametrize(
    "query, code, words",
    [
        pytest.param(
            "max by (instance) (rate(busy_second_total[2m]))",
            "PS601",
            "`busy_seconds_total`",
            id="name",
        ),
        pytest.param("max by (instance) (gone)", "PS607", "have ended", id="gone"),
        pytest.param(
            'max by (instance) (rate(busy_seconds_total{node="n1"}[2m]))',
            "PS607",
            "the label `node`",
            id="label",
        ),
        pytest.param(
            'max by (instance) (rate(busy_seconds_total{instance="n3"}[2m]))',
            "PS607",
            "`n3` as its `instance`",
            id="value",
        ),
        pytest.param(
            "max by (instance) (rate(busy_seconds_total[1s]))", "PS603", "[4s]", id="short"
        ),
        pytest.param(
            "max by (instance) (rate(busy_seconds_total[3s]))", "PS610", "[4s]", id="shortish"
        ),
        pytest.param(
            "avg by (instance) (rate(busy_seconds_total[1m]))",
            "PS606",
            "`instance:busy:rate1m`",
            id="recorded",
        ),
        pytest.param("100 + max by (instance) (up)", "PS605", "percentage", id="values"),
        pytest.param("busy_seconds_total / up", "PS612", "on (", id="empty"),
        pytest.param(
            "sum without (job) (busy_seconds_total) / on (job) group_left () up",
            "PS611",
            "web interface",
            id="refused",
        ),
        pytest.param("max by (instance) (rate(load[2m]))", "PS608", "deriv", id="gauge"),
    ],
)
def test_what_is_wrong_is_found(
    server: prometheus.Prometheus, query: str, code: str, words: str
) -> None:
    """Each rule sees what it is about in the answers of a real server."""
    findings = found(server, query)
    assert code in {each for each, _ in findings}, findings
    assert any(words in text for each, text in findings if each == code), findings


def test_the_age_of_samples_is_compared_with_scrapes(server: prometheus.Prometheus) -> None:
    """A maxAge that is less than scrape interval and refresh together is reported."""
    findings = found(server, _GOOD, "refresh 2s maxAge 2s")
    assert [code for code, _ in findings] == ["PS609"]


def test_costs_are_compared_with_thresholds(server: prometheus.Prometheus) -> None:
    """The server says how many samples a query looks at, and the limit is a setting."""
    result = checker.check(
        [source.SourceText("x.policy", f"metric a: ratio = `{_GOOD}` node instance")]
    )
    asked = lint_prometheus.survey_prometheus(
        lint_prometheus.make_prometheus_source(server.url, {}),
        result,
        clocks.SystemClock().now(),
        lambda _done, _total: None,
    )
    (facts,) = asked.facts.queries.values()
    assert facts.read_samples is not None
    assert facts.read_samples >= 2
    assert facts.seconds is not None
