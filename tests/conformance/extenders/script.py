"""The script of extenders: what each answers to each pod, written down before anything runs.

A case has one extender a place in its `extenders` and one table a place in its `script`:

    {"filter": {"pending-0": [ANSWER, …]}, "prioritize": {…}, "preempt": {…}, "bind": {…}}

The first call about a pod gets the first answer, and so on; the last one is for all further calls.
Pods without answers are accepted. An answer is a rule about what was sent, or a fault:

    filter      drop, fail, unresolvable, keep, add, error, form
    prioritize  scores
    preempt     drop, victims, violations, reverse
    bind        error
    any         spelling, extra, trailing: how the answer is written
    fault       status, body, hang, hang_up instead of a rule
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
Answer: TypeAlias = dict[str, Any]

FILTER, PRIORITIZE, PREEMPT, BIND = "filter", "prioritize", "preempt", "bind"
VERBS = (FILTER, PRIORITIZE, PREEMPT, BIND)
ACCEPT: Answer = {}

_SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "swapped": str.swapcase,
}


def write(verb: str, answer: Answer, request: Json, nodes: Mapping[str, Json]) -> bytes:
    """Return the body of an answer that is no fault.

    Args:
        verb: what was asked.
        answer: the rule.
        request: what was sent.
        nodes: the nodes of the case by name.
    """
    made = _RULES[verb](answer, request, nodes)
    if "spelling" in answer:
        made = _spell(made, _SPELLINGS[answer["spelling"]])
    if "extra" in answer:
        made = _add_unknown_fields(made)
    trailing: str = answer.get("trailing", "")
    return (json.dumps(made) + trailing).encode()


def names_sent(request: Json) -> list[str]:
    """Return the names of the nodes in a request about nodes."""
    if request["NodeNames"] is not None:
        return list(request["NodeNames"])
    return [node["metadata"]["name"] for node in request["Nodes"]["items"]]


def victims_sent(request: Json) -> dict[str, Json]:
    """Return the victims in a request about preemption by node, each by its uid."""
    if request["NodeNameToMetaVictims"] is not None:
        return dict(request["NodeNameToMetaVictims"])
    return {
        node: {**victims, "Pods": [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]]}
        for node, victims in request["NodeNameToVictims"].items()
    }


def _filter(answer: Answer, request: Json, nodes: Mapping[str, Json]) -> Json:
    failed, unresolvable = answer.get("fail", {}), answer.get("unresolvable", {})
    gone = {*answer.get("drop", ()), *failed, *unresolvable} - {*answer.get("keep", ())}
    kept = [name for name in names_sent(request) if name not in gone] + answer.get("add", [])
    form = answer.get("form", "names" if request["NodeNames"] is not None else "nodes")
    made: Json = {"FailedNodes": failed, "FailedAndUnresolvableNodes": unresolvable}
    if form in {"names", "both"}:
        made["NodeNames"] = kept
    if form in {"nodes", "both"}:
        made["Nodes"] = {"items": [_node(name, request, nodes) for name in kept]}
    return {**made, "Error": answer.get("error", "")}


def _node(name: str, request: Json, nodes: Mapping[str, Json]) -> Json:
    """Return a node as it was sent, else as the case has it; a name alone for an invented one."""
    for sent in (request["Nodes"] or {}).get("items", ()):
        if sent["metadata"]["name"] == name:
            return dict(sent)
    return dict(nodes.get(name, {"metadata": {"name": name}}))


def _prioritize(answer: Answer, request: Json, _: Mapping[str, Json]) -> list[Json]:
    even = [(name, 1) for name in names_sent(request)]
    return [{"Host": host, "Score": score} for host, score in answer.get("scores", even)]


def _preempt(answer: Answer, request: Json, _: Mapping[str, Json]) -> Json:
    sent = victims_sent(request)
    made = {name: dict(sent[name]) for name in sent if name not in answer.get("drop", ())}
    for name, uids in answer.get("victims", {}).items():
        pods = [{"UID": uid} for uid in uids]
        made[name] = {"NumPDBViolations": 0, **sent.get(name, {}), "Pods": pods}
    for name, victims in made.items():
        if name in answer.get("violations", {}):
            victims["NumPDBViolations"] = answer["violations"][name]
        if answer.get("reverse"):
            victims["Pods"] = victims["Pods"][::-1]
    return {"NodeNameToMetaVictims": made}


def _bind(answer: Answer, _: Json, __: Mapping[str, Json]) -> Json:
    return {"Error": answer.get("error", "")}


_RULES: Mapping[str, Callable[[Answer, Json, Mapping[str, Json]], Any]] = {
    FILTER: _filter,
    PRIORITIZE: _prioritize,
    PREEMPT: _preempt,
    BIND: _bind,
}

# --- how an answer is written --------------------------------------------------------------------

_FIELDS = frozenset(
    {
        "Nodes",
        "NodeNames",
        "FailedNodes",
        "FailedAndUnresolvableNodes",
        "Error",
        "Host",
        "Score",
        "NodeNameToMetaVictims",
        "Pods",
        "UID",
        "NumPDBViolations",
    }
)
"""Names of fields, as opposed to keys of maps, which have one spelling."""


def _spell(value: Any, spell: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {
            (spell(key) if key in _FIELDS else key): inner
            if key == "Nodes"
            else _spell(inner, spell)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_spell(inner, spell) for inner in value]
    return value


def _add_unknown_fields(value: Any) -> Any:
    if isinstance(value, list):
        return [_add_unknown_fields(inner) for inner in value]
    return {"apiVersion": "v9", "unknown": {"Error": "none"}, **value}


def tables(case: Json) -> Iterable[tuple[Json, Json]]:
    """Yield the configuration and the table of each extender."""
    return zip(case["config"]["extenders"], case["script"], strict=True)
