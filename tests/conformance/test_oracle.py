"""The oracle against recorded answers of kube-scheduler, and as a process."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests import line_process
from tests.conformance import cases, oracle_process

pytestmark = pytest.mark.e2e

_EVERY = 3
"""Which of the recorded cases are asked."""


@pytest.fixture(scope="module")
def oracle() -> Iterator[oracle_process.Oracle]:
    """One oracle for all tests here: that it carries nothing over is part of what they show."""
    with oracle_process.Oracle() as running:
        yield running


def _list(*items: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def _node(name: str, **spec: object) -> dict[str, Any]:
    resources = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": spec,
        "status": {"allocatable": resources, "capacity": resources},
    }


def _pod(name: str, **spec: object) -> dict[str, Any]:
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name, "labels": {"app": "web"}},
        "spec": {"schedulerName": "default-scheduler", "containers": [container], **spec},
    }


@pytest.mark.parametrize("family", cases.FAMILIES)
def test_the_oracle_says_what_was_recorded(oracle: oracle_process.Oracle, family: str) -> None:
    """Every field of verdicts, placements and preemption is the one of the recorded answer."""
    asked = 0
    with gzip.open(cases.DATA / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in itertools.islice(lines, 0, None, _EVERY):
            record = json.loads(line)
            questions = [key for key in ("verdict", "place", "preempt") if key in record]
            answer = oracle.ask(record["cluster"], *questions)
            for question in questions:
                assert answer[question] == record[question], record["name"]
            asked += 1
    assert asked == 30 // _EVERY


def test_the_profile_can_be_changed(oracle: oracle_process.Oracle) -> None:
    """Weights, disabled plugins and arguments count, for that case only."""
    cluster = _list(_node("a"), _node("b"), _pod("waits", priority=0))
    config = {
        "weights": {"TaintToleration": 7},
        "disabled": ["ImageLocality"],
        "pluginConfig": [
            {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
        ],
    }
    usual = oracle.ask(cluster, oracle_process.VERDICT)["verdict"][0]["scores"]["a"]
    changed = oracle.ask(cluster, oracle_process.VERDICT, config=config)["verdict"][0]["scores"][
        "a"
    ]
    assert (usual["TaintToleration"], changed["TaintToleration"]) == (300, 700)
    assert (usual["NodeResourcesFit"], changed["NodeResourcesFit"]) == (86, 13)
    assert usual.keys() - changed.keys() == {"ImageLocality"}
    assert oracle.ask(cluster, oracle_process.VERDICT)["verdict"][0]["scores"]["a"] == usual


def test_nodes_that_are_equally_good_for_preemption_are_all_named(
    oracle: oracle_process.Oracle,
) -> None:
    """Victims that have not started are equal; the smallest name is nominated."""
    full = {"containers": [{"name": "main", "image": "a", "resources": {"requests": {"cpu": "4"}}}]}
    victims = [_pod(f"on-{node}", nodeName=node, priority=-1, **full) for node in ("b", "a", "c")]
    victims[2]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    cluster = _list(*(_node(name) for name in ("b", "a", "c")), *victims, _pod("waits", **full))
    for _ in range(3):
        [answer] = oracle.ask(cluster, oracle_process.PREEMPT)["preempt"]
        assert answer["best"] == ["a", "b", "c"]
        assert (answer["nominated"], answer["victims"]) == ("a", ["default/on-a"])
        assert answer["deleted"] == ["default/on-a"]


def test_a_placed_pod_is_scored_as_if_it_was_still_to_be_placed(
    oracle: oracle_process.Oracle,
) -> None:
    """Its own requests are not on the node then; a node that it must not be on has no score."""
    nodes = _node("a"), _node("b", unschedulable=True)
    [verdict] = oracle.ask(_list(*nodes, _pod("waits")), oracle_process.VERDICT)["verdict"]
    score = verdict["scores"]["a"]["total"]
    for node, expected in (("a", score), ("b", None)):
        placed = _list(*nodes, _pod("waits", nodeName=node))
        assert oracle.ask(placed, oracle_process.RESCORE)["rescore"] == [
            {"pod": "default/waits", "node": node, "score": expected, "best": score}
        ]


@pytest.mark.parametrize(
    "cluster, config, message",
    [
        pytest.param({"items": 1}, None, "cluster: ", id="no-list"),
        pytest.param(_list({**_node("a"), "spec": 3}), None, "item 0", id="no-node"),
        pytest.param(
            _list(), {"weights": {"Nonsense": 1}}, '"Nonsense" does not exist', id="unknown-plugin"
        ),
        pytest.param(
            _list(),
            {"pluginConfig": [{"name": "NodeAffinity", "args": {"added": 1}}]},
            "strict decoding error",
            id="unknown-argument",
        ),
    ],
)
def test_a_case_that_cannot_be_answered_is_an_error_of_that_case(
    oracle: oracle_process.Oracle,
    cluster: dict[str, Any],
    config: dict[str, Any] | None,
    message: str,
) -> None:
    """The process says what is wrong and answers the next case."""
    with pytest.raises(line_process.OracleError, match=message):
        oracle.ask(cluster, oracle_process.VERDICT, config=config)
    answer = oracle.ask(_list(_node("a"), _pod("waits")), oracle_process.PLACE)
    assert answer["place"][0]["node"] == "a"


def test_an_oracle_that_has_ended_is_an_error() -> None:
    """Whoever asks it learns that there is no answer."""
    with oracle_process.Oracle() as ended:
        pass
    with pytest.raises(line_process.OracleError, match="has ended"):
        ended.ask(_list(), oracle_process.VERDICT)


def test_pods_are_normalised_as_on_creation(oracle: oracle_process.Oracle) -> None:
    """Defaults, the priority of the class and label keys are there; what was given stays."""
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
        "matchLabelKeys": ["app"],
    }
    urgent = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 70,
        "preemptionPolicy": "Never",
    }
    pod = _pod("waits", priorityClassName="urgent", topologySpreadConstraints=[spread])
    pod["status"] = {"nominatedNodeName": "a"}
    given = _list(_node("a"), urgent, pod)
    node, _, normalised = oracle.ask(given, oracle_process.NORMALIZE)["cluster"]["items"]
    assert node["status"]["allocatable"] == _node("a")["status"]["allocatable"]
    assert normalised["status"] == pod["status"]
    spec = normalised["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (70, "Never")
    assert spec["containers"][0]["imagePullPolicy"] == "Always"
    assert spec["topologySpreadConstraints"][0]["labelSelector"] == {
        "matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]
    }


@pytest.mark.parametrize(
    "item, message",
    [
        pytest.param(_pod("waits", priorityClassName="missing"), "missing", id="no-class"),
        pytest.param(
            _pod("waits", tolerations=[{"key": "a", "operator": "Maybe"}]), "Maybe", id="invalid"
        ),
        pytest.param(
            _node("a", taints=[{"key": "a", "effect": "Never"}]), "Never", id="invalid-node"
        ),
    ],
)
def test_normalising_refuses_what_the_api_server_would(
    oracle: oracle_process.Oracle, item: dict[str, Any], message: str
) -> None:
    """A cluster that cannot exist is an error that names the object."""
    with pytest.raises(line_process.OracleError, match=rf"{item['kind']} .*{message}"):
        oracle.ask(_list(item), oracle_process.NORMALIZE)
