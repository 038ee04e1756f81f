"""Every part of an outcome and of a request is compared."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.conformance.extenders import compare, outcomes, server

_OUTCOME = outcomes.PodOutcome(
    pod="default/p",
    node="a",
    feasible=("a", "b"),
    totals={"a": 5, "b": 4},
    is_bound=True,
    binder="api",
)
_POD = {"metadata": {"name": "p"}}


def _exchange(verb: str = "filter", extender: int = 0, **body: Any) -> server.Exchange:
    names = {"Pod": _POD, "Nodes": None, "NodeNames": ["a", "b"]}
    return server.Exchange(
        extender=extender,
        verb=verb,
        method="POST",
        content_type="application/json",
        body={**names, **body},
        answer={},
        reply=None,
    )


_RUN = compare.Run([_OUTCOME], [_exchange()])


def _aspects(ours: compare.Run, theirs: compare.Run) -> list[str]:
    return [each.aspect for each in compare.find_differences(ours, theirs)]


@pytest.mark.parametrize(
    "changed",
    [
        {"node": "b"},
        {"feasible": ("a",)},
        {"totals": {"a": 5, "b": 5}},
        {"statuses": {"a": outcomes.NodeStatus(code="Unschedulable", reasons=("full",))}},
        {"plugins": ("Extender",)},
        {"reason": "Unschedulable"},
        {"message": "no"},
        {"nominated": ""},
        {"cleared": ("default/q",)},
        {"victims": ("default/q",)},
        {"is_bound": False},
        {"binder": "extender"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_wrong_outcome_is_found(changed: dict[str, Any]) -> None:
    """The name of the part is the aspect."""
    wrong = compare.Run([dataclasses.replace(_OUTCOME, **changed)], _RUN.exchanges)
    assert _aspects(_RUN, _RUN) == []
    assert _aspects(wrong, _RUN) == list(changed)
    assert _aspects(_RUN, wrong) == list(changed)


@pytest.mark.parametrize(
    "ours, theirs, is_equal",
    [
        pytest.param(("Extender",), ("Extender", "NodePorts"), True, id="woken-by-anything"),
        pytest.param(("NodePorts",), ("Extender", "NodePorts"), False, id="no-extender"),
        pytest.param(("Extender", "NodePorts"), ("NodePorts",), False, id="no-extender-there"),
        pytest.param(("NodePorts",), ("NodePorts", "NodeName"), False, id="without-extenders"),
    ],
)
def test_plugins_do_not_matter_beside_extenders(
    ours: tuple[str, ...], theirs: tuple[str, ...], is_equal: bool
) -> None:
    """They decide which events may help; if an extender rejected the pod, all may."""
    runs = [
        compare.Run([dataclasses.replace(_OUTCOME, plugins=each)], []) for each in (ours, theirs)
    ]
    assert _aspects(*runs) == ([] if is_equal else ["plugins"])


@pytest.mark.parametrize(
    "ours, theirs, is_equal",
    [
        pytest.param("EOF", "unexpected EOF", True, id="words-of-Go"),
        pytest.param("no JSON", 'Post "http://e0": EOF', True, id="connection"),
        pytest.param("", "unexpected EOF", False, id="no-words"),
        pytest.param("0/1. preemption: slow", "0/1. preemption: json: bad", True, id="inside"),
        pytest.param("0/2. preemption: slow", "0/1. preemption: json: bad", False, id="before"),
        pytest.param("code 500", "code 501", False, id="exact"),
    ],
)
def test_words_of_go_are_not_compared(ours: str, theirs: str, is_equal: bool) -> None:
    """What stands before them is."""
    runs = [
        compare.Run([dataclasses.replace(_OUTCOME, message=text)], []) for text in (ours, theirs)
    ]
    assert _aspects(*runs) == ([] if is_equal else ["message"])


def test_nodes_without_victims_have_no_order() -> None:
    """kube-scheduler begins with any node."""
    texts = [f'expected at least one victim pod on node "{name}"' for name in ("a", "b")]
    runs = [
        compare.Run([dataclasses.replace(_OUTCOME, message=f"0/2. preemption: [{text}]")], [])
        for text in (", ".join(texts), ", ".join(reversed(texts)), texts[0])
    ]
    assert _aspects(runs[0], runs[1]) == []
    assert _aspects(runs[0], runs[2]) == ["message"]


@pytest.mark.parametrize(
    "changed, aspect",
    [
        ([], "order of requests"),
        ([_exchange(), _exchange()], "order of requests"),
        ([_exchange(extender=1)], "order of requests"),
        ([_exchange("prioritize")], "order of requests"),
        ([_exchange(NodeNames=["a"])], "NodeNames in requests of filter"),
        ([_exchange(Nodes={"items": []})], "Nodes in requests of filter"),
        ([_exchange(Pod={**_POD, "spec": {}})], "Pod in requests of filter"),
        ([_exchange(Extra=None)], "Extra in requests of filter"),
        ([dataclasses.replace(_exchange(), method="PUT")], "method of filter"),
        ([dataclasses.replace(_exchange(), content_type="text/plain")], "content_type of filter"),
    ],
)
def test_a_wrong_request_is_found(changed: list[server.Exchange], aspect: str) -> None:
    """Requests have their order, and each is compared as JSON."""
    assert _aspects(compare.Run([_OUTCOME], changed), _RUN) == [aspect]


def test_what_has_no_order_is_not_compared_by_order() -> None:
    """Nodes in a request, and Prioritize requests about one pod."""
    theirs = [_exchange(), _exchange("prioritize"), _exchange("prioritize", 1)]
    ours = [_exchange(NodeNames=["b", "a"]), theirs[2], theirs[1]]
    assert _aspects(compare.Run([_OUTCOME], ours), compare.Run([_OUTCOME], theirs)) == []
    swapped = [theirs[1], theirs[0], theirs[2]]
    assert _aspects(compare.Run([_OUTCOME], swapped), compare.Run([_OUTCOME], theirs)) == [
        "order of requests"
    ]


def test_a_missing_pod_is_found() -> None:
    """Both schedulers try the same pods in the same order."""
    assert _aspects(compare.Run([], _RUN.exchanges), _RUN) == ["order of pods"]
