"""Define the cluster of `policysched demo`, small enough to follow, with cases for every policy."""

from __future__ import annotations

import msgspec

from policysched.cluster.objects import objects
from policysched.sim import node_load, workload

HOT_NODE = "big-c"
CORDONED_NODE = "web-b2"
_BACKGROUND = {
    HOT_NODE: {node_load.CPU_BUSY: 0.85, node_load.MEMORY_USED: 0.35},
    "web-a1": {node_load.CPU_BUSY: 0.22, node_load.DISK_USED: 0.30},
    "web-c1": {node_load.MEMORY_USED: 0.25},
}


def make_nodes() -> list[objects.Node]:
    """Return eight nodes in three zones; one is cordoned, two have GPUs and a GPU taint."""
    made = [
        workload.make_node("web-a1", "a", workload.GENERAL_8),
        workload.make_node("web-a2", "a", workload.GENERAL_8),
        workload.make_node("web-b1", "b", workload.GENERAL_8),
        workload.make_node(CORDONED_NODE, "b", workload.GENERAL_8),
        workload.make_node("web-c1", "c", workload.GENERAL_8),
        workload.make_node(HOT_NODE, "c", workload.MEMORY_16),
        workload.make_node("gpu-a", "a", workload.GPU_32),
        workload.make_node("gpu-b", "b", workload.GPU_32),
    ]
    return [_cordon_node(node) if node.name == CORDONED_NODE else node for node in made]


def set_background_load(load: node_load.SimulatedNodeLoad) -> None:
    """Set background load, which no pod causes, on some nodes."""
    for node_name, by_metric in _BACKGROUND.items():
        load.background[node_name] = dict(by_metric)


def make_cache_pod(number: int) -> objects.Pod:
    """Return a pod of an in-memory cache, for the default profile."""
    return workload.make_pod(
        f"cache-{number}",
        namespace="prod",
        labels={"app": "cache"},
        requests={"cpu": "1", "memory": "4Gi"},
    )


def make_web_pod(number: int) -> objects.Pod:
    """Return a web pod of the production shop for the profile `web`."""
    return workload.make_pod(
        f"web-{number}",
        namespace="prod",
        labels={"app": "shop", "tier": "web", "pod-template-hash": "7d9f"},
        requests={"cpu": "1", "memory": "2Gi"},
        scheduler_name="web",
    )


def make_training_pod(number: int, gpus: int) -> objects.Pod:
    """Return a training pod that requests GPUs, without a node selector or tolerations."""
    return workload.make_pod(
        f"train-{number}",
        namespace="ml",
        requests={"cpu": "4", "memory": "16Gi", workload.GPU: str(gpus)},
        scheduler_name="gpu",
    )


def make_debug_pod() -> objects.Pod:
    """Return a pod that tolerates the GPU taint but requests no GPU."""
    return workload.make_pod(
        "debug",
        namespace="ml",
        requests={"cpu": "500m", "memory": "512Mi"},
        spec=objects.PodSpec(
            tolerations=(objects.Toleration(key=workload.GPU, operator="Exists"),)
        ),
        scheduler_name="gpu",
    )


def make_job_pod(number: int) -> objects.Pod:
    """Return a batch pod that needs an SSD, for the profile `spread`."""
    return workload.make_pod(
        f"job-{number}",
        namespace="batch",
        labels={"app": "job"},
        requests={"cpu": "500m", "memory": "1Gi"},
        spec=objects.PodSpec(node_selector={"disktype": "ssd"}),
        scheduler_name="spread",
    )


def make_report_pod() -> objects.Pod:
    """Return a pod that requests nearly all CPU of a small node, for the profile `load-aware`."""
    return workload.make_pod(
        "report",
        namespace="prod",
        labels={"app": "report"},
        requests={"cpu": "7500m", "memory": "8Gi"},
        scheduler_name="load-aware",
    )


def _cordon_node(node: objects.Node) -> objects.Node:
    return msgspec.structs.replace(
        node, spec=msgspec.structs.replace(node.spec, unschedulable=True)
    )
