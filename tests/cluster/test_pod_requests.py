"""What pods request: containers, phases, pod level, overhead, resize."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import msgspec
import pytest

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_requests, pod_shape
from tests.builders import PodBuilder, make_pod
from tests.plugins import strategies
from tests.reference import requests as reference

GIB = 2**30
MIB = 2**20
DEFAULT_MEMORY = 200 * MIB


def granted(
    name: str, *, actual: objects.ResourceList, allocated: objects.ResourceList
) -> PodBuilder:
    """Return a running pod that requests 1 CPU and 1Gi, of which its status says otherwise."""
    status = objects.ContainerStatus(
        name="c0",
        resources=objects.ResourceRequirements(requests=actual),
        allocated_resources=allocated,
    )
    return make_pod(name).requests(cpu="1", memory="1Gi").status(container_statuses=(status,))


def infeasible(builder: PodBuilder) -> PodBuilder:
    """Return the same pod with its resize refused."""
    refused = objects.Condition(type="PodResizePending", status="True", reason="Infeasible")
    return builder.status(conditions=(refused,))


CASES = [
    pytest.param(
        make_pod("a").container(requests={"cpu": "1"}).container(requests={"cpu": "500m"}),
        {"cpu": 1500},
        (1500, 2 * DEFAULT_MEMORY),
        id="containers add up",
    ),
    pytest.param(
        make_pod("a").requests(cpu="1").init_container(requests={"cpu": "2", "memory": "1Gi"}),
        {"cpu": 2000, "memory": GIB},
        (2000, GIB),
        id="the largest init container counts if larger",
    ),
    pytest.param(
        make_pod("a")
        .requests(cpu="1")
        .init_container(requests={"cpu": "1"}, is_sidecar=True)
        .init_container(requests={"cpu": "3"}),
        {"cpu": 4000},
        (4000, 2 * DEFAULT_MEMORY),
        id="a sidecar runs beside later init containers",
    ),
    pytest.param(
        make_pod("a")
        .requests(cpu="1")
        .init_container(requests={"cpu": "3"})
        .init_container(requests={"cpu": "1"}, is_sidecar=True),
        {"cpu": 3000},
        (3000, 2 * DEFAULT_MEMORY),
        id="a sidecar does not run beside earlier init containers",
    ),
    pytest.param(
        make_pod("a").requests(cpu="1").overhead(cpu="250m", memory="10Mi"),
        {"cpu": 1250, "memory": 10 * MIB},
        (1250, DEFAULT_MEMORY + 10 * MIB),
        id="overhead comes on top",
    ),
    pytest.param(
        make_pod("a")
        .requests({"cpu": "1", "hugepages-2Mi": "2Mi", "example.com/gpu": 1})
        .pod_level_requests(**{"cpu": "3", "memory": "1Gi", "ephemeral-storage": "1Gi"}),
        {"cpu": 3000, "memory": GIB, "hugepages-2Mi": 2 * MIB, "example.com/gpu": 1},
        (3000, GIB),
        id="the pod level replaces the sums of what it may name",
    ),
    pytest.param(
        make_pod("a").requests().pod_level_requests(cpu="2"),
        {"cpu": 2000},
        (2000, DEFAULT_MEMORY),
        id="defaults fill in only what neither level requests",
    ),
    pytest.param(
        make_pod("a").container(requests={"cpu": "100500u"}).container(requests={"cpu": "100500u"}),
        {"cpu": 201},
        (201, 2 * DEFAULT_MEMORY),
        id="fractions add up before they are rounded up",
    ),
    pytest.param(
        make_pod("a").requests({"example.com/gpu": 1, "pods": 1, "storage": "1Gi"}),
        {"example.com/gpu": 1},
        (100, DEFAULT_MEMORY),
        id="names that no node offers by the piece are left out",
    ),
    pytest.param(
        granted("a", actual={"cpu": "2", "memory": "512Mi"}, allocated={"cpu": "1"}),
        {"cpu": 2000, "memory": GIB},
        (2000, GIB),
        id="a running pod holds the largest of what was asked and granted",
    ),
    pytest.param(
        infeasible(granted("a", actual={"cpu": "500m", "memory": "512Mi"}, allocated={})),
        {"cpu": 500, "memory": 512 * MIB},
        (500, 512 * MIB),
        id="a refused resize does not count",
    ),
]


@pytest.mark.parametrize("builder, amounts, nonzero", CASES)
def test_pod_requests(
    builder: PodBuilder, amounts: dict[str, int], nonzero: tuple[int, int]
) -> None:
    """Requests are what kube-scheduler would count for the pod."""
    found = pod_requests.compute_pod_requests(builder.build())
    assert found.amounts == amounts
    assert (found.nonzero_cpu_milli, found.nonzero_memory_bytes) == nonzero


def test_scores_do_not_look_at_the_pod_level() -> None:
    """NodeResourcesFit scores an incoming pod by its containers, defaults included."""
    pod = make_pod("a").requests(cpu="1").pod_level_requests(cpu="3", memory="4Gi").build()
    assert pod_requests.compute_pod_requests(pod).scored == {"cpu": 1000, "memory": DEFAULT_MEMORY}


def test_a_resized_pod_level_counts() -> None:
    """What the status grants to the pod as a whole replaces what the spec asks for."""
    pod = make_pod("a").requests(cpu="1").pod_level_requests(cpu="2").build()
    grown = objects.ResourceRequirements(requests={"cpu": "4"})
    resized = msgspec.structs.replace(pod, status=objects.PodStatus(resources=grown))
    assert pod_requests.compute_pod_requests(resized).amounts == {"cpu": 4000}


@pytest.mark.parametrize(
    "name, is_extended, is_scalar",
    [
        pytest.param("cpu", False, False, id="native"),
        pytest.param("example.com/gpu", True, True, id="extended"),
        pytest.param("requests.example.com/gpu", False, False, id="quota name"),
        pytest.param("kubernetes.io/batch", False, True, id="prefixed native"),
        pytest.param("hugepages-1Gi", False, True, id="huge pages"),
        pytest.param("attachable-volumes-csi", False, True, id="volumes"),
    ],
)
def test_kinds_of_resources(name: str, is_extended: bool, is_scalar: bool) -> None:
    """Resource names fall into kube-scheduler's classes."""
    assert pod_requests.is_extended_resource(name) == is_extended
    assert pod_requests.is_scalar_resource(name) == is_scalar


