"""A seeded backlog of all shapes of pods, and a cluster on which all of them fit.

    made = workload.mixed(seed=1)
    made.create(plane.client)

Pods name the profiles of policies/ as their scheduler. Whatever order they are placed in, all of
them fit: there is room several times over, and no rule of one pod can block another for good.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from typing import TYPE_CHECKING, Any, TypeAlias

from tests import whole_numbers
from tests.e2e.scenes import shipped_policies
from tests.realcluster import api_client, manifests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Object: TypeAlias = Mapping[str, Any]

PODS = whole_numbers.read_variable("BACKLOG_PODS", 1000, least=500)
NODES = PODS // 3
"""`make test` has a third of the pods and nodes that `make backlog` has by default."""

NAMESPACES: Mapping[str, Mapping[str, str]] = {
    "prod": {"team": "edge"},
    "batch": {"team": "data"},
    "data": {"team": "data"},
}
_PRIORITIES = {"e2e-low": -10, "e2e-high": 1000}
_CPUS = ("50m", "100m", "250m", "0.5", "1")
_MEMORY = ("64Mi", "128M", "256Mi", "1Gi", "1.5Gi")
_REPLICAS = 25


@dataclasses.dataclass(frozen=True)
class Workload:
    """Objects to be created, in that order.

    Attributes:
        namespaces: labels by name.
        priority_classes: priority by name.
        nodes: all Ready.
        pods: each with its namespace, in the order of creation.
    """

    namespaces: Mapping[str, Mapping[str, str]]
    priority_classes: Mapping[str, int]
    nodes: Sequence[Object]
    pods: Sequence[Object]

    def create(self, client: api_client.ApiClient) -> None:
        """Create everything; namespaces and priority classes may be there already."""
        self.create_cluster(client)
        self.create_pods(client)

    def create_cluster(self, client: api_client.ApiClient) -> None:
        """Create everything but the pods."""
        for name, labels in self.namespaces.items():
            create_once(
                client, "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}}
            )
        for name, priority in self.priority_classes.items():
            create_once(
                client,
                "/apis/scheduling.k8s.io/v1/priorityclasses",
                {"metadata": {"name": name}, "value": priority},
            )
        client.create_nodes(self.nodes)

    def create_pods(self, client: api_client.ApiClient) -> None:
        """Create the pods."""
        for namespace, pods in itertools.groupby(
            self.pods, lambda pod: str(pod["metadata"]["namespace"])
        ):
            client.create_pods(namespace, pods)


def mixed(seed: int, *, nodes: int = NODES, pods: int = PODS) -> Workload:
    """Return a cluster and a backlog of every shape, each with the same share of the pods."""
    return _workload(seed, _SHAPES_OF_KUBERNETES + _SHAPES_OF_POLICIES, nodes, pods)


def without_policies(
    seed: int, *, scheduler_name: str, nodes: int = 200, pods: int = 600
) -> Workload:
    """Return a cluster and a backlog of all shapes that kube-scheduler can place, too."""
    made = _workload(seed, _SHAPES_OF_KUBERNETES, nodes, pods)
    for pod in made.pods:
        pod["spec"]["schedulerName"] = scheduler_name
    return made


def _workload(
    seed: int, shapes: Sequence[Callable[[random.Random], Iterator[Any]]], nodes: int, pods: int
) -> Workload:
    rng = random.Random(seed)
    per_shape = -(-pods // len(shapes))
    made = [pod for shape in shapes for pod in itertools.islice(shape(rng), per_shape)]
    chosen = made[:pods]
    rng.shuffle(chosen)
    # Pods of one namespace are created together; in there the shapes stay mixed.
    chosen.sort(key=lambda pod: str(pod["metadata"]["namespace"]))
    return Workload(NAMESPACES, _PRIORITIES, cluster_nodes(nodes), chosen)


# --- nodes ----------------------------------------------------------------------------------------


def cluster_nodes(count: int) -> list[dict[str, Any]]:
    """Return nodes of all kinds in three zones: SSDs, GPUs, pools, cordons, taints."""
    return [_node(number) for number in range(count)]


def _node(number: int) -> dict[str, Any]:
    zone = manifests.ZONES[number % len(manifests.ZONES)]
    turn = number // len(manifests.ZONES)
    instance_type = manifests.INSTANCE_TYPES[turn % len(manifests.INSTANCE_TYPES)]
    node = manifests.typed_node(f"node-{number:04}", zone=zone, instance_type=instance_type)
    labels = node["metadata"]["labels"]
    labels["disktype"] = "hdd" if turn % 4 == 0 else "ssd"
    labels["kernel-major"] = str(5 + turn % 3)
    if shipped_policies.GPU_RESOURCE in instance_type.resources:
        labels["gpu-memory-gb"] = "16" if turn % 3 == 0 else "80"
    match turn % 20:
        case 5:
            node["spec"]["unschedulable"] = True
        case 10:
            labels["pool"] = "batch"
            node["spec"]["taints"] += [_taint("dedicated", "batch", "NoSchedule")]
        case 15:
            node["spec"]["taints"] += [_taint("maintenance", "", "NoExecute")]
        case 16:
            amounts = node["status"]["allocatable"]
            amounts["alibabacloud.com/gpu-milli"] = "8000"
        case _:
            pass
    return node


def _taint(key: str, value: str, effect: str) -> dict[str, str]:
    return {"key": key, "value": value, "effect": effect}


# --- pods -----------------------------------------------------------------------------------------


def _plain(rng: random.Random) -> Iterator[Object]:
    for number in itertools.count():
        yield _pod(rng, "batch", f"plain-{number}")


def _with_init_containers(rng: random.Random) -> Iterator[Object]:
    """Init containers that need more than the rest of the pod, sidecars, ephemeral storage."""
    for number in itertools.count():
        init = [
            _container("sidecar", {"cpu": "100m", "memory": "100Mi"}) | {"restartPolicy": "Always"},
            _container("unpack", {"cpu": "2", "ephemeral-storage": "5Gi"}),
        ]
        yield _pod(rng, "data", f"init-{number}", spec={"initContainers": init})


def _web(rng: random.Random) -> Iterator[Object]:
    for number in itertools.count():
        labels = {"tier": "web", "pod-template-hash": f"web{number // _REPLICAS}"}
        yield _pod(rng, "prod", f"web-{number}", labels=labels, scheduler_name=shipped_policies.WEB)


def _cache(rng: random.Random) -> Iterator[Object]:
    for number in itertools.count():
        yield _pod(rng, "prod", f"cache-{number}", labels={"app": "cache"})


def _gpu(rng: random.Random) -> Iterator[Object]:
    for number in itertools.count():
        yield _pod(
            rng,
            "batch",
            f"gpu-{number}",
            requests={shipped_policies.GPU_RESOURCE: "1"},
            scheduler_name=shipped_policies.GPU,
        )


def _kept_out_of_gpu_nodes(rng: random.Random) -> Iterator[Object]:
    """Tolerate everything and request no GPU, which the policy alone keeps off GPU nodes."""
    for number in itertools.count():
        yield _pod(
            rng,
            "batch",
            f"no-gpu-{number}",
            spec={"tolerations": [{"operator": "Exists"}]},
            scheduler_name=shipped_policies.GPU,
        )


def _shared_gpu(rng: random.Random) -> Iterator[Object]:
    for number in itertools.count():
        yield _pod(
            rng,
            "batch",
            f"share-{number}",
            requests={"alibabacloud.com/gpu-milli": rng.choice(("190", "460", "810"))},
            scheduler_name=shipped_policies.GPU_PACKING,
        )


def _load_aware(rng: random.Random) -> Iterator[Object]:
    for number in itertools.count():
        yield _pod(rng, "data", f"load-{number}", scheduler_name=shipped_policies.LOAD_AWARE)


def _packed(rng: random.Random) -> Iterator[Object]:
    for number in itertools.count():
        yield _pod(rng, "batch", f"pack-{number}", scheduler_name=shipped_policies.PACK)


def _spread_out(rng: random.Random) -> Iterator[Object]:
    for number in itertools.count():
        labels = {"pod-template-hash": f"spread{number // _REPLICAS}"}
        yield _pod(
            rng, "data", f"apart-{number}", labels=labels, scheduler_name=shipped_policies.SPREAD
        )


def _zone_spread(rng: random.Random) -> Iterator[Object]:
    for number, app in _apps("even"):
        constraint = {
            "topologyKey": manifests.ZONE,
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": app}},
        }
        spec = {"topologySpreadConstraints": [constraint]}
        yield _pod(rng, "prod", f"even-{number}", labels={"app": app}, spec=spec)


def _host_anti_affinity(rng: random.Random) -> Iterator[Object]:
    for number, app in _apps("single"):
        spec = _pod_term("podAntiAffinity", app, manifests.HOSTNAME)
        yield _pod(rng, "prod", f"single-{number}", labels={"app": app}, spec=spec)


def _zone_affinity(rng: random.Random) -> Iterator[Object]:
    for number, app in _apps("near"):
        spec = _pod_term("podAffinity", app, manifests.ZONE)
        yield _pod(rng, "data", f"near-{number}", labels={"app": app}, spec=spec)


def _node_affinity(rng: random.Random) -> Iterator[Object]:
    choices = (
        [{"key": manifests.ZONE, "operator": "In", "values": ["zone-a", "zone-c"]}],
        [{"key": manifests.INSTANCE_TYPE, "operator": "NotIn", "values": ["general-8"]}],
        [{"key": "kernel-major", "operator": "Gt", "values": ["5"]}],
        [
            {"key": "kernel-major", "operator": "Lt", "values": ["7"]},
            {"key": "gpu-memory-gb", "operator": "DoesNotExist"},
            {"key": "disktype", "operator": "Exists"},
        ],
    )
    for number in itertools.count():
        terms = [{"matchExpressions": rng.choice(choices)} for _ in range(rng.randint(1, 2))]
        required = {"nodeSelectorTerms": terms}
        node_affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
        spec = {"affinity": {"nodeAffinity": node_affinity}}
        yield _pod(rng, "data", f"picky-{number}", spec=spec)


def _tolerating(rng: random.Random) -> Iterator[Object]:
    toleration = {"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}
    spec = {"tolerations": [toleration], "nodeSelector": {"pool": "batch"}}
    for number in itertools.count():
        yield _pod(rng, "batch", f"pooled-{number}", spec=spec)


def _host_ports(rng: random.Random) -> Iterator[Object]:
    for number in itertools.count():
        port = {"containerPort": 80, "hostPort": 8000 + number % 3, "protocol": "TCP"}
        made = _pod(rng, "prod", f"port-{number}")
        made["spec"]["containers"][0]["ports"] = [port]
        yield made


def _prioritized(rng: random.Random) -> Iterator[Object]:
    for number in itertools.count():
        spec = {"priorityClassName": rng.choice(tuple(_PRIORITIES))}
        yield _pod(rng, "batch", f"ranked-{number}", spec=spec)


_SHAPES_OF_KUBERNETES = (
    _plain,
    _with_init_containers,
    _cache,
    _zone_spread,
    _host_anti_affinity,
    _zone_affinity,
    _node_affinity,
    _tolerating,
    _host_ports,
    _prioritized,
)
_SHAPES_OF_POLICIES = (
    _web,
    _gpu,
    _kept_out_of_gpu_nodes,
    _shared_gpu,
    _load_aware,
    _packed,
    _spread_out,
)


def _apps(prefix: str) -> Iterator[tuple[int, str]]:
    """Number pods, with a new app every few replicas."""
    for number in itertools.count():
        yield number, f"{prefix}-{number // _REPLICAS}"


def _pod_term(kind: str, app: str, topology_key: str) -> Object:
    term = {"topologyKey": topology_key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _container(name: str, requests: Object) -> dict[str, Any]:
    return {"name": name, "image": "pause:3.10", "resources": {"requests": requests}}


def _pod(
    rng: random.Random,
    namespace: str,
    name: str,
    *,
    scheduler_name: str = shipped_policies.DEFAULT,
    requests: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    spec: Object | None = None,
) -> dict[str, Any]:
    amounts = {"cpu": rng.choice(_CPUS), "memory": rng.choice(_MEMORY)} | dict(requests or {})
    made = manifests.pod(
        name, scheduler_name=scheduler_name, requests=amounts, labels=labels, spec=spec
    )
    made["metadata"]["namespace"] = namespace
    return made


def create_once(client: api_client.ApiClient, path: str, body: Object) -> None:
    """Create an object that may be there already."""
    try:
        client.create(path, body)
    except api_client.ApiError as error:
        if error.reason != "AlreadyExists":
            raise
