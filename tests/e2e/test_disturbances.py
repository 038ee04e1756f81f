"""What others do meanwhile: steal, delete, restart, stop. No pod is lost, no room is lost."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.checker import cluster_state, placement_checker
from tests.e2e.scenes import scheduler_process, workload
from tests.realcluster import api_client, manifests, watching
from tests.realcluster import control_plane as control_planes

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable, Iterator, Mapping

pytestmark = pytest.mark.e2e

NODES, PODS_PER_NODE = 10, 8
ROOM = NODES * PODS_PER_NODE
"""Pods that fit on the cluster of most tests, whose last place is filled in the end."""

LIMIT_SECONDS = 120.0


def _node(name: str) -> dict[str, Any]:
    return manifests.node(name, resources={"pods": str(PODS_PER_NODE)})


def _pods(names: Iterable[str], node_selector: Mapping[str, str] | None = None) -> list[Any]:
    spec = {"nodeSelector": node_selector or {}}
    return [manifests.pod(name, scheduler_name="policysched", spec=spec) for name in names]


def _names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{number}" for number in range(count)]


class Scene:
    """A small cluster in which a scheduler is at work."""

    def __init__(
        self,
        plane: control_planes.ControlPlane,
        namespace: str,
        scheduler: scheduler_process.PolicyScheduler,
    ) -> None:
        self.client = plane.client
        self.namespace = namespace
        self.scheduler = scheduler
        self._pods_path = f"/api/v1/namespaces/{namespace}/pods"

    def create(self, names: Iterable[str], node_selector: Mapping[str, str] | None = None) -> None:
        """Create pods."""
        self.client.create_pods(self.namespace, _pods(names, node_selector))

    def bind(self, name: str, node: str) -> bool:
        """Bind a pod as another scheduler would; False when somebody was faster."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"metadata": {"name": name}, "target": target}
        try:
            self.client.raw("POST", f"{self._pods_path}/{name}/binding", body)
        except api_client.ApiError as error:
            assert error.reason == "Conflict"  # noqa: PT017 - any other answer is a broken test
            return False
        return True

    def delete_pods(self, names: Iterable[str]) -> None:
        """Delete pods at once."""
        for name in names:
            self.client.delete(f"{self._pods_path}/{name}")

    def nodes_of(self, prefix: str = "") -> dict[str, str]:
        """Return the node, "" for none, of each pod whose name begins so."""
        return {
            pod["metadata"]["name"]: cluster_state.node_name(pod)
            for pod in self.client.pods(self.namespace)
            if pod["metadata"]["name"].startswith(prefix)
        }

    def wait_until_bound(self, prefix: str = "") -> None:
        """Return once all pods whose names begin so have a node."""
        self.scheduler.wait_until(
            lambda: all(self.nodes_of(prefix).values()), time_limit_seconds=LIMIT_SECONDS
        )

    def wait_until_pending(self, prefix: str) -> None:
        """Return once the scheduler has said of all pods whose names begin so that none fits."""
        self.scheduler.wait_until(
            lambda: self._unschedulable() >= self.nodes_of(prefix).keys(),
            time_limit_seconds=LIMIT_SECONDS,
        )

    def violations(self, may_pend: Iterable[str] = ()) -> list[str]:
        """Return what the checker finds."""
        keys = {f"{self.namespace}/{name}" for name in may_pend}
        cluster = cluster_state.Cluster.read(self.client)
        return placement_checker.violations(cluster, may_pend=keys)

    def fill(self) -> None:
        """Create as many pods as there must be room for, and one more; only that one pends."""
        self.create(_names("fill", ROOM - len(self.nodes_of())))
        self.wait_until_bound()
        self.create(["one-too-many"])
        self.wait_until_pending("one-too-many")
        assert self.violations(may_pend=["one-too-many"]) == []

    def _unschedulable(self) -> set[str]:
        return {
            pod["metadata"]["name"]
            for pod in self.client.pods(self.namespace)
            for condition in pod["status"].get("conditions", [])
            if condition.get("reason") == "Unschedulable"
        }


