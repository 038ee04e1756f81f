"""A thousand nodes, three thousand pods, a real API server, and an independent judge."""

from __future__ import annotations

import collections
import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.checker import cluster_state, demands, placement_checker
from tests.e2e.scenes import scheduler_process, shipped_policies, workload
from tests.realcluster import control_plane as control_planes
from tests.realcluster import kube_scheduler, manifests, watching

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Mapping, Sequence

pytestmark = pytest.mark.e2e

LIMIT_SECONDS = 240.0
"""For all pods to be bound; it takes a tenth of that on an idle machine."""

SHIPPED = ("--policies", str(scheduler_process.SHIPPED_POLICIES))
KILLS = 3


def _bound_pods(plane: control_planes.ControlPlane) -> watching.Watch:
    return watching.Watch(plane.client, "/api/v1/pods", query=watching.BOUND_PODS)


def test_shipped_policies_bind_a_mixed_backlog(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Every pod of a mixed backlog is bound where its spec and the shipped policies allow."""
    made = workload.mixed(seed=1)
    made.create(control_plane.client)
    with (
        _bound_pods(control_plane) as bound,
        scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=SHIPPED) as scheduler,
    ):
        scheduler.wait_until(lambda: len(bound) == len(made.pods), time_limit_seconds=LIMIT_SECONDS)
    cluster = cluster_state.Cluster.read(control_plane.client)
    assert len(cluster.pods) == len(made.pods)
    assert placement_checker.violations(cluster, shipped_policies.TWINS) == []


def test_nothing_is_lost_when_the_scheduler_is_killed(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Killed three times on the way, it still binds every pod, and none where it must not go."""
    made = workload.mixed(seed=2)
    made.create(control_plane.client)
    total = len(made.pods)
    with (
        _bound_pods(control_plane) as bound,
        scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=SHIPPED) as scheduler,
    ):
        for kill in range(1, KILLS + 1):
            enough = total * kill // (KILLS + 1)
            scheduler.wait_until(
                lambda enough=enough: len(bound) >= enough,  # type: ignore[misc]  # a lambda's default has no type
                time_limit_seconds=LIMIT_SECONDS,
            )
            scheduler.kill_and_start_again()
        assert len(bound) < total
        scheduler.wait_until(lambda: len(bound) == total, time_limit_seconds=LIMIT_SECONDS)
    cluster = cluster_state.Cluster.read(control_plane.client)
    assert len(cluster.pods) == total
    assert placement_checker.violations(cluster, shipped_policies.TWINS) == []


def test_a_cluster_that_is_too_small_is_filled(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """With three times as many pods as fit, no rule is broken and no place is left for any pod."""
    made = workload.mixed(seed=7, nodes=30, pods=900)
    made.create(control_plane.client)
    rng = random.Random(7)

    def fitting() -> list[str]:
        """Return pending pods, of a sample, for which there is room."""
        cluster = cluster_state.Cluster.read(control_plane.client)
        pending = [pod for pod in cluster.pods if not cluster_state.node_name(pod)]
        return [
            f"{cluster_state.key(pod)} fits on {place}"
            for pod in rng.sample(pending, min(len(pending), 40))
            if (place := placement_checker.place_for(cluster, pod, shipped_policies.TWINS))
        ]

    with scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=SHIPPED) as scheduler:
        scheduler.wait_until(lambda: not fitting(), time_limit_seconds=LIMIT_SECONDS)
    cluster = cluster_state.Cluster.read(control_plane.client)
    pending = {cluster_state.key(pod) for pod in cluster.pods if not cluster_state.node_name(pod)}
    assert len(pending) > len(cluster.pods) / 4
    found = placement_checker.violations(cluster, shipped_policies.TWINS, may_pend=pending)
    assert found == []


# --- two profiles ---------------------------------------------------------------------------------


def _zone_twin(profile: str, *zones: str) -> demands.PolicyTwin:
    expression = {"key": manifests.ZONE, "operator": "In", "values": zones}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return demands.PolicyTwin(
        profile,
        lambda pod: bool(pod["spec"]["schedulerName"] == profile),
        demands.Demands(f"policy {profile}", node_selectors=[selector]),
    )


def _nodes_used(pods: Sequence[Mapping[str, Any]]) -> dict[str, set[str]]:
    used = collections.defaultdict(set)
    for pod in pods:
        used[pod["spec"]["schedulerName"]].add(pod["spec"]["nodeName"])
    return used


