"""The policies of policies/, written a second time by hand, as far as they forbid anything.

Policies that only score (pack and spread, gpu-packing, load-aware without metrics) allow every
node, so they have no twin; what they do is seen in where pods gather.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.e2e.checker import demands, pod_requests

if TYPE_CHECKING:
    from collections.abc import Mapping

WEB, GPU, PACK, SPREAD = "web", "gpu", "pack", "spread"
GPU_PACKING, LOAD_AWARE, NODE_LOAD = "gpu-packing", "load-aware", "node-load"
DEFAULT = "policysched"
PROFILES = (WEB, GPU, PACK, SPREAD, GPU_PACKING, LOAD_AWARE, NODE_LOAD, DEFAULT)
"""The profiles that policies/ declares."""

GPU_RESOURCE = "nvidia.com/gpu"


def _is_web(pod: Mapping[str, Any]) -> bool:
    metadata = pod["metadata"]
    labels = metadata.get("labels") or {}
    is_in_profile = pod["spec"]["schedulerName"] == WEB
    return is_in_profile and metadata["namespace"] == "prod" and labels.get("tier") == "web"


def _takes_gpu(pod: Mapping[str, Any]) -> bool:
    return pod["spec"]["schedulerName"] == GPU and _gpus(pod) > 0


def _takes_no_gpu(pod: Mapping[str, Any]) -> bool:
    owners = pod["metadata"].get("ownerReferences") or []
    is_daemon = any(one.get("controller") and one["kind"] == "DaemonSet" for one in owners)
    return pod["spec"]["schedulerName"] == GPU and _gpus(pod) == 0 and not is_daemon


def _gpus(pod: Mapping[str, Any]) -> float:
    return float(pod_requests.requests(pod).get(GPU_RESOURCE, 0))


def _has_gpus(pod: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    del pod
    return pod_requests.allocatable(node).get(GPU_RESOURCE, 0) > 0


def _requires(*expressions: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [{"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}]


TWINS = (
    demands.PolicyTwin(
        "web-tier",
        _is_web,
        demands.Demands(
            "policy web-tier",
            node_selectors=_requires(
                {"key": "disktype", "operator": "In", "values": ["ssd"]},
                {"key": "gpu-memory-gb", "operator": "DoesNotExist"},
            ),
            spread=[
                {
                    "topologyKey": "topology.kubernetes.io/zone",
                    "maxSkew": 1,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"tier": "web"}},
                },
            ],
        ),
    ),
    demands.PolicyTwin(
        "gpu-pods",
        _takes_gpu,
        demands.Demands(
            "policy gpu-pods",
            node_selectors=_requires({"key": "gpu-memory-gb", "operator": "Gt", "values": ["39"]}),
            tolerations=[{"key": GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"}],
        ),
    ),
    demands.PolicyTwin(
        "no-gpu-pods",
        _takes_no_gpu,
        demands.Demands("policy no-gpu-pods", rejects=_has_gpus),
    ),
)
