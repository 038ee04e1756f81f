"""Who makes room for whom: DefaultPreemption."""

from __future__ import annotations

from tests.conformance.generate import (
    cluster,
    conditions,
    draw,
    node_affinity,
    pod_affinity,
    ports,
    spread,
    taints,
)

_PRIORITIES = (-100, 0, 0, 10, 10, 100, 2147483647)
_CROWD = 60
"""As many placed pods are in crowded clusters only."""
_OBSTACLES = (ports.shape, pod_affinity.shape, spread.shape, taints.shape, node_affinity.shape)


def shape(found: cluster.Cluster) -> None:
    """Fill the nodes with pods of all priorities, and let important ones wait.

    At most one pod has not started yet: kube-scheduler takes the current time for it, whenever it
    looks, so that two such pods have no order.
    """
    source = found.draw
    if len(found.placed) >= _CROWD:
        _crowd(found)
        return
    if source.chance(0.5):
        source.pick(_OBSTACLES)(found)
    all_cpu = source.pick(("2", "3", ""))
    for node in found.nodes:
        allocatable = node["status"]["allocatable"]
        allocatable["cpu"] = all_cpu or source.pick(("1", "2", "3"))
        allocatable["pods"] = source.pick(("2", "3", "5", "110", "110"))
    are_alike = source.chance(0.35)
    for pod in found.placed:
        _fill(source, pod)
        if are_alike:  # then nodes can be equally good
            pod["spec"]["priority"] = 0
            pod["status"]["startTime"] = "2026-01-05T00:00:00Z"
    if found.placed and source.chance(0.15):
        source.pick(found.placed)["status"].pop("startTime", None)
    for pod in found.pending:
        _wait(found, pod)
    _add_budgets(found)
    if source.chance(0.1):
        found.plugin_config["DefaultPreemption"] = {"minCandidateNodesPercentage": 100}


def _crowd(found: cluster.Cluster) -> None:
    """Fill many nodes with many small pods: ties in priority and start time are the rule."""
    source = found.draw
    if source.chance(0.3):
        source.pick(_OBSTACLES)(found)
    for node in found.nodes:
        allocatable = node["status"]["allocatable"]
        allocatable["cpu"] = source.pick(("1", "2", "3"))
        allocatable["pods"] = source.pick(("15", "40", "110"))
    priorities = source.pick(((0,), (0, 10), (-100, 0, 0, 0, 10)))
    for pod in found.placed:
        _fill(source, pod)
        pod["spec"]["priority"] = source.pick(priorities)
        pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "100m"}
        pod["status"]["startTime"] = f"2026-01-05T0{source.number(0, 2)}:00:00Z"
    for pod in found.pending:
        _wait(found, pod)
    _add_budgets(found)


def _fill(source: draw.Draw, pod: cluster.Manifest) -> None:
    pod["spec"]["priority"] = source.pick(_PRIORITIES[:-1])
    requests = pod["spec"]["containers"][0]["resources"].setdefault("requests", {})
    requests["cpu"] = source.pick(("100m", "500m", "500m", "1", "1500m"))
    if source.chance(0.15):
        pod["metadata"]["deletionTimestamp"] = "2026-01-10T00:00:00Z"
        if source.chance(0.6):
            pod["status"]["conditions"] = [
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": source.pick(("PreemptionByScheduler", "EvictionByEvictionAPI")),
                }
            ]


def _wait(found: cluster.Cluster, pod: cluster.Manifest) -> None:
    source, spec = found.draw, pod["spec"]
    spec["priority"] = source.pick(_PRIORITIES[2:])
    if source.chance(0.1):
        spec["preemptionPolicy"] = "Never"
    requests = spec["containers"][0]["resources"].setdefault("requests", {})
    requests["cpu"] = source.pick(("500m", "1", "1", "1500m", "2"))
    if source.chance(0.2):
        names = [node["metadata"]["name"] for node in found.nodes]
        pod["status"]["nominatedNodeName"] = source.pick([*names, "gone"])


def _add_budgets(found: cluster.Cluster) -> None:
    source = found.draw
    found.others += source.many(0, 4, lambda: _budget(source, found))
    _number(found.others, "PodDisruptionBudget")


def _budget(source: draw.Draw, found: cluster.Cluster) -> cluster.Manifest:
    """Return a budget of 0 to 2 further disruptions; pods it has let go already do not count."""
    spec: cluster.Manifest = {"minAvailable": 1}
    selector = conditions.label_selector(source, absent=0.08)
    if selector is not None:
        spec["selector"] = selector
    status: cluster.Manifest = {"disruptionsAllowed": source.pick((0, 0, 1, 2))}
    if source.chance(0.3) and found.placed:
        names = [p["metadata"]["name"] for p in source.some(found.placed, 1, 2)]
        status["disruptedPods"] = dict.fromkeys(names, "2026-01-10T00:00:00Z")
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "", "namespace": source.pick(cluster.NAMESPACES[:2])},
        "spec": spec,
        "status": status,
    }


def _number(manifests: list[cluster.Manifest], kind: str) -> None:
    """Name objects of a kind by their place."""
    for number, manifest in enumerate(m for m in manifests if m["kind"] == kind):
        manifest["metadata"]["name"] = f"{kind.lower()}-{number}"
