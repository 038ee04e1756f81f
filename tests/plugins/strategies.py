"""Generated nodes and pods: few different values, so that they often meet."""

from __future__ import annotations

import enum
from typing import Any

import hypothesis.strategies as st

from policysched.cluster.objects import objects
from tests.builders import expression, label_selector

ZONE, HOSTNAME, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"
TOPOLOGY_KEYS = (ZONE, HOSTNAME, RACK)
NAMESPACES = ("default", "prod", "ghost")
"""`ghost` has no Namespace object."""
OFTEN_DEFAULT = (*("default",) * 8, "prod", "ghost")
IMAGE_SIZES = {
    "app:latest": 400 * 2**20,
    "registry.example.com:5000/app:latest": 90 * 2**20,
    "app:v2": 2600 * 2**20,
    "tiny:v1": 1,
}


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return None half of the time."""
    return st.none() | strategy


def optional_mapping(choices: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Return a mapping of some of the keys."""
    return st.fixed_dictionaries({}, optional=choices)


class Focus(enum.Enum):
    """What pods are mostly about; all else stays rare, so that it does not hide it."""

    ONE_NODE = enum.auto()
    AFFINITY = enum.auto()
    SPREAD = enum.auto()


# --- nodes ---------------------------------------------------------------------------------------

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
taints = st.builds(
    objects.Taint,
    key=st.sampled_from(("dedicated", "spot", "node.kubernetes.io/unschedulable")),
    value=st.sampled_from(("", "gpu", "4", "6")),
    effect=st.sampled_from(EFFECTS),
)
node_labels = st.fixed_dictionaries(
    {
        ZONE: st.sampled_from(("a", "a", "a", "b", "b", "b", "c", "", None)),
        RACK: st.sampled_from(("1", "1", "2", "2", None)),
        "disk": st.sampled_from(("ssd", "ssd", "hdd", None)),
        "cores": st.sampled_from(("4", "16", "many", None)),
    }
).map(lambda labels: {key: value for key, value in labels.items() if value is not None})
node_resources = optional_mapping(
    {
        "cpu": st.sampled_from(("0", "1", "1500m", "4")),
        "memory": st.sampled_from(("512Mi", "2Gi", "3G")),
        "ephemeral-storage": st.sampled_from(("1Gi", "5Gi")),
        "pods": st.sampled_from((1, 2, 4, 110)),
        "example.com/gpu": st.sampled_from((0, 1, 4)),
        "hugepages-2Mi": st.sampled_from(("0", "4Mi")),
    }
)
images = st.sets(st.sampled_from(sorted(IMAGE_SIZES))).map(
    lambda names: tuple(
        objects.ContainerImage(names=(n,), size_bytes=IMAGE_SIZES[n]) for n in sorted(names)
    )
)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> objects.Node:
    """Return a node; one in a few lacks the hostname label."""
    labels = draw(node_labels)
    if draw(st.integers(0, 9)):
        labels[HOSTNAME] = name
    return objects.Node(
        metadata=objects.ObjectMeta(name=name, labels=labels),
        spec=objects.NodeSpec(
            unschedulable=draw(st.integers(0, 4)) == 0,
            taints=draw(st.just(()) | st.lists(taints, min_size=1, max_size=2).map(tuple)),
        ),
        status=objects.NodeStatus(allocatable=draw(node_resources), images=draw(images)),
    )


# --- selectors -----------------------------------------------------------------------------------