# --- shapes --------------------------------------------------------------------------------------


def test_a_status_that_repeats_the_spec_keeps_the_shape() -> None:
    """Pods share their shape with their running copies, whose status repeats the requests."""
    shapes = pod_shape.PodShapeCache()
    waiting = shapes.intern_shape(make_pod("a").requests(cpu="1", memory="1Gi").build())
    running = granted("b", actual={"cpu": "1000m", "memory": "1Gi"}, allocated={"cpu": "1"})
    assert shapes.intern_shape(running.node("n1").build()) is waiting


def test_a_resized_pod_has_a_shape_of_its_own() -> None:
    """Pods that hold something else than their spec says are not equal to those that do not."""
    shapes = pod_shape.PodShapeCache()
    waiting = shapes.intern_shape(make_pod("a").requests(cpu="1", memory="1Gi").build())
    grown = shapes.intern_shape(granted("b", actual={"cpu": "2"}, allocated={}).build())
    assert grown is not waiting
    assert grown.requests.amounts["cpu"] == 2000


# --- against the reference -----------------------------------------------------------------------

statuses = st.builds(
    objects.ContainerStatus,
    name=st.sampled_from(("c0", "c1", "i0", "i1")),
    resources=strategies.maybe(
        st.builds(objects.ResourceRequirements, requests=strategies.amounts)
    ),
    allocated_resources=strategies.amounts,
)
pod_statuses = st.builds(
    objects.PodStatus,
    container_statuses=st.lists(statuses, max_size=2, unique_by=lambda s: s.name).map(tuple),
    resources=strategies.maybe(
        st.builds(objects.ResourceRequirements, requests=strategies.amounts)
    ),
    allocated_resources=strategies.amounts,
    conditions=st.sampled_from(
        (
            (),
            (objects.Condition(type="PodResizePending", status="True", reason="Infeasible"),),
            (objects.Condition(type="PodResizePending", status="True", reason="Deferred"),),
        )
    ),
)


@hypothesis.given(strategies.pods("a"), pod_statuses)
def test_requests_equal_the_reference(pod: objects.Pod, status: objects.PodStatus) -> None:
    """All four readings of a pod agree with adding up exact fractions phase by phase."""
    pod = msgspec.structs.replace(pod, status=status)
    found = pod_requests.compute_pod_requests(pod)
    nonzero = reference.placed_nonzero(pod)
    assert found.amounts == reference.requested(pod)
    assert found.nonzero_cpu_milli == nonzero.get("cpu", 0)
    assert found.nonzero_memory_bytes == nonzero.get("memory", 0)
    assert found.scored == reference.incoming_scored(pod)


def _with_limits(pod: objects.Pod) -> objects.Pod:
    """Return the pod with limits where it has requests."""

    def limited(
        resources: objects.ResourceRequirements | None,
    ) -> objects.ResourceRequirements | None:
        return resources and msgspec.structs.replace(resources, limits=resources.requests)

    def each(containers: tuple[objects.Container, ...]) -> tuple[objects.Container, ...]:
        return tuple(msgspec.structs.replace(c, resources=limited(c.resources)) for c in containers)

    spec = msgspec.structs.replace(
        pod.spec,
        containers=each(pod.spec.containers),
        init_containers=each(pod.spec.init_containers),
        resources=limited(pod.spec.resources),
    )
    return msgspec.structs.replace(pod, spec=spec)


@hypothesis.given(
    strategies.pods("a").map(_with_limits),
    st.sampled_from(("cpu", "memory", "ephemeral-storage", "example.com/gpu", "pods")),
)
def test_limits_equal_the_reference(pod: objects.Pod, resource: str) -> None:
    """Whatever the pod is made of: containers, init containers, sidecars, pod level, overhead."""
    limits = pod_requests.compute_pod_limits(pod)
    assert pod_requests.get_resource_limit(limits, resource) == reference.limited(pod, resource)


@pytest.mark.parametrize(
    "containers, memory",
    [
        pytest.param(({"memory": "1Gi"}, {"memory": "2Gi"}), 3 * GIB, id="they-add-up"),
        pytest.param(({"memory": "1Gi"}, {}), None, id="one-without-may-take-everything"),
        pytest.param(({"memory": "1Gi"}, {"memory": "0"}), None, id="0-is-no-limit"),
    ],
)
def test_a_pod_is_limited_if_all_of_it_is(
    containers: tuple[dict[str, str], ...], memory: int | None
) -> None:
    """Of memory; a container without a limit of GPUs gets none."""
    made = tuple(
        objects.Container(resources=objects.ResourceRequirements(limits=dict(limits)))
        for limits in containers
    )
    limits = pod_requests.compute_pod_limits(make_pod("a").spec(containers=made).build())
    assert pod_requests.get_resource_limit(limits, "memory") == memory
    assert pod_requests.get_resource_limit(limits, "example.com/gpu") == 0
