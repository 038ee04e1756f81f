from __future__ import annotations

import random
from collections import Counter

from policysched.cluster.pods import pod_requests
from policysched.sim import workload


def test_a_fleet_has_every_instance_type_in_every_zone() -> None:
    """Nine nodes are all pairs of three zones and three types."""
    labels = [node.metadata.labels for node in workload.make_node_fleet(9)]
    pairs = {(each[workload.ZONE], each[workload.INSTANCE_TYPE]) for each in labels}
    assert len(pairs) == 9


def test_only_gpu_nodes_have_gpus_and_the_taint() -> None:
    """The taint and the device come together."""
    for node in workload.make_node_fleet(9):
        has_gpu = workload.GPU in node.status.allocatable
        assert has_gpu == bool(node.spec.taints)


def test_the_same_seed_gives_the_same_pods() -> None:
    """A workload is a function of its seed."""
    first, second = (workload.SimulatedWorkload(random.Random(4)).make_pods(50) for _ in range(2))
    assert first == second
    assert workload.SimulatedWorkload(random.Random(5)).make_pods(50) != first


def test_kinds_come_in_the_proportions_asked_for() -> None:
    """A kind with three times the weight is about three times as frequent."""
    pods = workload.SimulatedWorkload(random.Random(1), {"plain": 3, "gpu": 1}).make_pods(800)
    counts = Counter(pod.metadata.labels["app"] for pod in pods)
    assert set(counts) == {"plain", "gpu"}
    assert 2.5 < counts["plain"] / counts["gpu"] < 3.6


def test_pods_are_pending_named_apart_and_addressed() -> None:
    """Each pod waits for the scheduler that was named, under a name of its own."""
    pods = workload.SimulatedWorkload(random.Random(1), scheduler_name="pack").make_pods(100)
    assert len({pod.key for pod in pods}) == 100
    assert {pod.spec.scheduler_name for pod in pods} == {"pack"}
    assert not any(pod.spec.node_name for pod in pods)


def test_every_kind_requests_something() -> None:
    """Requests are read as integers; GPU pods also request a device."""
    for kind in workload.KINDS:
        (pod,) = workload.SimulatedWorkload(random.Random(1), {kind: 1}).make_pods(1)
        amounts = pod_requests.compute_pod_requests(pod).amounts
        assert amounts["cpu"] > 0
        assert amounts["memory"] > 0
        assert (workload.GPU in amounts) == (kind == "gpu")