pod_labels = st.fixed_dictionaries(
    {"app": st.sampled_from(("web", "web", "web", "db"))},
    optional={"version": st.sampled_from(("1", "2"))},
)
pod_expressions = st.sampled_from(
    (
        expression("app", "In", "web", "db"),
        expression("app", "NotIn", "db"),
        expression("version", "Exists"),
        expression("version", "DoesNotExist"),
    )
)
web = label_selector(app="web")
pod_selectors = st.sampled_from((web, web, web, web, label_selector(), None)) | st.builds(
    objects.LabelSelector,
    match_labels=optional_mapping({"app": st.sampled_from(("web", "db"))}),
    match_expressions=st.lists(pod_expressions, max_size=1).map(tuple),
)
namespace_selectors = maybe(
    st.sampled_from(
        (
            label_selector(),
            label_selector(team="a"),
            label_selector(expression("team", "DoesNotExist")),
        )
    )
)
node_expressions = st.sampled_from(
    (
        expression("disk", "In", "ssd"),
        expression("disk", "NotIn", "hdd"),
        expression(ZONE, "Exists"),
        expression("cores", "Gt", "4"),
        expression("cores", "Lt", "8"),
        expression(RACK, "DoesNotExist"),
    )
)
name_fields = st.builds(
    expression,
    st.just("metadata.name"),
    st.sampled_from(("In", "NotIn")),
    st.sampled_from(("n0", "n1", "n2")),
)
node_terms = st.builds(
    objects.NodeSelectorTerm,
    match_expressions=st.lists(node_expressions, max_size=2).map(tuple),
    match_fields=st.lists(name_fields, max_size=1).map(tuple),
)
node_affinities = st.builds(
    objects.NodeAffinity,
    required_during_scheduling_ignored_during_execution=maybe(
        st.builds(
            objects.NodeSelector,
            node_selector_terms=st.lists(node_terms, min_size=1, max_size=2).map(tuple),
        )
    ),
    preferred_during_scheduling_ignored_during_execution=st.lists(
        st.builds(
            objects.PreferredSchedulingTerm, weight=st.integers(1, 100), preference=node_terms
        ),
        max_size=2,
    ).map(tuple),
)
pod_terms = st.builds(
    objects.PodAffinityTerm,
    topology_key=st.sampled_from(TOPOLOGY_KEYS),
    label_selector=pod_selectors,
    namespaces=st.lists(st.sampled_from(NAMESPACES), max_size=2).map(tuple),
    namespace_selector=namespace_selectors,
)
weighted_terms = st.builds(
    objects.WeightedPodAffinityTerm, weight=st.sampled_from((1, 7, 7)), pod_affinity_term=pod_terms
)
pod_affinities = st.builds(
    objects.PodAffinity,
    required_during_scheduling_ignored_during_execution=st.lists(pod_terms, max_size=2).map(tuple),
    preferred_during_scheduling_ignored_during_execution=st.lists(weighted_terms, max_size=2).map(
        tuple
    ),
)
spread_constraints = st.builds(
    objects.TopologySpreadConstraint,
    max_skew=st.sampled_from((1, 1, 2)),
    topology_key=st.sampled_from(TOPOLOGY_KEYS),
    when_unsatisfiable=st.sampled_from(("DoNotSchedule", "ScheduleAnyway")),
    label_selector=st.just(web) | pod_selectors,
    min_domains=maybe(st.sampled_from((1, 3, 4))),
    node_affinity_policy=maybe(st.sampled_from(("Honor", "Ignore"))),
    node_taints_policy=maybe(st.sampled_from(("Honor", "Ignore"))),
    match_label_keys=st.sampled_from(((), (), ("version",), ("absent",))),
)

# --- pods ----------------------------------------------------------------------------------------

tolerations = st.builds(
    objects.Toleration,
    key=st.sampled_from(("", "dedicated", "spot", "node.kubernetes.io/unschedulable")),
    operator=st.sampled_from(("", "Equal", "Exists", "Gt", "Lt")),
    value=st.sampled_from(("", "gpu", "5", "-3", "007")),
    effect=st.sampled_from(("", *EFFECTS)),
)
amounts = optional_mapping(
    {
        "cpu": st.sampled_from(("0", "100m", "0.3", "1", "700u")),
        "memory": st.sampled_from(("64Mi", "1Gi", "1500k")),
        "ephemeral-storage": st.sampled_from(("1Gi", "100M")),
        "example.com/gpu": st.sampled_from((0, 1, 2)),
        "hugepages-2Mi": st.just("2Mi"),
    }
)
ports = st.builds(
    objects.ContainerPort,
    host_port=st.sampled_from((0, 80, 81)),
    host_ip=st.sampled_from(("", "10.0.0.1", "10.0.0.2")),
    protocol=st.sampled_from(("TCP", "UDP")),
)


