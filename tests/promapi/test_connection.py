from __future__ import annotations

import contextlib
import gzip
import json
import logging
import pathlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policysched.promapi import answers, connection, failures
from policysched.promapi import settings as source_settings
from tests import examples
from tests.promapi import fake_prometheus as fake
from tests.promapi import hostile
from tests.realcluster import process

SECRET = "s3cr3t-t0k3n"


def _ask(url: str, **options: Any) -> Any:
    source = source_settings.PrometheusSource(url, **options)
    with connection.PrometheusClient("p", source) as connected:
        return connected.ask("up")


@pytest.mark.parametrize(
    "answer, cause, text",
    [
        pytest.param(
            fake.success([1000, "1"], "scalar"), "wrong_type", "returns a scalar", id="scalar"
        ),
        pytest.param(fake.success([1000, "x"], "string"), "wrong_type", "a string", id="string"),
        pytest.param(fake.success([], "matrix"), "wrong_type", "a matrix", id="matrix"),
        pytest.param(
            fake.failure(200, "bad_data", "no"), "refused", "bad_data: no", id="error-with-200"
        ),
        pytest.param(
            fake.failure(400, "bad_data", "parse error"), "refused", "HTTP 400: bad_data", id="400"
        ),
        pytest.param(fake.failure(422, "execution", "many"), "refused", "many", id="422"),
        pytest.param(fake.failure(503, "timeout", "slow"), "timeout", "slow", id="query-timeout"),
        pytest.param(fake.Answer(503, (b"busy",)), "overloaded", "HTTP 503", id="503"),
        pytest.param(fake.Answer(429), "overloaded", "HTTP 429", id="429"),
        pytest.param(fake.Answer(500), "server_error", "HTTP 500", id="500"),
        pytest.param(fake.Answer(401), "credential", "missing or refused", id="401"),
        pytest.param(fake.Answer(403), "credential", "missing or refused", id="403"),
        pytest.param(
            fake.Answer(302, headers={"Location": f"http://x/?t={SECRET}"}),
            "malformed",
            "a redirect, which is not followed",
            id="redirect",
        ),
        pytest.param(
            fake.Answer(404, (b"<html>no</html>",), content_type="text/html"),
            "malformed",
            "check address, path prefix and method",
            id="404-html",
        ),
        pytest.param(
            fake.Answer(200, (b"<html>login</html>",), content_type="text/html; charset=x"),
            "malformed",
            "the answer is `text/html`",
            id="html",
        ),
        pytest.param(
            fake.Answer(200, (b'{"status":"succ',)), "malformed", "cut off", id="cut-off-json"
        ),
        pytest.param(fake.Answer(200, (b"",)), "malformed", "cut off", id="nothing"),
        pytest.param(
            fake.Answer(200, (b"[]",)), "malformed", "not an answer of Prometheus", id="a-list"
        ),
        pytest.param(fake.Answer(200, (b"[" * 100_000,)), "malformed", "cut off", id="deep"),
        pytest.param(
            fake.Answer(200, (b'{"status":"success"}',)), "malformed", "no data", id="no-data"
        ),
        pytest.param(
            fake.success([{"metric": {"a": 1}}]),
            "malformed",
            "not a valid instant vector",
            id="bad-labels",
        ),
        pytest.param(
            fake.success([fake.series(1.5, a="b")]),
            "malformed",
            "not a valid instant vector",
            id="no-text",
        ),
        pytest.param(
            fake.Answer(200, (b'{"status"',), length=5000), "unreachable", "", id="cut-connection"
        ),
        pytest.param(
            fake.Answer(200, (b"nonsense",), {"Content-Encoding": "gzip"}),
            "unreachable",
            "the connection failed",
            id="not-gzip",
        ),
    ],
)
def test_each_bad_answer_has_its_cause(answer: fake.Answer, cause: str, text: str) -> None:
    """Whatever comes instead of a vector is one error that says what it is, and one request."""
    with fake.FakePrometheus(answer) as server:
        with pytest.raises(failures.QueryError) as caught:
            _ask(server.url, bearer_token=SECRET)
        assert len(server.requests) == 1
    assert caught.value.cause == cause
    assert text in str(caught.value)
    assert SECRET not in str(caught.value)


