"""What generated extenders answer: rules, and all the ways in which an answer is wrong."""

from __future__ import annotations

from tests.conformance.extenders import script
from tests.conformance.generate import cluster
from tests.conformance.generate import draw as draws

Answer = script.Answer
Json = script.Json

_CALM = 0.25
"""How many extenders accept everything."""
_TEXTS = ("no licence", "no licence", "too far away", "", "NVLink is missing, ü")
_FAULTS: tuple[Answer, ...] = (
    {"status": 500},
    {"hang_up": True},
    {"status": 404, "body": '{"Error": "not here"}'},
    {"status": 202},
    {"body": ""},
    {"body": "null"},
    {"body": "null"},
    {"body": "[]"},
    {"body": "{}"},
    {"body": '"text"'},
    {"body": '{"NodeNames": ["n0"'},
    {"body": '{"NodeNames": {"n0": 1}, "NodeNameToMetaVictims": [], "Error": 5}'},
    {"body": '[{"Host": "n0", "Score": 5.5}]'},
    {"body": '[{"Host": "n0", "Score": "5"}]'},
    {"body": '[{"Host": "n0", "Score": 99999999999999999999}]'},
    {"body": "it works!"},
    {"hang_up": True},
)
_HANGS: tuple[Answer, ...] = ({"hang": "headers"}, {"hang": "body"})
_HANG_SHARES = {
    script.FILTER: 0.01,
    script.PRIORITIZE: 0.01,
    script.PREEMPT: 0.06,
    script.BIND: 0.04,
}
_FAULT_SHARES = {
    script.FILTER: 0.14,
    script.PRIORITIZE: 0.14,
    script.PREEMPT: 0.3,
    script.BIND: 0.3,
}
"""Most pods come to no preemption, and most extenders do not bind."""
_SCORES = (0, 1, 2, 5, 10, 10, 11, -3, 1000, 10**13)
_SPELLINGS = ("lower", "upper", "swapped")
_TRAILING = (" trailing", "\n{}", "]")


def table(draw: draws.Draw, extender: Json, found: cluster.Cluster) -> Json:
    """Return what an extender answers to each pending pod."""
    if draw.chance(_CALM):
        return {}
    made: Json = {}
    for verb in script.VERBS:
        if f"{verb}Verb" in extender or verb == script.BIND:
            made[verb] = {
                pod["metadata"]["name"]: _answers(draw, verb, extender, found)
                for pod in found.pending
                if draw.chance(0.75)
            }
    return made


def _answers(draw: draws.Draw, verb: str, extender: Json, found: cluster.Cluster) -> list[Answer]:
    """Return the answers to one pod; Filter is asked twice about a pod with a nominated node."""
    count = 2 if verb == script.FILTER and draw.chance(0.3) else 1
    return [_answer(draw, verb, extender, found) for _ in range(count)]


def _answer(draw: draws.Draw, verb: str, extender: Json, found: cluster.Cluster) -> Answer:
    if draw.chance(_HANG_SHARES[verb]):
        return draw.pick(_HANGS)
    if draw.chance(_FAULT_SHARES[verb]):
        return draw.pick(_FAULTS)
    if verb == script.FILTER:
        answer = _filter(draw, extender, found)
    elif verb == script.PRIORITIZE:
        hosts = draw.some([*_names(found), "unknown"], 0, 9)
        answer = {"scores": [[host, draw.pick(_SCORES)] for host in hosts]}
    elif verb == script.PREEMPT:
        answer = _preempt(draw, found)
    else:
        answer = {"error": "the socket is taken"} if draw.chance(0.3) else {}
    return {**answer, **_dressing(draw)}


def _dressing(draw: draws.Draw) -> Answer:
    made: Answer = {}
    if draw.chance(0.12):
        made["spelling"] = draw.pick(_SPELLINGS)
    if draw.chance(0.1):
        made["extra"] = True
    if draw.chance(0.1):
        made["trailing"] = draw.pick(_TRAILING)
    return made


def _names(found: cluster.Cluster) -> list[str]:
    return [node["metadata"]["name"] for node in found.nodes]


def _filter(draw: draws.Draw, extender: Json, found: cluster.Cluster) -> Answer:
    answer: Answer = {}
    nodes = _names(found)
    for field, share in (("drop", 0.3), ("fail", 0.4), ("unresolvable", 0.25)):
        if draw.chance(share):
            chosen = nodes if draw.chance(0.2) else draw.some(nodes, 1, 4)
            answer[field] = chosen if field == "drop" else _texts(draw, chosen)
    if draw.chance(0.03):
        answer["keep"] = draw.some(nodes, 1, 2)
    if draw.chance(0.04):
        answer["error"] = "the licence server is away"
    if extender.get("nodeCacheCapable"):
        if draw.chance(0.04):
            answer["add"] = ["invented"]
        if draw.chance(0.06):
            answer["form"] = draw.pick(("both", "nodes", "neither"))
    elif draw.chance(0.06):
        answer["form"] = draw.pick(("both", "names", "neither"))
    if answer.get("form") == "nodes":
        answer.pop("add", None)  # only names are checked
    return answer


def _texts(draw: draws.Draw, nodes: list[str]) -> dict[str, str]:
    return {node: draw.pick(_TEXTS) for node in nodes}


def _preempt(draw: draws.Draw, found: cluster.Cluster) -> Answer:
    answer: Answer = {}
    nodes = _names(found)
    if draw.chance(0.3):
        answer["drop"] = nodes if draw.chance(0.2) else draw.some(nodes, 1, 3)
    if draw.chance(0.2):
        answer["violations"] = {node: draw.number(0, 2) for node in draw.some(nodes, 1, 3)}
    if draw.chance(0.2):
        answer["reverse"] = True
    if draw.chance(0.3):
        answer["victims"] = _victims(draw, found, draw.pick(nodes))
    return answer


def _victims(draw: draws.Draw, found: cluster.Cluster, node: str) -> dict[str, list[str]]:
    """Name victims on a node: other ones, none, one that is not there; or an unknown node."""
    kind = draw.weighted({"there": 5, "none": 2, "unknown pod": 2, "unknown node": 2})
    there = [
        pod["metadata"]["uid"]
        for pod in found.placed
        if pod["spec"]["nodeName"] == node and pod["status"]["phase"] == "Running"
    ]
    if kind == "there" and there:
        return {node: draw.some(there, 1, len(there))}
    if kind == "none":
        return {node: []}
    return {"unknown": there[:1]} if kind == "unknown node" else {node: ["unknown"]}
