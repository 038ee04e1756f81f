"""Generated cases: clusters, extenders with any settings, and what these answer.

Nodes are few and full, so that extenders and preemption decide. Some answers that kube-scheduler
takes do not occur, because policysched deliberately treats them otherwise (docs/extenders.md):

- nodes that nobody has sent, in `Nodes`: kube-scheduler binds pods to them
- the same node twice: kube-scheduler sends and scores it twice
- texts about nodes that do not exist: kube-scheduler counts them in the message
- scores whose product with the weight exceeds 64 bits: kube-scheduler lets it wrap
- null instead of victims: kube-scheduler crashes

Scores: kube-scheduler 1.36.3 takes nodes that come back in `Nodes` as empty (issue 141781), and
policysched does not. An extender that answers with nodes therefore meets a profile whose scores do
not depend on what runs on a node.
"""

from __future__ import annotations

from tests.conformance.extenders import generate_answers, script
from tests.conformance.generate import cluster, normalise
from tests.conformance.generate import draw as draws

Json = script.Json

RESOURCES = ("example.com/foo", "example.com/bar")
_SIZE = cluster.Size(nodes=(2, 8), placed=(2, 14), pending=(1, 4))
_CLASSES = {"least": -100, "less": -10, "more": 10, "most": 100, "patient": 100}
"""Priorities by class, from which API servers take them. Pods of class `patient` do not preempt."""
_HTTP_TIMEOUT = "1s"
"""Of extenders that hang; others have time even on a busy machine."""
_WEIGHTS = ("TaintToleration", "NodeAffinity", "NodeResourcesFit", "ImageLocality")
_OPTIONAL = ("NodePorts", "PodTopologySpread", "InterPodAffinity", "ImageLocality")
_EVEN_SCORES = {
    "scoringStrategy": {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": "cpu", "weight": 1}],
        "requestedToCapacityRatio": {
            "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 0}]
        },
    }
}


def case(seed: int, number: int) -> Json:
    """Return a generated case: the same one every time.

    Its cluster is as users create it; `run.normalised` makes it what an API server serves.
    """
    draw = draws.Draw(f"extenders-{seed}-{number}")
    found = cluster.make(draw, _SIZE)
    _fill(found)
    extenders = _extenders(draw)
    tables = [generate_answers.table(draw, each, found) for each in extenders]
    for each, table in zip(extenders, tables, strict=True):
        if _hangs(table):
            each["httpTimeout"] = _HTTP_TIMEOUT
    for pod in found.pods:
        normalise.pod(pod)
    items = [*found.nodes, *found.others, *found.placed, *found.pending]
    return {
        "name": f"extenders-{seed}-{number}",
        "cluster": {"apiVersion": "v1", "kind": "List", "items": items},
        "config": {**_profile(draw, extenders, tables), "extenders": extenders},
        "script": tables,
    }


# --- cluster -------------------------------------------------------------------------------------


def _fill(found: cluster.Cluster) -> None:
    draw = found.draw
    for node in found.nodes:
        resources = {"cpu": draw.pick(("2", "3", "4")), "pods": draw.pick(("3", "110", "110"))}
        if draw.chance(0.7):
            resources |= {name: draw.pick(("1", "4", "8")) for name in RESOURCES}
        for kind in ("allocatable", "capacity"):
            node["status"][kind].update(resources)
        if draw.chance(0.3):
            node["metadata"]["managedFields"] = _managed_fields()
    for number, pod in enumerate(found.placed):
        _run(draw, pod, number)
    for pod in found.pending:
        _wait(found, pod)
    if draw.chance(0.3):
        found.others.append(_budget(draw))
    found.others += [_class(name, value) for name, value in _CLASSES.items()]


def _run(draw: draws.Draw, pod: Json, number: int) -> None:
    """Let a pod run; no two start at once, so that one node is best for preemption."""
    _set_class(pod, draw.pick(("least", "less", "less", "")))
    _requests(pod)["cpu"] = draw.pick(("100m", "500m", "1", "1500m"))
    if pod["status"]["phase"] == "Running":
        pod["status"]["startTime"] = f"2026-01-05T00:{number:02}:00Z"
    if draw.chance(0.2):
        pod["metadata"]["managedFields"] = _managed_fields()


