"""The page /debug/decisions."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from policysched.observability import decision_page
from policysched.serving import http_server
from tests import report_schemas
from tests.observability import busy_world

LIMIT = 1000


@pytest.fixture(scope="module")
def page() -> decision_page.DecisionPage:
    """The page of a scheduler that has done a bit of everything."""
    return decision_page.DecisionPage(busy_world.play().scheduler.decisions, LIMIT)


def _answer(page: decision_page.DecisionPage, **query: str) -> dict[str, Any]:
    asked = http_server.QueryParameters({name: (value,) for name, value in query.items()})
    answer = page.make_page(asked)
    assert (answer.status, answer.content_type) == (200, "application/json")
    found: dict[str, Any] = orjson.loads(answer.body)
    report_schemas.check_report(found, "decisions")
    return found


def test_the_newest_decision_is_the_first(page: decision_page.DecisionPage) -> None:
    """All attempts are there, those of pods that were tried twice too."""
    found = _answer(page)
    assert (found["kept"], found["limit"]) == (11, LIMIT)
    late = [f"default/late-{number}" for number in reversed(range(6))]
    first = ["default/refused", "default/waits", "default/refused", "default/a"]
    pods = [each["pod"] for each in found["decisions"]]
    assert sorted(pods) == sorted([*late, "default/big", *first])
    assert pods[-3:] == first[1:]


@pytest.mark.parametrize(
    "query, pods",
    [
        pytest.param({"pod": "default/a"}, ["default/a"], id="pod"),
        pytest.param({"pod": "default/nobody"}, [], id="unknown pod"),
        pytest.param({"result": "scheduled"}, ["default/waits", "default/a"], id="result"),
        pytest.param({"result": "scheduled", "limit": "1"}, ["default/waits"], id="limit"),
        pytest.param({"result": "error"}, ["default/refused"], id="error"),
        pytest.param({"limit": "0"}, [], id="none"),
    ],
)
def test_decisions_are_chosen_by_query(
    page: decision_page.DecisionPage, query: dict[str, str], pods: list[str]
) -> None:
    """By pod, by result, and not more than asked for."""
    assert [each["pod"] for each in _answer(page, **query)["decisions"]] == pods


@pytest.mark.parametrize(
    "query, problem",
    [
        ({"limit": "-1"}, "`limit`"),
        ({"limit": "many"}, "`limit`"),
        ({"limit": "9" * 5000}, "`limit`"),
        ({"result": "bound"}, "scheduled, unschedulable, error"),
        ({"pod": "a"}, "NAMESPACE/NAME"),
    ],
)
def test_a_query_without_meaning_is_refused(
    page: decision_page.DecisionPage, query: dict[str, str], problem: str
) -> None:
    """With what may stand there instead."""
    asked = http_server.QueryParameters({name: (value,) for name, value in query.items()})
    answer = page.make_page(asked)
    assert answer.status == 400
    assert problem in answer.body.decode()


def test_a_bound_pod_has_its_times(page: decision_page.DecisionPage) -> None:
    """Waits for Permit are part of the attempt, and the pod's policies are named."""
    (found,) = _answer(page, pod="default/waits")["decisions"]
    assert (found["result"], found["node"], found["message"]) == ("scheduled", "n1", "")
    assert (found["profile"], found["policies"]) == ("default-scheduler", ["web-tier"])
    assert found["policyHash"] == "3f2a91c0ffee"
    assert (found["decidedSeconds"], found["endedSeconds"]) == (0.0, 3.0)
    waits = [(each["point"], each["seconds"]) for each in found["points"] if each["seconds"]]
    assert waits == [("WaitOnPermit", 3.0)]
    assert found["best"] == ["n1"]


def test_a_binding_that_failed_is_told(page: decision_page.DecisionPage) -> None:
    """The node stays, the result is an error, and the message says what went wrong."""
    (found,) = _answer(page, pod="default/refused", result="error")["decisions"]
    assert found["node"] == "n1"
    assert found["message"] == 'running Bind plugin "DefaultBinder": no such pod'


def test_a_pod_that_fits_nowhere_has_its_rejections(page: decision_page.DecisionPage) -> None:
    """Which plugin, how many nodes, and some of their names."""
    (found,) = _answer(page, pod="default/late-1")["decisions"]
    assert found["rejections"] == [
        {
            "plugin": "Room",
            "code": "Unschedulable",
            "reasons": ["Too many pods"],
            "policy": "",
            "rule": "",
            "line": 0,
            "nodes": 1,
            "examples": ["n1"],
        }
    ]
    assert (found["nodes"], found["feasible"], found["node"]) == (1, 0, None)


def test_a_preemption_names_node_and_victims(page: decision_page.DecisionPage) -> None:
    """The pod is unschedulable for now, and it is said who has to go for it."""
    (found,) = _answer(page, pod="default/big")["decisions"]
    assert (found["nominatedNode"], found["victims"]) == ("n1", ["default/a"])