def test_an_answer_has_values_times_and_remarks() -> None:
    """Warnings, infos and the word of a partial answer arrive, which the client library drops."""
    result = [
        fake.series("0.5", instance="a"),
        fake.series("NaN", instance="b"),
        fake.series("1_0", instance="c"),
        {"metric": {"instance": "d"}, "histogram": [1000, {"count": "1"}]},
        fake.measured(990.5, instance="a"),
    ]
    answer = fake.success(result, warnings=["w"], infos=["i"], isPartial=True)
    with fake.FakePrometheus(answer) as server:
        found = _ask(server.url)
    values = {one.labels["instance"]: str(one.value) for one in found.series}
    assert values == {"a": "0.5", "b": "nan", "c": "None", "d": "None"}
    assert [(dict(one.labels)["instance"], one.value) for one in found.measured] == [("a", 990.5)]
    assert found.evaluated_at_seconds == 1000.0
    assert (found.warnings, found.infos, found.is_partial) == (("w",), ("i",), True)


def test_compressed_answers_are_read() -> None:
    """Servers compress when they may."""
    body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}})
    answer = fake.Answer(200, (gzip.compress(body.encode()),), headers={"Content-Encoding": "gzip"})
    with fake.FakePrometheus(answer) as server:
        assert _ask(server.url).series == ()


@pytest.fixture(scope="module")
def answering() -> Any:
    """A server whose answers a test sets."""
    with fake.FakePrometheus() as server:
        yield server