def test_each_pod_is_scheduled_under_the_policy_that_it_names(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    """Of equal pods, one profile packs its half into one zone, another spreads its over the rest.

    Pods of a third scheduler are left alone.
    """
    profiles = ("north", "south", "somebody-else")
    requests = {"cpu": "500m", "memory": "1Gi"}
    pods = [
        manifests.pod(f"pod-{number}", scheduler_name=profiles[number % 2], requests=requests)
        for number in range(workload.PODS)
    ]
    foreign = [manifests.pod(f"not-ours-{n}", scheduler_name=profiles[2]) for n in range(10)]
    client = control_plane.client
    client.create_nodes(workload.cluster_nodes(workload.NODES))
    client.create_pods(namespace, [*pods, *foreign])
    policy = tmp_path / "two-profiles.policy"
    policy.write_text(TWO_PROFILES, encoding="utf-8")
    with (
        _bound_pods(control_plane) as bound,
        scheduler_process.PolicyScheduler(
            control_plane, tmp_path, flags=("--policies", str(policy))
        ) as scheduler,
    ):
        scheduler.wait_until(lambda: len(bound) >= len(pods), time_limit_seconds=LIMIT_SECONDS)
    cluster = cluster_state.Cluster.read(client)
    may_pend = {f"{namespace}/{pod['metadata']['name']}" for pod in foreign}
    twins = [_zone_twin("north", "zone-a"), _zone_twin("south", "zone-b", "zone-c")]
    assert placement_checker.violations(cluster, twins, may_pend=may_pend) == []
    ours = [pod for pod in cluster.pods if pod["spec"].get("nodeName")]
    assert len(ours) == len(pods)
    used = _nodes_used(ours)
    # Pods of half a core: a packed node holds sixteen and more, a spread one two or three.
    assert len(used["north"]) < workload.NODES * 0.12
    assert len(used["south"]) > workload.NODES * 0.4


TWO_PROFILES = """\
policy north {
  for pods
  nodeAffinity required topology.kubernetes.io/zone = zone-a
  score MostAllocated(cpu: 1, memory: 1) weight 100
}

policy south {
  for pods
  nodeAffinity required topology.kubernetes.io/zone In (zone-b, zone-c)
  score LeastAllocated(cpu: 1, memory: 1) weight 100
}

profile north {
  policies north
  disable all scores
}

profile south {
  policies south
  disable all scores
}
"""


# --- kube-scheduler -------------------------------------------------------------------------------


def test_in_place_of_kube_scheduler(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """As `default-scheduler`, without policies, it binds what kube-scheduler would bind."""
    made = workload.without_policies(seed=3, scheduler_name="default-scheduler")
    made.create(control_plane.client)
    flags = ("--scheduler-name", "default-scheduler")
    with (
        _bound_pods(control_plane) as bound,
        scheduler_process.PolicyScheduler(control_plane, tmp_path, flags=flags) as scheduler,
    ):
        scheduler.wait_until(lambda: len(bound) == len(made.pods), time_limit_seconds=LIMIT_SECONDS)
    cluster = cluster_state.Cluster.read(control_plane.client)
    assert placement_checker.violations(cluster) == []


def test_the_judge_agrees_with_kube_scheduler(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """The checker accepts every placement of kube-scheduler, save what only a policy forbids."""
    made = workload.mixed(seed=4, nodes=200, pods=680)
    made.create(control_plane.client)
    entering = {
        cluster_state.key(pod)
        for pod in made.pods
        if pod["metadata"]["name"].startswith("gpu-")  # a policy tolerates the taint for them
    }
    settings = {"profiles": [{"schedulerName": name} for name in shipped_policies.PROFILES]}
    with (
        _bound_pods(control_plane) as bound,
        kube_scheduler.KubeScheduler(control_plane, tmp_path, settings=settings) as scheduler,
    ):
        scheduler.process.wait_until(
            lambda: len(bound) == len(made.pods) - len(entering), time_limit_seconds=LIMIT_SECONDS
        )
    cluster = cluster_state.Cluster.read(control_plane.client)
    assert placement_checker.violations(cluster, may_pend=entering) == []
    broken = placement_checker.violations(cluster, shipped_policies.TWINS, may_pend=entering)
    for source in ("policy web-tier", "policy no-gpu-pods"):
        assert any(source in line for line in broken)