@pytest.fixture
def scene(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> Iterator[Scene]:
    """Ten nodes, a scheduler without policies, no pods yet."""
    control_plane.client.create_nodes([_node(name) for name in _names("node", NODES)])
    with scheduler_process.PolicyScheduler(control_plane, tmp_path) as scheduler:
        yield Scene(control_plane, namespace, scheduler)


def test_another_scheduler_steals_pods(scene: Scene) -> None:
    """Pods that somebody else binds, even in the middle of a binding, stay and count there."""
    stolen = {}
    for number, name in enumerate(_names("raced", 30)):
        scene.create([name])
        node = f"node-{number % NODES}"
        if scene.bind(name, node):
            stolen[name] = node
    scene.scheduler.process.signal(signal.SIGSTOP)
    scene.create(_names("taken", NODES))
    for number, name in enumerate(_names("taken", NODES)):
        assert scene.bind(name, f"node-{number}")
        stolen[name] = f"node-{number}"
    scene.scheduler.process.signal(signal.SIGCONT)
    scene.fill()
    assert scene.nodes_of().items() >= stolen.items()


def test_pods_are_deleted_while_they_wait(scene: Scene) -> None:
    """Pods deleted from the queue take no room; the others are bound as soon as they can be."""
    wanted = {"opens": "later"}
    scene.create(_names("wait", 40), wanted)
    scene.wait_until_pending("wait")
    scene.delete_pods(_names("wait", 20))
    for node in _names("node", NODES):
        scene.client.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": wanted}})
    scene.wait_until_bound("wait")
    assert len(scene.nodes_of("wait")) == 20
    scene.fill()


def test_pods_are_deleted_while_they_are_bound(scene: Scene) -> None:
    """Pods deleted in the middle of a backlog give back what they took."""
    names = _names("short", ROOM)
    for name in names:
        scene.create([name])
        scene.delete_pods([name])
    assert scene.nodes_of("short") == {}
    scene.fill()


def test_a_node_goes_while_pods_wait(scene: Scene) -> None:
    """A deleted node gets no pod; its name may come back, and has room again without its pods."""
    scene.fill()
    orphans = [name for name, node in scene.nodes_of().items() if node == "node-0"]
    scene.client.delete("/api/v1/nodes/node-0")
    scene.client.create_nodes([_node("new-0")])
    scene.create(_names("moved", PODS_PER_NODE - 1))
    scene.wait_until_bound()
    newer = [*_names("moved", PODS_PER_NODE - 1), "one-too-many"]
    assert {scene.nodes_of()[name] for name in newer} == {"new-0"}

    scene.delete_pods(orphans)
    scene.client.create_nodes([_node("node-0")])
    scene.create(_names("back", PODS_PER_NODE))
    scene.wait_until_bound()
    assert set(scene.nodes_of("back").values()) == {"node-0"}
    assert scene.violations() == []


def test_the_api_server_restarts(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Killed and started again in the middle of a backlog, it finds the scheduler back at work."""
    made = workload.without_policies(seed=5, scheduler_name="policysched")
    made.create(control_plane.client)
    total = len(made.pods)
    client = control_plane.client

    def pending() -> int:
        return len(client.items("/api/v1/pods", fieldSelector="spec.nodeName="))

    with scheduler_process.PolicyScheduler(control_plane, tmp_path) as scheduler:
        scheduler.wait_until(lambda: pending() < total - 50, time_limit_seconds=LIMIT_SECONDS)
        control_plane.api_server.kill()
        control_plane.api_server.start()
        control_plane.wait_ready()
        scheduler.wait_until(lambda: pending() == 0, time_limit_seconds=LIMIT_SECONDS)
    cluster = cluster_state.Cluster.read(control_plane.client)
    assert len(cluster.pods) == total
    assert placement_checker.violations(cluster) == []


def test_it_stops_when_asked(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """On SIGTERM it ends with 0, and every pod that it has bound has its event."""
    made = workload.without_policies(seed=6, scheduler_name="policysched")
    made.create(control_plane.client)
    with (
        watching.Watch(control_plane.client, "/api/v1/pods", query=watching.BOUND_PODS) as bound,
        scheduler_process.PolicyScheduler(control_plane, tmp_path) as scheduler,
    ):
        scheduler.wait_until(lambda: len(bound) > 100, time_limit_seconds=LIMIT_SECONDS)
        scheduler.process.signal(signal.SIGTERM)
        assert scheduler.process.wait(LIMIT_SECONDS) == 0
    pods = control_plane.client.pods()
    placed = {cluster_state.key(pod) for pod in pods if cluster_state.node_name(pod)}
    assert len(placed) < len(made.pods)
    told = {
        f"{event['regarding']['namespace']}/{event['regarding']['name']}"
        for event in control_plane.client.items("/apis/events.k8s.io/v1/events")
        if event["reason"] == "Scheduled"
    }
    assert told == placed
