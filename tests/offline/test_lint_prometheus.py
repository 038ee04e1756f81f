from __future__ import annotations

import datetime
import json
import re

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounds
from hypothesis import strategies as st

from policysched import errors
from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lint import linter, settings
from policysched.offline import lint_prometheus
from tests import examples
from tests.promapi import fake_prometheus as fake
from tests.promapi import hostile

NOW = datetime.datetime(2026, 3, 2, tzinfo=datetime.UTC)
TEXT = """metric load: ratio =
  `max by (instance) (rate(busy_seconds_total{mode="idle"}[5m]))`
  node instance missing allow
metric other: ratio = `avg_over_time(used_ratio{disk=~"sd.*"}[5m])` node instance missing allow
"""


def checked(text: str = TEXT) -> checker.CheckResult:
    """Return policies without errors."""
    result = checker.check([source.SourceText("x.policy", text)])
    assert result.program is not None, result.diagnostics
    return result


def ask(url: str, text: str = TEXT) -> lint_prometheus.PrometheusSurvey:
    """Return what a server says about the queries of a text."""
    server = lint_prometheus.make_prometheus_source(url, {})
    return lint_prometheus.survey_prometheus(server, checked(text), NOW, lambda _done, _total: None)


def data(value: object) -> fake.Answer:
    """Return an answer of an endpoint that lists something."""
    return fake.Answer(pieces=(json.dumps({"status": "success", "data": value}).encode(),))


def nothing_there(request: fake.Request) -> fake.Answer:
    """Answer as a server does that has no series at all, but for `vector(1)`."""
    if request.form.get("query") == "vector(1)":
        return fake.success([fake.series("1")])
    return fake.success([]) if request.path.endswith("/query") else data([])


def test_an_unreachable_server_is_one_error() -> None:
    """It is said who cannot be asked and why, and nothing is found."""
    with pytest.raises(errors.RemoteError, match=r"http://127\.0\.0\.1:1 cannot be queried: .+"):
        ask("http://127.0.0.1:1")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(fake.failure(401, "", "who are you"), id="refused"),
        pytest.param(fake.Answer(pieces=(b"<html>",), content_type="text/html"), id="html"),
        pytest.param(fake.failure(503, "", "busy"), id="busy"),
    ],
)
def test_a_server_that_answers_no_query_is_one_error(answer: fake.Answer) -> None:
    """What is no Prometheus, or lets us not in, is told before anything else is asked."""
    with fake.FakePrometheus(answer) as server:
        with pytest.raises(errors.RemoteError, match="cannot be queried"):
            ask(server.url)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "url, words",
    [
        pytest.param("prometheus:9090", "is not the URL", id="no-scheme"),
        pytest.param("http://me:secret@host", "contains a user", id="user"),
    ],
)
def test_a_wrong_address_is_one_error(url: str, words: str) -> None:
    """Nothing is sent, and no secret is quoted."""
    with pytest.raises(errors.InputError, match=words) as raised:
        ask(url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "table, words",
    [
        pytest.param({"url": "http://x"}, "`url` is not a setting", id="unknown"),
        pytest.param({"timeout-seconds": "long"}, "timeout-seconds", id="type"),
        pytest.param({"headers": {"a b": "c"}}, "header `a b`", id="header"),
    ],
)
def test_wrong_settings_are_one_error(table: dict[str, object], words: str) -> None:
    """What the table `prometheus` cannot say is refused by name."""
    with pytest.raises(errors.InputError, match=re.escape(words)):
        lint_prometheus.make_prometheus_source("http://x", table)


def test_settings_reach_the_server() -> None:
    """Headers, prefix and parameters of the settings are sent with each question."""
    with fake.FakePrometheus() as server:
        server.answer = nothing_there
        table = {"headers": {"X-Scope-OrgID": "a"}, "path-prefix": "/prom"}
        lint_prometheus.survey_prometheus(
            lint_prometheus.make_prometheus_source(server.url, table),
            checked(),
            NOW,
            lambda _done, _total: None,
        )
        assert {each.headers["X-Scope-OrgID"] for each in server.requests} == {"a"}
        assert all(each.path.startswith("/prom/api/v1/") for each in server.requests)


def test_questions_are_bounded() -> None:
    """A selector costs at most eight questions, however often it stands in queries."""
    with fake.FakePrometheus() as server:
        server.answer = nothing_there
        asked = ask(server.url, TEXT + TEXT.replace("load", "load2").replace("other", "other2"))
        assert asked.left_out == 0
        assert len(server.requests) < 20
        assert all(int(each.form.get("limit", "1")) <= 1_000 for each in server.requests)


def test_time_is_bounded() -> None:
    """Beyond the limit no further metric is asked about, and that is told."""
    times = iter([0.0, 0.0, 1e9, 1e9, 1e9])
    with fake.FakePrometheus() as server:
        server.answer = nothing_there
        asked = lint_prometheus.survey_prometheus(
            lint_prometheus.make_prometheus_source(server.url, {}),
            checked(),
            NOW,
            lambda _done, _total: None,
            lambda: next(times),
        )
    assert len(asked.facts.queries) == 1
    assert asked.left_out == 1


def test_what_a_server_does_not_offer_is_not_known() -> None:
    """Thanos and Mimir have no targets: rules about scrapes then say nothing."""

    def answer(request: fake.Request) -> fake.Answer:
        if request.path.endswith("/query"):
            return fake.success([fake.series("0.5", instance="n1")])
        return fake.failure(404, "not_found", "no such page")

    with fake.FakePrometheus() as server:
        server.answer = answer
        facts = ask(server.url).facts
    assert facts.scrape_seconds == {}
    assert [each for found in facts.selectors.values() for each in found if not each.is_there] == []


_ANSWERS = st.lists(hostile.bodies, min_size=1, max_size=8)


@bounds(
    max_examples=examples.scale(60), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(_ANSWERS)
def test_no_answer_breaks_lint(bodies: list[bytes]) -> None:
    """Whatever the endpoints answer, lint goes on, or says that the server cannot be asked."""
    given_bodies = iter(bodies * 50)

    def answer(request: fake.Request) -> fake.Answer:
        if request.form.get("query") == "vector(1)":
            return fake.success([fake.series("1")])
        return fake.Answer(pieces=(next(given_bodies),))

    with fake.FakePrometheus() as server:
        server.answer = answer
        facts = ask(server.url).facts
    linter.lint_program(checked(), settings.LintSettings(select=("PS6",)), prometheus=facts)
