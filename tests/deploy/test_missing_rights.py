"""What operators see when a right of the ClusterRole is missing."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from tests.deploy import installed, rights, tour
from tests.e2e.scenes import claimed_devices
from tests.realcluster import manifests

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

    from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e


@pytest.fixture
def plane(deployed_plane: control_planes.ControlPlane) -> Iterator[control_planes.ControlPlane]:
    """The control plane with the manifests, empty afterwards."""
    yield deployed_plane
    deployed_plane.clear()


@pytest.mark.parametrize(
    "right, is_bound",
    [
        pytest.param(rights.Right("list", "", "nodes"), False, id="list-nodes"),
        pytest.param(rights.Right("list", "", "pods"), False, id="list-pods"),
        pytest.param(rights.Right("create", "", "pods/binding"), False, id="bind"),
        pytest.param(rights.Right("patch", "", "pods/status"), True, id="write-status"),
        pytest.param(rights.Right("create", "events.k8s.io", "events"), True, id="write-events"),
    ],
)
def test_a_right_that_is_taken_away_is_missed(
    right: rights.Right,
    is_bound: bool,
    plane: control_planes.ControlPlane,
    tmp_path: pathlib.Path,
) -> None:
    """The log names it; without some nothing is bound, without others pods are not told why."""
    client = plane.client
    namespace = f"without-{right.verb}-{right.resource.replace('/', '-')}"
    client.create_namespace(namespace)
    client.create_nodes([manifests.node(tour.NODE)])
    ours = installed.Installed(plane, tmp_path, {"leaderElection": {}})
    with _without(plane, right), ours.scheduler as scheduler:
        pods = [
            manifests.pod("fits", scheduler_name="policysched"),
            manifests.pod("large", scheduler_name="policysched", requests={"cpu": "100"}),
        ]
        client.create_pods(namespace, pods)
        log = scheduler.process.log
        refusal = f'cannot {right.verb} resource \\"{right.resource}\\"'
        scheduler.wait_until(lambda: refusal in log.read_text(encoding="utf-8"))
        if is_bound:
            scheduler.wait_until(lambda: "nodeName" in client.pod(namespace, "fits")["spec"])
        else:
            assert "nodeName" not in client.pod(namespace, "fits")["spec"]


def test_a_right_that_is_checked_while_a_claim_is_written(
    plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Pods with claims wait, and are told which right is missing; others are bound."""
    namespace = "without-bindings-of-claims"
    plane.client.create_namespace(namespace)
    plane.client.create_nodes([manifests.node(tour.NODE)])
    devices = claimed_devices.ClaimedDevices(plane.client, namespace)
    devices.publish(tour.NODE, ["gpu"])
    devices.create_claim("device")
    ours = installed.Installed(plane, tmp_path, {"leaderElection": {}})
    right = rights.Right("patch", "resource.k8s.io", "resourceclaims/binding")
    needed = 'requires resource="resourceclaims/binding"'
    with _without(plane, right), ours.scheduler as scheduler:
        devices.create_pods(["with-claim"], "device")
        scheduler.wait_until(lambda: any(needed in each for each in devices.messages("with-claim")))
        plane.client.create_pods(namespace, [manifests.pod("plain", scheduler_name="policysched")])
        scheduler.wait_until(lambda: "plain" in devices.nodes_of(["plain", "with-claim"]))
        assert "with-claim" not in devices.nodes_of(["with-claim"])


@contextlib.contextmanager
def _without(plane: control_planes.ControlPlane, right: rights.Right) -> Iterator[None]:
    """Take a right of the ClusterRole away, as soon as the API server knows, and give it back."""
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/policysched"
    rules = plane.client.get(path)["rules"]
    plane.client.patch(path, {"rules": rights.without(rules, right)})
    plane.api_server.wait_until(lambda: not _may(plane, right), time_limit_seconds=60.0)
    try:
        yield
    finally:
        plane.client.patch(path, {"rules": rules})


def _may(plane: control_planes.ControlPlane, right: rights.Right) -> bool:
    """Return whether the API server would let policysched's account do that anywhere."""
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
    }
    body = {"spec": {"user": rights.USER, "resourceAttributes": attributes}}
    review = plane.client.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
    return bool(review["status"]["allowed"])