@settings(max_examples=examples.scale(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    body=hostile.bodies, status=st.sampled_from([200, 200, 200, 204, 302, 400, 404, 422, 500, 503])
)
def test_whatever_comes_is_an_answer_or_one_error(
    answering: fake.FakePrometheus, body: bytes, status: int
) -> None:
    """No server can make anything but a vector or a QueryError."""
    pieces = () if status == 204 else (body,)
    answering.answer = lambda _: fake.Answer(status, pieces)
    with contextlib.suppress(failures.QueryError):
        found = _ask(answering.url)
        assert status == 200
        assert all(isinstance(one.value, float | None) for one in found.series)


def test_slow_answers_end_in_time() -> None:
    """An answer that comes in drops counts as a whole towards the limit."""
    ticks = iter(range(10_000))
    source = source_settings.PrometheusSource("x", timeout_seconds=5)
    pieces = tuple(b" " for _ in range(50))
    with fake.FakePrometheus(fake.Answer(200, pieces)) as server:
        source = source_settings.PrometheusSource(server.url, timeout_seconds=5)
        # Each look at the clock takes a second, so that few pieces arrive in time.
        slow = connection.PrometheusClient("p", source, lambda: float(next(ticks)) * 6)
        with slow, pytest.raises(failures.QueryError, match="no complete answer within 5 s"):
            slow.ask("up")


def test_an_answer_that_stops_is_given_up() -> None:
    """A server that says no more is not waited for."""
    stopping = fake.Answer(200, (b"{", None), length=100)
    with (
        fake.FakePrometheus(stopping) as server,
        pytest.raises(failures.QueryError) as caught,
    ):
        _ask(server.url, timeout_seconds=0.2)
    assert caught.value.cause == failures.QueryIssue.TIMEOUT


def test_too_large_answers_are_not_read_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is not a server's to spend."""
    monkeypatch.setattr(connection, "MAX_ANSWER_BYTES", 1000)
    with (
        fake.FakePrometheus(fake.Answer(200, (b" " * 5000,))) as server,
        pytest.raises(failures.QueryError) as caught,
    ):
        _ask(server.url)
    assert caught.value.cause == failures.QueryIssue.TOO_LARGE


def test_more_series_than_a_cluster_can_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted before any of them is read."""
    monkeypatch.setattr(answers, "MAX_SERIES", 2)
    three = [fake.series("1", a=str(number)) for number in range(3)]
    with (
        fake.FakePrometheus(fake.success(three)) as server,
        pytest.raises(failures.QueryError, match="3 series, more than 2") as caught,
    ):
        _ask(server.url)
    assert caught.value.cause == failures.QueryIssue.TOO_LARGE


@pytest.mark.parametrize(
    "scheme, text", [("http", "connection refused"), ("https", "connection refused")]
)
def test_nobody_there_is_said_shortly(scheme: str, text: str) -> None:
    """The reason is at the root of what the libraries raise; the rest would quote the query."""
    url = f"{scheme}://127.0.0.1:{process.free_port()}"
    with pytest.raises(failures.QueryError) as caught:
        _ask(url, method="GET", query_params={"token": SECRET})
    assert (caught.value.cause, str(caught.value)) == (failures.QueryIssue.UNREACHABLE, text)


# --- how a server is spoken to ----------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_query_goes_where_and_how_the_settings_say(method: str) -> None:
    """Path prefix, headers, further parameters and the time limit are sent with the query."""
    with fake.FakePrometheus() as server:
        _ask(
            f"{server.url}/base/",
            path_prefix="/prom",
            headers={"X-Scope-OrgID": "team-a"},
            query_params={"dedup": "true"},
            timeout_seconds=7.5,
            method=method,
        )
    (request,) = server.requests
    assert (request.method, request.path) == (method, "/base/prom/api/v1/query")
    assert request.form == {"query": "up", "dedup": "true", "timeout": "7.5s"}
    assert request.headers["X-Scope-OrgID"] == "team-a"
    assert request.headers["User-Agent"].startswith("policysched/")
    assert "Authorization" not in request.headers


def test_a_long_query_does_not_go_into_the_url() -> None:
    """The client library would put it there, where it may be too long."""
    with fake.FakePrometheus() as server:
        source = source_settings.PrometheusSource(server.url)
        with connection.PrometheusClient("p", source) as connected:
            connected.ask("x" * 200_000)
    assert len(server.requests[0].query) == 200_000


def test_credentials_are_sent(tmp_path: pathlib.Path) -> None:
    """Tokens and passwords, from settings or files."""
    path = tmp_path / "secret"
    path.write_text("from-file\n")
    with fake.FakePrometheus() as server:
        _ask(server.url, bearer_token="inline")
        _ask(server.url, bearer_token_file=str(path))
        auth = source_settings.BasicAuth
        _ask(server.url, basic_auth=auth("u", password="pässword"))
        _ask(server.url, basic_auth=auth("u", password_file=str(path)))
    assert [request.headers["Authorization"] for request in server.requests] == [
        "Bearer inline",
        "Bearer from-file",
        fake.basic("u", "pässword"),
        fake.basic("u", "from-file"),
    ]


def test_a_token_file_is_read_again_when_it_changes(tmp_path: pathlib.Path) -> None:
    """Kubelets replace tokens while the scheduler runs."""
    path = tmp_path / "token"
    path.write_text("first")
    with fake.FakePrometheus() as server:
        source = source_settings.PrometheusSource(server.url, bearer_token_file=str(path))
        with connection.PrometheusClient("p", source) as connected:
            connected.ask("up")
            path.write_text("another")
            connected.ask("up")
            path.unlink()
            with pytest.raises(failures.QueryError, match=r"`.*token` cannot be read: No such"):
                connected.ask("up")
            path.write_text("\n")
            with pytest.raises(
                failures.QueryError, match="contains no token or password"
            ) as caught:
                connected.ask("up")
    assert caught.value.cause == failures.QueryIssue.CREDENTIAL
    sent = [request.headers["Authorization"] for request in server.requests]
    assert sent == ["Bearer first", "Bearer another"]


def test_the_users_netrc_is_left_alone(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`requests` would send what ~/.netrc has for a host, over the token that was configured."""
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login me password {SECRET}\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with fake.FakePrometheus() as server:
        _ask(server.url)
        _ask(server.url, bearer_token="mine")
    assert [r.headers.get("Authorization") for r in server.requests] == [None, "Bearer mine"]


def test_cookies_are_not_kept() -> None:
    """One answer must not change how the next query is sent."""
    answer = fake.success([])
    with fake.FakePrometheus(
        fake.Answer(200, answer.pieces, {"Set-Cookie": "session=1; Path=/"})
    ) as server:
        source = source_settings.PrometheusSource(server.url)
        with connection.PrometheusClient("p", source) as connected:
            connected.ask("up")
            connected.ask("up")
    assert "Cookie" not in server.requests[1].headers


def test_a_query_leaves_no_trace_in_logs(caplog: pytest.LogCaptureFixture) -> None:
    """The libraries would log URLs, in which parameters of a GET are."""
    with caplog.at_level(logging.DEBUG), fake.FakePrometheus() as server:
        _ask(server.url, method="GET", query_params={"token": SECRET})
        assert server.requests[0].form["token"] == SECRET
    assert SECRET not in caplog.text


def test_secrets_do_not_show() -> None:
    """What is printed or logged of settings has no secret in it."""
    auth = source_settings.BasicAuth("u", password=SECRET)
    source = source_settings.PrometheusSource(
        "http://h", bearer_token=SECRET, headers={"X": SECRET}, basic_auth=auth
    )
    assert SECRET not in f"{source!r} {auth!r} {connection.PrometheusClient('p', source)!r}"
