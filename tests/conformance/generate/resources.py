"""Requests of all kinds: NodeResourcesFit, NodeResourcesBalancedAllocation."""

from __future__ import annotations

from collections.abc import Callable

from tests.conformance.generate import cluster, draw, resizes

_GPU = "example.com/gpu"
_FPGA = "vendor.io/fpga"
_HUGE = "hugepages-2Mi"
_NATIVE = "kubernetes.io/batch"
"""Of Kubernetes' own domain: it is not among those that a profile can ignore."""
_MOST = (2**63 - 1) // 1000
"""The API server takes no more of a resource that is counted in whole numbers."""
_NODE_AMOUNTS = {
    "cpu": ("0", "1", "2", "1500m", "4", "64"),
    "memory": ("0", "1Gi", "2Gi", "4000000000", "2500M", "1Ti"),
    "ephemeral-storage": ("0", "1Gi", "10Gi", "100Gi"),
    "pods": ("0", "1", "2", "5", "110", "110"),
    _GPU: ("0", "1", "2", "4", str(_MOST)),
    _FPGA: ("1", "3"),
    _NATIVE: ("1", "5"),
    _HUGE: ("0", "4Mi", "64Mi"),
}
_MISSING = {"ephemeral-storage": 0.2, "pods": 0.03, _GPU: 0.3, _FPGA: 0.5, _NATIVE: 0.6, _HUGE: 0.4}
_AMOUNTS = {
    "cpu": ("0", "1m", "100m", "250m", "0.3", "1", "1500m", "3", "1500u", "100n", "2e-1"),
    "memory": ("0", "1", "64Mi", "500M", "1Gi", "1.5Gi", "1100m", "3e9", "0.1Mi"),
    "ephemeral-storage": ("0", "1Mi", "500Mi", "2Gi"),
    _GPU: ("0", "1", "2", str(_MOST // 4)),
    _FPGA: ("1", "2"),
    _NATIVE: ("1", "2"),
    _HUGE: ("2Mi", "4Mi"),
}
_POD_AMOUNTS = _AMOUNTS | {"memory": ("0", "1", "64Mi", "500M", "1536Mi", "1100m", "3e9")}
"""The API server shows 1.5Gi as 1536Mi. Read as 1.5Gi, kube-scheduler adds the pod's overhead to
it each time it looks (`PodRequests` adds up in the very number of the pod)."""
_SHARES = {
    "cpu": 0.7,
    "memory": 0.7,
    "ephemeral-storage": 0.25,
    _GPU: 0.2,
    _FPGA: 0.12,
    _NATIVE: 0.04,
    _HUGE: 0.1,
}
_ENORMOUS = {
    "cpu": ("90T", "1000T", "4000T"),
    "memory": ("90P", "1Ei", "3Ei"),
    "ephemeral-storage": ("90P", "1Ei"),
}
"""Shares of more than (2**63 - 1) / 100 overflow: scores are out of range then."""
_SCORED = ("cpu", "memory", "ephemeral-storage", _GPU, _FPGA, _HUGE)


def shape(found: cluster.Cluster) -> None:
    """Make nodes small, let pods request much, and vary how nodes are scored."""
    source = found.draw
    for node in found.nodes:
        _resize(source, node["status"])
    for pod in found.pods:
        request(source, pod["spec"])
        if "nodeName" in pod["spec"] and source.chance(0.3):
            resizes.resize(source, pod)
    if source.chance(0.05):
        _inflate(found)
    if source.chance(0.4):
        found.plugin_config["NodeResourcesFit"] = _fit_args(source)
    if source.chance(0.25):
        resources = [{"name": name, "weight": 1} for name in source.some(_SCORED, 1, 4)]
        found.plugin_config["NodeResourcesBalancedAllocation"] = {"resources": resources}


def _inflate(found: cluster.Cluster) -> None:
    """Give some nodes enormous amounts, and let some pods request them."""
    source = found.draw
    for node in found.nodes:
        if source.chance(0.3):
            name = source.pick(tuple(_ENORMOUS))
            amount = source.pick((*_ENORMOUS[name], "9000T" if name == "cpu" else "7Ei"))
            node["status"]["allocatable"][name] = node["status"]["capacity"][name] = amount
    for pod in found.pods:
        if source.chance(0.15) and "resources" not in pod["spec"]:
            name = source.pick(tuple(_ENORMOUS))
            requests = pod["spec"]["containers"][0]["resources"].setdefault("requests", {})
            requests[name] = source.pick(_ENORMOUS[name])


def _resize(source: draw.Draw, status: cluster.Manifest) -> None:
    """Give a node any amounts; some resources it does not have at all."""
    status["allocatable"] = {
        name: source.pick(amounts)
        for name, amounts in _NODE_AMOUNTS.items()
        if not source.chance(_MISSING.get(name, 0.0))
    }
    status["capacity"] = dict(status["allocatable"])


def request(source: draw.Draw, spec: cluster.Manifest) -> None:
    """Give a pod containers of all kinds with requests, limits and overhead."""
    spec["containers"] = [_container(source, f"c{n}") for n in range(source.number(1, 3))]
    if source.chance(0.35):
        spec["initContainers"] = [
            _init_container(source, f"i{n}") for n in range(source.number(1, 3))
        ]
    if source.chance(0.2):
        spec["overhead"] = {"cpu": source.pick(("10m", "250m")), "memory": "32Mi"}
    if source.chance(0.2):
        spec["resources"] = _pod_level(source)


def amounts(source: draw.Draw) -> cluster.Manifest:
    """Return a list of resources and how much of each."""
    return {name: source.pick(_AMOUNTS[name]) for name in _SHARES if source.chance(_SHARES[name])}


def _container(source: draw.Draw, name: str) -> cluster.Manifest:
    if source.chance(0.1):
        return {"name": name, "image": "app:v1", "resources": {}}
    resources: cluster.Manifest = {"requests": amounts(source)}
    if source.chance(0.15):
        resources["limits"] = amounts(source)
    return {"name": name, "image": "app:v1", "resources": resources}


def _init_container(source: draw.Draw, name: str) -> cluster.Manifest:
    made = _container(source, name)
    if source.chance(0.5):
        made["restartPolicy"] = "Always"
    return made


def _pod_level(source: draw.Draw) -> cluster.Manifest:
    """Return resources of the pod as a whole: cpu, memory and huge pages only."""
    names = source.some(("cpu", "memory", _HUGE), 1, 2)
    return {"requests": {name: source.pick(_POD_AMOUNTS[name]) for name in names}}


def _fit_args(source: draw.Draw) -> cluster.Manifest:
    args: cluster.Manifest = {}
    if source.chance(0.3):
        args["ignoredResources"] = source.some((_GPU, _FPGA, _NATIVE), 1, 2)
    if source.chance(0.2):
        args["ignoredResourceGroups"] = [source.pick(("example.com", "vendor.io", "kubernetes.io"))]
    strategy = make_strategy(source, lambda: source.some(_SCORED, 1, 4))
    if source.chance(0.9):
        args["scoringStrategy"] = strategy
    return args


def make_strategy(source: draw.Draw, choose_names: Callable[[], list[str]]) -> cluster.Manifest:
    """Return a `scoringStrategy` of NodeResourcesFit with some resources."""
    strategy: cluster.Manifest = {
        "type": source.pick(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")),
        "resources": [
            {"name": name, "weight": source.pick((1, 2, 5, 100))} for name in choose_names()
        ],
    }
    if strategy["type"] == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = {"shape": _shape(source)}
    return strategy


def _shape(source: draw.Draw) -> list[cluster.Manifest]:
    utilizations = sorted(source.some((0, 10, 33, 50, 77, 100), 1, 4))
    return [{"utilization": u, "score": source.pick((0, 1, 3, 5, 8, 10))} for u in utilizations]
