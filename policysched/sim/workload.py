"""Create nodes and pods of synthetic clusters; the same seed gives the same pods.

`make_node_fleet` creates nodes of a few instance types in several zones. `SimulatedWorkload`
creates pods of kinds that typically share a cluster; each kind exercises a different part of the
scheduler.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping

import msgspec

from policysched.cluster.objects import objects

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
GPU = "nvidia.com/gpu"


@dataclasses.dataclass(frozen=True, slots=True)
class InstanceType:
    """A machine type like those of cloud providers.

    Attributes:
        resources: resource name → allocatable amount.
        labels: labels other than zone, host name and instance type.
        taints: taints of nodes of this type.
    """

    name: str
    resources: Mapping[str, str]
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    taints: tuple[objects.Taint, ...] = ()


GENERAL_8 = InstanceType("general-8", {"cpu": "8", "memory": "32Gi"}, {"disktype": "ssd"})
MEMORY_16 = InstanceType("memory-16", {"cpu": "16", "memory": "128Gi"}, {"disktype": "hdd"})
GPU_32 = InstanceType(
    "gpu-32",
    {"cpu": "32", "memory": "128Gi", GPU: "4"},
    {"disktype": "ssd", "pool": "gpu-a100", "gpu-memory-gb": "80"},
    (objects.Taint(key=GPU, value="present", effect="NoSchedule"),),
)
INSTANCE_TYPES = (GENERAL_8, MEMORY_16, GPU_32)


def make_node(name: str, zone: str, instance_type: InstanceType) -> objects.Node:
    """Return a Ready node with the resources, labels and taints of its instance type."""
    labels = {HOSTNAME: name, ZONE: zone, INSTANCE_TYPE: instance_type.name}
    resources: objects.ResourceList = {
        "ephemeral-storage": "100Gi",
        "pods": "110",
        **instance_type.resources,
    }
    return objects.Node(
        metadata=objects.ObjectMeta(name=name, labels=labels | dict(instance_type.labels)),
        spec=objects.NodeSpec(taints=instance_type.taints),
        status=objects.NodeStatus(
            allocatable=resources,
            capacity=resources,
            conditions=(objects.Condition(type="Ready", status="True"),),
        ),
    )


def make_node_fleet(count: int, zones: tuple[str, ...] = ("a", "b", "c")) -> list[objects.Node]:
    """Return `count` nodes, distributed over zones and, in each zone, over instance types."""
    return [
        make_node(
            f"node-{number}",
            zones[number % len(zones)],
            INSTANCE_TYPES[number // len(zones) % len(INSTANCE_TYPES)],
        )
        for number in range(count)
    ]


def make_pod(
    name: str,
    *,
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    requests: Mapping[str, str] | None = None,
    spec: objects.PodSpec | None = None,
    scheduler_name: str = "policysched",
) -> objects.Pod:
    """Return a pending pod with one container; `spec` holds all other fields of the pod spec."""
    container = objects.Container(
        name="main", resources=objects.ResourceRequirements(requests=dict(requests or {}))
    )
    base = spec or objects.PodSpec()
    return objects.Pod(
        metadata=objects.ObjectMeta(name=name, namespace=namespace, labels=dict(labels or {})),
        spec=msgspec.structs.replace(base, containers=(container,), scheduler_name=scheduler_name),
    )


class SimulatedWorkload:
    """An endless sequence of pods of random kinds."""

    def __init__(
        self,
        rng: random.Random,
        mix: Mapping[str, int] | None = None,
        scheduler_name: str = "policysched",
    ) -> None:
        """Draw kinds with the weights of `mix` (key of `KINDS` → weight; None: equal)."""
        self._rng = rng
        self._weights = dict.fromkeys(KINDS, 1) if mix is None else dict(mix)
        self._scheduler_name = scheduler_name
        self._made = 0

    def make_pods(self, count: int) -> list[objects.Pod]:
        """Return the next `count` pods."""
        return [self._make_next_pod() for _ in range(count)]

    def _make_next_pod(self) -> objects.Pod:
        """Return a pod of a random kind with random requests of this kind."""
        kind = self._rng.choices(list(self._weights), list(self._weights.values()))[0]
        self._made += 1
        shape = KINDS[kind]
        return make_pod(
            f"{kind}-{self._made}",
            labels={"app": kind},
            requests={
                "cpu": self._rng.choice(shape.cpu),
                "memory": self._rng.choice(shape.memory),
                **shape.devices,
            },
            spec=shape.spec,
            scheduler_name=self._scheduler_name,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class PodKind:
    """A kind of pods that the workload creates.

    Attributes:
        cpu, memory: requests to draw from.
        devices: requests of extended resources.
        spec: affinity, spread constraints and tolerations.
    """

    cpu: tuple[str, ...] = ("100m", "250m", "500m")
    memory: tuple[str, ...] = ("128Mi", "256Mi", "512Mi")
    devices: Mapping[str, str] = dataclasses.field(default_factory=dict)
    spec: objects.PodSpec = dataclasses.field(default_factory=objects.PodSpec)


def _make_app_affinity_term(app: str, topology_key: str) -> objects.PodAffinityTerm:
    return objects.PodAffinityTerm(
        topology_key=topology_key,
        label_selector=objects.LabelSelector(match_labels={"app": app}),
    )


KINDS: Mapping[str, PodKind] = {
    "plain": PodKind(),
    "batch": PodKind(cpu=("1", "2"), memory=("2Gi", "4Gi")),
    "web": PodKind(
        spec=objects.PodSpec(
            topology_spread_constraints=(
                objects.TopologySpreadConstraint(
                    max_skew=1,
                    topology_key=ZONE,
                    label_selector=objects.LabelSelector(match_labels={"app": "web"}),
                ),
            )
        )
    ),
    "cache": PodKind(
        spec=objects.PodSpec(
            affinity=objects.Affinity(
                pod_anti_affinity=objects.PodAffinity(
                    required_during_scheduling_ignored_during_execution=(
                        _make_app_affinity_term("cache", HOSTNAME),
                    )
                )
            )
        )
    ),
    "near": PodKind(
        spec=objects.PodSpec(
            affinity=objects.Affinity(
                pod_affinity=objects.PodAffinity(
                    preferred_during_scheduling_ignored_during_execution=(
                        objects.WeightedPodAffinityTerm(
                            weight=50, pod_affinity_term=_make_app_affinity_term("cache", ZONE)
                        ),
                    )
                )
            )
        )
    ),
    "gpu": PodKind(
        cpu=("4",),
        memory=("16Gi",),
        devices={GPU: "1"},
        spec=objects.PodSpec(
            tolerations=(objects.Toleration(key=GPU, operator="Exists", effect="NoSchedule"),)
        ),
    ),
}
"""Kinds of pods that `SimulatedWorkload` mixes, keyed by the value of their label `app`."""