@st.composite
def containers(draw: st.DrawFn, name: str, *, is_init: bool) -> objects.Container:
    """Return a container; one in two init containers is a sidecar."""
    return objects.Container(
        name=name,
        image=draw(st.sampled_from(("app", "app:v2", "registry.example.com:5000/app", "tiny:v1"))),
        ports=tuple(draw(st.lists(ports, max_size=1))),
        resources=objects.ResourceRequirements(requests=draw(amounts)),
        restart_policy="Always" if is_init and draw(st.booleans()) else "",
    )


@st.composite
def pods(
    draw: st.DrawFn, name: str, node_name: str = "", focus: Focus = Focus.ONE_NODE
) -> objects.Pod:
    """Return a pod on `node_name`, or a pending one."""
    owner = objects.OwnerReference(
        api_version="apps/v1", kind="ReplicaSet", name="rs", uid="rs", controller=True
    )
    meta = objects.ObjectMeta(
        name=name,
        namespace=draw(st.sampled_from(OFTEN_DEFAULT)),
        uid=name,
        labels=draw(pod_labels),
        owner_references=(owner,) if draw(st.booleans()) else (),
        deletion_timestamp=draw(st.sampled_from((None, None, None, "2026-01-05T11:59:00Z"))),
    )
    return objects.Pod(metadata=meta, spec=draw(_SPECS[focus](node_name)))


@st.composite
def _one_node_specs(draw: st.DrawFn, node_name: str) -> objects.PodSpec:
    level = objects.ResourceRequirements(requests=draw(amounts))
    return objects.PodSpec(
        node_name=node_name,
        node_selector=draw(optional_mapping({"disk": st.just("ssd")})),
        affinity=objects.Affinity(node_affinity=draw(maybe(node_affinities))),
        tolerations=tuple(draw(st.lists(tolerations, max_size=2))),
        containers=tuple(
            draw(containers(f"c{i}", is_init=False)) for i in range(draw(st.integers(1, 2)))
        ),
        init_containers=tuple(
            draw(containers(f"i{i}", is_init=True)) for i in range(draw(st.integers(0, 2)))
        ),
        overhead=draw(st.sampled_from(({}, {"cpu": "10m"}, {"memory": "1Mi"}))),
        resources=level if draw(st.integers(0, 3)) == 0 else None,
    )


def _affinity_specs(node_name: str) -> st.SearchStrategy[objects.PodSpec]:
    affinities = st.builds(
        objects.Affinity,
        pod_affinity=maybe(pod_affinities),
        pod_anti_affinity=maybe(pod_affinities),
    )
    return st.builds(objects.PodSpec, node_name=st.just(node_name), affinity=affinities)


def _spread_specs(node_name: str) -> st.SearchStrategy[objects.PodSpec]:
    """Placed pods need no constraints: these act on the pod that has them alone."""
    constraints = st.just(()) if node_name else _some_constraints
    on_ssd = st.sampled_from(({}, {}, {"disk": "ssd"}))
    tolerated = st.lists(tolerations, max_size=1).map(tuple)
    return st.builds(
        objects.PodSpec,
        node_name=st.just(node_name),
        node_selector=on_ssd,
        tolerations=tolerated,
        topology_spread_constraints=constraints,
    )


_some_constraints = st.sampled_from((1, 2, 1, 2, 0)).flatmap(
    lambda count: st.tuples(*[spread_constraints] * count)
)
_SPECS = {
    Focus.ONE_NODE: _one_node_specs,
    Focus.AFFINITY: _affinity_specs,
    Focus.SPREAD: _spread_specs,
}
