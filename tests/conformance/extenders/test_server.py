"""Scripted extenders answer as their script says, and every request is noted."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.extenders import script, server

_EXTENDER = {"urlPrefix": "/e0/", "filterVerb": "v1/filter", "prioritizeVerb": "rank"}
_NODES = ("a", "b", "c")


@pytest.fixture(scope="module")
def extenders() -> Iterator[server.ExtenderServer]:
    """One server: that nothing of a case is left is part of what the tests show."""
    with server.ExtenderServer() as running:
        yield running


def _case(**table: dict[str, Any]) -> script.Json:
    nodes = [{"kind": "Node", "metadata": {"name": name, "labels": {}}} for name in _NODES]
    return {
        "cluster": {"items": nodes},
        "config": {"extenders": [_EXTENDER]},
        "script": [table],
    }


def _post(extenders: server.ExtenderServer, path: str, body: script.Json) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(extenders.url.removeprefix("http://"), timeout=20)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _about(pod: str) -> script.Json:
    return {"Pod": {"metadata": {"name": pod}}, "Nodes": None, "NodeNames": [*_NODES]}


@pytest.mark.parametrize(
    "answer, kept, texts",
    [
        pytest.param({}, ["a", "b", "c"], {}, id="accept"),
        pytest.param({"drop": ["a"]}, ["b", "c"], {}, id="drop"),
        pytest.param({"fail": {"a": "no"}}, ["b", "c"], {"a": "no"}, id="fail"),
        pytest.param({"fail": {"a": "no"}, "keep": ["a"]}, [*_NODES], {"a": "no"}, id="keep"),
        pytest.param({"add": ["d"]}, ["a", "b", "c", "d"], {}, id="add"),
    ],
)
def test_rules_are_about_the_nodes_that_were_sent(
    extenders: server.ExtenderServer,
    answer: script.Answer,
    kept: list[str],
    texts: dict[str, str],
) -> None:
    """Names were sent, so names are answered."""
    extenders.begin(_case(filter={"p": [answer]}))
    _, body = _post(extenders, "/e0/v1/filter", _about("p"))
    reply = json.loads(body)
    assert reply["NodeNames"] == kept
    assert reply["FailedNodes"] == texts
    assert "Nodes" not in reply


def test_answers_come_in_their_order_and_requests_are_noted(
    extenders: server.ExtenderServer,
) -> None:
    """The last answer is for all further calls; a pod without answers is accepted."""
    extenders.begin(_case(filter={"p": [{"error": "first"}, {"error": "then"}]}))
    pods = ("p", "q", "p", "p")
    errors = [json.loads(_post(extenders, "/e0/v1/filter", _about(pod))[1]) for pod in pods]
    assert [each["Error"] for each in errors] == ["first", "", "then", "then"]
    noted = extenders.finish()
    assert [each.body for each in noted] == [_about(pod) for pod in pods]
    assert {(each.extender, each.verb, each.content_type) for each in noted} == {
        (0, "filter", "application/json")
    }


def test_nodes_come_back_as_they_were_sent(extenders: server.ExtenderServer) -> None:
    """Names of fields are spelled otherwise; those inside of nodes are not."""
    extenders.begin(_case(filter={"p": [{"drop": ["b"], "spelling": "lower", "extra": True}]}))
    nodes = [{"metadata": {"name": name}, "Error": "part of a node"} for name in ("a", "b")]
    _, body = _post(
        extenders, "/e0/v1/filter", {**_about("p"), "Nodes": {"items": nodes}, "NodeNames": None}
    )
    reply = json.loads(body)
    assert reply["nodes"] == {"items": nodes[:1]}
    assert reply["unknown"] == {"Error": "none"}


@pytest.mark.parametrize(
    "answer, status, body",
    [
        pytest.param({"status": 500}, 500, b"out of order", id="status"),
        pytest.param({"body": ""}, 200, b"", id="empty"),
        pytest.param(
            {"scores": [["a", -1]], "trailing": "]"},
            200,
            b'[{"Host": "a", "Score": -1}]]',
            id="trailing",
        ),
    ],
)
def test_faults(
    extenders: server.ExtenderServer, answer: script.Answer, status: int, body: bytes
) -> None:
    """They are sent as written."""
    extenders.begin(_case(prioritize={"p": [answer]}))
    assert _post(extenders, "/e0/rank", _about("p")) == (status, body)


def test_a_connection_is_closed_without_an_answer(extenders: server.ExtenderServer) -> None:
    """The request is noted all the same."""
    extenders.begin(_case(filter={"p": [{"hang_up": True}]}))
    with pytest.raises(http.client.RemoteDisconnected):
        _post(extenders, "/e0/v1/filter", _about("p"))
    assert len(extenders.finish()) == 1


def test_an_unknown_path_is_not_found(extenders: server.ExtenderServer) -> None:
    """It belongs to no extender."""
    extenders.begin(_case())
    assert _post(extenders, "/e0/bind", _about("p"))[0] == 404
    assert not extenders.finish()


def test_a_request_that_the_script_cannot_answer_is_an_error(
    extenders: server.ExtenderServer,
) -> None:
    """A fault of the test itself does not pass for one of the extender."""
    extenders.begin(_case())
    with pytest.raises(http.client.RemoteDisconnected):
        _post(extenders, "/e0/v1/filter", {})
    with pytest.raises(ExceptionGroup, match="the script fails"):
        extenders.finish()
