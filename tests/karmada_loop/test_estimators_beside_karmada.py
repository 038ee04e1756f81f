"""`karmada run` and the real karmada-scheduler, both told by real estimators what fits."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.karmada import twins
from tests.realcluster import karmada, karmada_estimator, manifests, process

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

    from tests.e2e.scenes import scheduler_process
    from tests.realcluster import api_client
    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

LIMIT_SECONDS = 150.0
FLAGS = (
    "--scheduler-estimator-timeout=2s",
    "--feature-gates=MultiplePodTemplatesScheduling=true",
)
SSD = {"nodeSelector": {"disk": "ssd"}}
TOLERANT = {
    "hardNodeAffinity": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b", "c"]}]}
        ]
    },
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
}


def _nodes(client: api_client.ApiClient) -> None:
    """Three nodes with room for 4, 5 and 7 replicas of one CPU; the last one takes few pods."""
    for name, cpu, labels, taints in (
        ("a", "6", {"zone": "a", "disk": "ssd"}, ()),
        ("b", "5", {"zone": "b"}, ()),
        ("c", "7", {"zone": "c", "disk": "ssd"}, [("gpu", "", "NoSchedule")]),
    ):
        resources = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
        node = manifests.node(name, labels=labels, resources=resources, taints=taints)
        client.create("/api/v1/nodes", node)
    taken = manifests.pod("taken", requests={"cpu": "2"}, spec={"nodeName": "a"})
    client.create("/api/v1/namespaces/default/pods", taken)


def _workload(name: str, replicas: int, clusters: list[str], **claim: Any) -> twins.Object:
    """Return a binding that is divided by free capacity among these clusters."""
    placement = {"clusterAffinity": {"clusterNames": clusters}} | twins.dynamic()
    item = twins.binding(name, placement, replicas=replicas)
    item["spec"]["replicaRequirements"] |= {"namespace": "default"} | claim
    return item


def _whole(name: str, clusters: list[str], workers: int) -> twins.Object:
    """Return a binding of two components that go to one of these clusters together."""
    one = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]
    placement = {"clusterAffinity": {"clusterNames": clusters}, "spreadConstraints": one}
    item = twins.binding(name, placement | twins.divided("Aggregated"), replicas=1)
    del item["spec"]["replicas"], item["spec"]["replicaRequirements"]
    item["spec"]["components"] = [
        {"name": name, "replicas": replicas, "replicaRequirements": {"resourceRequest": asked}}
        for name, replicas, asked in (("head", 1, {"cpu": "2"}), ("worker", workers, {"cpu": "1"}))
    ]
    return item


def _workloads() -> list[twins.Object]:
    both, asked = ["member1", "member2"], ["member1", "member2", "member3"]
    aggregated = twins.binding(
        "aggregated",
        {"clusterAffinity": {"clusterNames": asked}} | twins.divided("Aggregated"),
        replicas=12,
    )
    terms = [
        {"affinityName": "small", "clusterNames": ["member3"]},
        {"affinityName": "large", "clusterNames": both},
    ]
    return [
        _whole("whole", both, 2),
        _whole("whole-too-large", both, 20),
        _workload("plain", 12, asked),
        _workload("by-labels", 6, both, nodeClaim=SSD),
        _workload("by-affinity", 20, both, nodeClaim=TOLERANT),
        _workload("too-much", 30, both),
        _workload("quarters", 9, asked, resourceRequest={"cpu": "1.25", "memory": "1Gi"}),
        aggregated,
        twins.binding("terms", {"clusterAffinities": terms} | twins.dynamic(), replicas=15),
        twins.binding("duplicated", {"clusterAffinity": {"clusterNames": asked}}, replicas=3),
        # One candidate without an estimator, and nobody's estimates count.
        _workload("one-is-missing", 12, ["member1", "member4"]),
        twins.binding("config", {"clusterAffinity": {"clusterNames": asked}}),
    ]


@contextlib.contextmanager
def _estimators(
    plane: control_planes.ControlPlane, folder: pathlib.Path, made: karmada_estimator.Certificates
) -> Iterator[list[karmada_estimator.KarmadaEstimator]]:
    """Yield those of member1 and member2, which have the same nodes; member3 is one of them."""
    with contextlib.ExitStack() as stack:
        found = [
            stack.enter_context(karmada_estimator.KarmadaEstimator(plane, folder, name, made))
            for name in ("member1", "member2", "member3")
        ]
        for number, each in enumerate(found, start=1):
            each.process.wait_until(each.is_listening, time_limit_seconds=LIMIT_SECONDS)
            karmada_estimator.publish(plane.client, f"member{number}", each.port)
        karmada_estimator.publish_nowhere(plane.client, "member4")
        yield found


def _alike(
    client: api_client.ApiClient, scheduler: scheduler_process.PolicyScheduler, count: int
) -> dict[str, dict[str, int]]:
    """Return where replicas are, once both have looked at all bindings and agree on everything."""
    told: dict[str, dict[str, Any]] = {}

    def are_alike() -> bool:
        told.update({name: twins.outcomes(client, name) for name in twins.BOTH})
        ours, theirs = (told[name] for name in twins.BOTH)
        is_same = not twins.differences(ours, theirs) and len(theirs) == count
        return is_same and all(map(twins.is_settled, theirs.values()))

    try:
        scheduler.wait_until(are_alike, time_limit_seconds=LIMIT_SECONDS)
    except process.ProcessError as error:
        ours, theirs = (told[name] for name in twins.BOTH)
        error.add_note("\n".join(f"{n}: {ours.get(n)}\n   {theirs[n]}" for n in theirs))
        raise
    return {
        name: {one["name"]: one.get("replicas", 0) for one in each["clusters"] or []}
        for name, each in told[twins.THEIRS].items()
    }


def test_both_divide_by_what_estimators_say(
    karmada_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Same results over mutual TLS, also when an estimator is frozen, gone, or was never there."""
    client = karmada_plane.client
    _nodes(client)
    for name, cpu in (("member1", "100"), ("member2", "8"), ("member3", "3"), ("member4", "50")):
        karmada.create(client, twins.cluster(name, cpu=cpu))
    made = karmada_estimator.certificates(tmp_path)
    flags = [*made.of_scheduler, *FLAGS]
    with (
        _estimators(karmada_plane, tmp_path, made) as estimators,
        karmada.KarmadaScheduler(karmada_plane, tmp_path, flags=flags),
        twins.ours(karmada_plane, tmp_path, flags) as scheduler,
    ):
        workloads = _workloads()
        twins.create(client, workloads)
        where = _alike(client, scheduler, len(workloads))
        # 9 replicas fit on the nodes of member1, 8 say member2 and 3 say member3 themselves.
        assert where["plain"] == {"member1": 5, "member2": 5, "member3": 2}
        assert where["terms"] == {"member1": 8, "member2": 7}
        assert where["too-much"] == {}
        assert where["whole"] == {"member1": 0}
        assert where["whole-too-large"] == {}
        assert where["one-is-missing"] == {"member1": 8, "member4": 4}
        for number, ending in enumerate((signal.SIGSTOP, signal.SIGKILL)):
            estimators[1].process.signal(ending)
            more = _workload(f"without-{number}", 40, ["member1", "member2"])
            twins.create(client, [more])
            workloads.append(more)
            where = _alike(client, scheduler, len(workloads))
            told = twins.outcomes(client, twins.THEIRS)[f"without-{number}"]
            assert where[f"without-{number}"] == {"member1": 37, "member2": 3}, told
