"""`audit --evict` on a real API server: moved pods are in place, and none travels in a circle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.scenes import audit_scene
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

_POLICY = """version 1
policy fast { for pods where app = web  nodeAffinity required pool = fast as pool }
policy apart {
  for pods where app = web
  podAntiAffinity required self topologyKey kubernetes.io/hostname as apart
}
policy there { for pods where app = circle  nodeAffinity required disk = ssd as disk }
policy back { for pods where app = circle  nodeAffinity required cooled = "yes" as cooled }
profile policysched { policies fast, apart, there, back }
"""


@pytest.fixture
def scene(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> Iterator[audit_scene.Scene]:
    """Four nodes that all rules accept."""
    labels = {"pool": "fast", "disk": "ssd", "cooled": "yes"}
    control_plane.client.create_nodes(
        manifests.node(f"node-{number}", labels=labels) for number in range(4)
    )
    with audit_scene.playing(control_plane, namespace, tmp_path, _POLICY) as made:
        yield made


def test_moved_pods_are_in_place_and_violate_nothing(scene: audit_scene.Scene) -> None:
    """A dry run moves nothing; then each pod goes to a node that the simulation found."""
    scene.create_replica_set("web", 2)
    before = scene.wait_bound("web", 2)
    assert scene.audit(exit_code=0)["rules"] == []
    for node in before:
        scene.label_node(node, pool="slow")
    scene.scheduler.wait_until(lambda: scene.read_violating_pods().get("fast/pool") == 2)
    planned = scene.evict("--max-per-workload=2", "--guard=kube-system/none")
    assert [(each["node"], each["outcome"]) for each in planned] == [
        (scene.pods()[each["name"]]["spec"]["nodeName"], "planned") for each in planned
    ]
    assert scene.nodes_of("web") == before
    assert scene.read_guard() == []

    flags = ("--max-per-workload=2", "--dry-run=false")
    assert "does not exist" in scene.fail_to_evict(*flags, "--guard=kube-system/none")
    assert scene.nodes_of("web") == before
    moved = scene.evict(*flags)
    assert {each["outcome"] for each in moved} == {"evicted"}
    scene.scheduler.wait_until(lambda: not set(scene.nodes_of("web")) & set(before))
    after = scene.wait_bound("web", 2)
    assert after == sorted(each["target"] for each in moved)
    assert scene.audit(exit_code=0)["rules"] == []
    scene.scheduler.wait_until(lambda: set(scene.read_violating_pods().values()) == {0.0})
    assert {(each["rule"], each["node"]) for each in scene.read_guard()} == {
        ("fast/pool", node) for node in before
    }


def test_a_circle_ends_after_one_move(scene: audit_scene.Scene) -> None:
    """Two rules that in turn reject both nodes of a pod move it once, across processes."""
    for number in (2, 3):
        scene.label_node(f"node-{number}", disk="hdd", cooled="no")
    scene.create_replica_set("circle")
    (first,) = scene.wait_bound("circle", 1)
    (other,) = {"node-0", "node-1"} - {first}
    scene.label_node(first, disk="hdd")
    (move,) = scene.evict("--dry-run=false")
    assert (move["outcome"], move["target"]) == ("evicted", other)
    scene.scheduler.wait_until(lambda: scene.nodes_of("circle") == [other])

    scene.label_node(first, disk="ssd")
    scene.label_node(other, cooled="no")
    (move,) = scene.evict("--dry-run=false")
    assert move["outcome"] == "skipped"
    assert f"the loop guard has a move away from {first}" in move["reason"]
    scene.label_node(other, cooled="yes", disk="hdd")
    (move,) = scene.evict("--dry-run=false")
    assert move["outcome"] == "skipped"
    assert "the loop guard has a move for there/disk" in move["reason"]
    assert scene.nodes_of("circle") == [other]
    assert len(scene.read_guard()) == 1

    (move,) = scene.evict("--dry-run=false", "--not-again-within=1s")
    assert (move["outcome"], move["target"]) == ("evicted", first)


def test_disruption_budgets_and_labels_keep_pods(scene: audit_scene.Scene) -> None:
    """Such pods stay, with a reason."""
    scene.create_replica_set("web")
    (node,) = scene.wait_bound("web", 1)
    scene.set_running("web")
    scene.create_budget("web", 1)
    scene.label_node(node, pool="slow")
    (move,) = scene.evict("--dry-run=false")
    assert (move["outcome"], move["target"]) == ("skipped", None)
    assert move["reason"] == "the disruption budget web allows no eviction"
    (move,) = scene.evict("--dry-run=false", "--exclude=app in (web, db)")
    assert move["reason"] == "--exclude selects the pod"
    assert scene.nodes_of("web") == [node]


@pytest.mark.proof
def test_an_interrupted_command_reports_its_evictions(scene: audit_scene.Scene) -> None:
    """Ctrl-C during the pause between two evictions."""
    scene.create_replica_set("web", 2)
    before = scene.wait_bound("web", 2)
    for node in before:
        scene.label_node(node, pool="slow")
    moves = scene.interrupt_eviction("--max-per-workload=2", "--rate=1/m")
    assert [each["outcome"] for each in moves] == ["evicted", "interrupted"]
    assert len(scene.read_guard()) == 1


@pytest.mark.proof
def test_no_pod_is_moved_by_a_version_that_is_not_in_force(scene: audit_scene.Scene) -> None:
    """During a rollout, the ConfigMap has the texts of the new version."""
    scene.create_replica_set("web")
    (node,) = scene.wait_bound("web", 1)
    scene.label_node(node, pool="slow")
    scene.use_config_map(
        {"policysched.io/hash": "0123456789ab", "policysched.io/status": "rollout"}
    )
    problem = scene.fail_to_evict("--dry-run=false")
    assert "names version 0123456789ab as the version in force (status rollout)" in problem
    assert scene.nodes_of("web") == [node]