def _wait(found: cluster.Cluster, pod: Json) -> None:
    draw = found.draw
    _set_class(pod, "patient" if draw.chance(0.05) else draw.pick(("", "", "more", "most")))
    _requests(pod)["cpu"] = draw.pick(("100m", "500m", "1", "2", "3"))
    if draw.chance(0.35):
        _ask_for_resources(draw, pod)
    if draw.chance(0.25):
        names = [node["metadata"]["name"] for node in found.nodes]
        pod["status"]["nominatedNodeName"] = draw.pick([*names, *names, "gone"])
    if draw.chance(0.2):
        pod["metadata"]["managedFields"] = _managed_fields()
    if draw.chance(0.3):
        pod["metadata"]["annotations"] = {"example.com/note": draw.pick(("a", "ü <&>"))}


def _ask_for_resources(draw: draws.Draw, pod: Json) -> None:
    """Name resources of extenders in requests, limits, or those of an init container."""
    names = dict.fromkeys(draw.some(RESOURCES, 1, 2), "1")
    resources = pod["spec"]["containers"][0]["resources"]
    if draw.chance(0.3):
        resources["limits"] = names
    elif draw.chance(0.3):
        first = {"name": "first", "image": "app:v1", "resources": {"limits": names}}
        pod["spec"]["initContainers"] = [first]
    else:
        resources.setdefault("requests", {}).update(names)
        resources["limits"] = names


def _set_class(pod: Json, name: str) -> None:
    if name:
        pod["spec"] |= {"priorityClassName": name, "priority": _CLASSES[name]}


def _class(name: str, value: int) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": "Never" if name == "patient" else "PreemptLowerPriority",
    }


def _requests(pod: Json) -> Json:
    requests: Json = pod["spec"]["containers"][0]["resources"].setdefault("requests", {})
    return requests


def _managed_fields() -> list[Json]:
    entry = {"manager": "kubectl", "operation": "Update", "apiVersion": "v1"}
    return [{**entry, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}]


def _budget(draw: draws.Draw) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "budget", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": draw.pick(("a", "b"))}}},
        "status": {"disruptionsAllowed": draw.pick((0, 1))},
    }


# --- configuration -------------------------------------------------------------------------------


def _extenders(draw: draws.Draw) -> list[Json]:
    extenders = [_extender(draw, place) for place in range(draw.number(1, 3))]
    managed = draw.shuffled(RESOURCES)
    for each in extenders:
        if managed and draw.chance(0.35):  # none twice over all extenders
            each["managedResources"] = [_managed(draw, managed.pop())]
    if draw.chance(0.5):  # one extender at most may bind
        draw.pick(extenders)["bindVerb"] = "bind"
    return extenders


def _extender(draw: draws.Draw, place: int) -> Json:
    made: Json = {"urlPrefix": f"/e{place}{draw.pick(('', '', '/', '/v1'))}"}
    if draw.chance(0.85):
        made["filterVerb"] = draw.pick(("filter", "predicates"))
    if draw.chance(0.65):
        made["prioritizeVerb"] = draw.pick(("prioritize", "rank/all"))
        made["weight"] = draw.pick((1, 1, 2, 7))
    if draw.chance(0.6):
        made["preemptVerb"] = "preempt"
    if draw.chance(0.65):
        made["nodeCacheCapable"] = True
    if draw.chance(0.3):
        made["ignorable"] = True
    return made


def _managed(draw: draws.Draw, name: str) -> Json:
    made: Json = {"name": name}
    return {**made, "ignoredByScheduler": True} if draw.chance(0.5) else made


def _profile(draw: draws.Draw, extenders: list[Json], tables: list[Json]) -> Json:
    config: Json = {}
    if draw.chance(0.2):
        config["weights"] = {name: draw.pick((1, 2, 7)) for name in draw.some(_WEIGHTS, 1, 2)}
    disabled = set(draw.some(_OPTIONAL, 1, 2)) if draw.chance(0.15) else set()
    if draw.chance(0.04):
        disabled.add("DefaultPreemption")
    if any(_answers_with_nodes(*each) for each in zip(extenders, tables, strict=True)):
        config["pluginConfig"] = [{"name": "NodeResourcesFit", "args": _EVEN_SCORES}]
        disabled.add("NodeResourcesBalancedAllocation")
    if disabled:
        config["disabled"] = sorted(disabled)
        kept = {k: v for k, v in config.get("weights", {}).items() if k not in disabled}
        config["weights"] = kept
    return config


def _answers_with_nodes(extender: Json, table: Json) -> bool:
    if "filterVerb" not in extender:
        return False
    answers = [each for answers in table.get(script.FILTER, {}).values() for each in answers]
    return not extender.get("nodeCacheCapable") or any("form" in each for each in answers)


def _hangs(table: Json) -> bool:
    return any(
        "hang" in answer
        for answers_by_pod in table.values()
        for answers in answers_by_pod.values()
        for answer in answers
    )
