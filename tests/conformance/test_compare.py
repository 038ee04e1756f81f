"""The comparison notices every kind of difference; a recorded answer stands for policysched's."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance import cases, compare

Manifest = dict[str, Any]


def _verdict(answer: Manifest) -> Manifest:
    """Return the first verdict with several feasible nodes."""
    found: Manifest = next(v for v in answer["verdict"] if v["feasible"] > 1)
    return found


def _refused(answer: Manifest) -> Manifest:
    """Return the first node that is ruled out."""
    nodes = (n for v in answer["verdict"] if not v["prefilter"] for n in v["nodes"].values())
    return next(node for node in nodes if not node["ok"])


def _preemption(answer: Manifest) -> Manifest:
    """Return the first preemption with several victims."""
    found: Manifest = next(p for p in answer["preempt"] if len(p["victims"]) > 1)
    return found


def _candidate(answer: Manifest) -> Manifest:
    """Return the candidate that it is nominated to."""
    preemption = _preemption(answer)
    found: Manifest = preemption["candidates"][preemption["nominated"]]
    return found


def _raise_score(answer: Manifest) -> None:
    node = next(iter(_verdict(answer)["scores"]))
    _verdict(answer)["scores"][node]["ImageLocality"] += 1


def _drop_score(answer: Manifest) -> None:
    node = next(iter(_verdict(answer)["scores"]))
    del _verdict(answer)["scores"][node]["TaintToleration"]


def _reject_in_pre_filter(answer: Manifest) -> None:
    refusal = {"plugin": "VolumeZone", "code": "Unschedulable", "reasons": ["no"]}
    _verdict(answer)["prefilter"] = refusal


@pytest.mark.parametrize(
    "change, aspect",
    [
        (lambda a: _refused(a).update(plugin="NodeName"), "verdict nodes NodeName for "),
        (lambda a: _refused(a).update(code="Error"), "verdict nodes "),
        (lambda a: _refused(a)["reasons"].append("more"), "verdict nodes "),
        (lambda a: _refused(a).update(ok=True), "verdict nodes passes for "),
        (lambda a: a["verdict"][0]["nodes"].popitem(), "verdict names of nodes"),
        (_raise_score, "verdict scores ImageLocality"),
        (_drop_score, "verdict scores TaintToleration"),
        (_reject_in_pre_filter, "verdict prefilter VolumeZone for passes"),
        (lambda a: _verdict(a).update(best=[]), "verdict best"),
        (lambda a: _verdict(a).update(feasible=1), "verdict feasible"),
        (lambda a: _verdict(a).update(message="other"), "verdict message"),
        (lambda a: _verdict(a).update(gated={"plugin": "Gates"}), "verdict gated Gates for passes"),
        (lambda a: a["verdict"].reverse(), "verdict order of pods"),
        (lambda a: a["place"][0].update(node="elsewhere"), "place node"),
        (lambda a: a["place"][0].update(best=["elsewhere"]), "place best"),
        (lambda a: a["place"][0].update(message="other"), "place message"),
        (lambda a: a["place"].pop(), "place order of pods"),
        (lambda a: _preemption(a).update(nominated="elsewhere"), "preempt nominated"),
        (lambda a: _preemption(a).update(nominated=None), "preempt nominated"),
        (lambda a: _preemption(a)["victims"].pop(), "preempt victims"),
        (lambda a: _preemption(a)["victims"].reverse(), "preempt order of victims"),
        (lambda a: _preemption(a).update(message="other"), "preempt message"),
        (lambda a: _preemption(a)["candidates"].popitem(), "preempt candidates"),
        (lambda a: _candidate(a).update(victims=[]), "preempt candidates' victims"),
        (lambda a: _candidate(a)["victims"].reverse(), "preempt candidates' order of victims"),
        (lambda a: _candidate(a).update(pdbViolations=9), "preempt violated budgets"),
    ],
    ids=range(26),
)
def test_a_difference_is_noticed(change: Callable[[Manifest], object], aspect: str) -> None:
    """One change of an answer is one kind of difference."""
    theirs = _several()
    ours = copy.deepcopy(theirs)
    change(ours)
    found = {each.aspect for each in compare.differences(ours, theirs)}
    assert any(each.startswith(aspect) for each in found), found


def _write(name: str) -> Manifest:
    value = {"finalizers": ["kept"], "reservedFor": []}
    return {"verb": "update", "resource": "resourceclaims", "name": name, "value": value}


def _bound() -> Manifest:
    """Return an answer about claims of two pods, of which one fits nowhere."""
    results = [{"device": "d1", "shareID": "1"}]
    reservation = {"claims": {"default/c": {"devices": {"results": results}}}, "unreserved": []}
    written = {"writes": [_write("default/c")], "unreserved": [_write("default/c")]}
    placed = {
        "pod": "default/p",
        "node": "a",
        "nodes": {"a": reservation, "b": copy.deepcopy(reservation)},
        "preBind": {**written, "refusal": {"code": "Error", "reasons": ["late"]}},
    }
    deallocated = {
        "writes": [_write("default/d")],
        "refusal": {"code": "Unschedulable", "reasons": ["deallocated"]},
    }
    pending = {"pod": "default/q", "node": None, "nodes": {}, "postFilter": deallocated}
    return {"bind": [placed, pending]}


@pytest.mark.parametrize(
    "change, aspect",
    [
        (lambda placed, _: placed.update(node="b"), "bind node"),
        (lambda placed, _: placed["nodes"].popitem(), "bind nodes"),
        (lambda placed, _: placed["nodes"]["b"]["claims"].clear(), "bind reserve claims"),
        (lambda placed, _: placed["nodes"]["a"]["unreserved"].append(_write("c")), "bind reserve"),
        (lambda placed, _: placed["nodes"]["a"].update(refusal={"code": "Error"}), "bind reserve"),
        (lambda placed, _: placed["preBind"]["writes"].pop(), "bind preBind writes"),
        (lambda placed, _: placed["preBind"]["unreserved"].pop(), "bind preBind unreserved"),
        (lambda placed, _: placed["preBind"].pop("refusal"), "bind preBind refusal"),
        (lambda placed, _: placed.pop("preBind"), "bind preBind"),
        (lambda _, pending: pending["postFilter"]["writes"].clear(), "bind postFilter writes"),
        (lambda _, pending: pending["postFilter"].pop("refusal"), "bind postFilter refusal"),
    ],
    ids=range(11),
)
def test_a_difference_about_claims_is_noticed(
    change: Callable[[Manifest, Manifest], object], aspect: str
) -> None:
    """One change of an answer is one kind of difference; what is empty is as good as absent."""
    theirs, ours = _bound(), _bound()
    del ours["bind"][0]["preBind"]["writes"][0]["value"]["reservedFor"]
    assert not list(compare.differences(ours, theirs))
    change(*ours["bind"])
    found = {each.aspect for each in compare.differences(ours, theirs)}
    assert any(each.startswith(aspect) for each in found), found


def test_equal_answers_do_not_differ() -> None:
    """An answer does not differ from itself."""
    assert not list(compare.differences(_several(), _several()))


@functools.cache
def _several() -> Manifest:
    """Return a recorded case with nodes to choose from and pods to evict."""
    for record in cases.records("preemption"):
        try:
            _verdict(record), _refused(record), _preemption(record)
        except StopIteration:
            continue
        return record
    raise LookupError("no recorded case has everything")
