"""A cluster of its own for each set of tests and scheduler: real but for its nodes."""

from __future__ import annotations

import contextlib
import pathlib
from typing import TYPE_CHECKING, Final

from tests.deploy import kubectl, rights
from tests.e2e.scenes import scheduler_process
from tests.realcluster import control_plane as control_planes
from tests.realcluster import controller_manager, fake_kubelet, kube_scheduler, process

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.kubernetes_e2e import e2e_sets

KUBE_SCHEDULER: Final = "kube-scheduler"
POLICYSCHED: Final = "policysched"
SCHEDULERS: Final = (KUBE_SCHEDULER, POLICYSCHED)

_ACCOUNT = "/api/v1/namespaces/kube-system/serviceaccounts"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_COLLECTIONS = {
    "ServiceAccount": _ACCOUNT,
    "ClusterRole": f"{_RBAC}/clusterroles",
    "ClusterRoleBinding": f"{_RBAC}/clusterrolebindings",
    "Role": f"{_RBAC}/namespaces/kube-system/roles",
    "RoleBinding": f"{_RBAC}/namespaces/kube-system/rolebindings",
}
"""Where the rights in deploy/base go."""
_TOKEN_SECONDS = 24 * 3600
_READY_LIMIT_SECONDS = 120.0
_API_SERVER_FLAGS = ("--allow-privileged=true", "--kubelet-preferred-address-types=InternalIP")


@contextlib.contextmanager
def run(
    e2e_set: e2e_sets.E2eSet, scheduler: str, folder: pathlib.Path, *, node_count: int
) -> Iterator[pathlib.Path]:
    """Run a cluster whose default scheduler is `scheduler`; yield the kubeconfig of its admin.

    Args:
        e2e_set: what it is for.
        scheduler: one of SCHEDULERS.
        folder: where all of its files go.
        node_count: how many nodes it has.

    Raises:
        process.ProcessError: a server ended, or was not ready in time.
    """
    gates = [f"--feature-gates={gate}=true" for gate in e2e_set.feature_gates]
    versions = [f"--runtime-config={version}=true" for version in e2e_set.api_versions]
    plane = control_planes.ControlPlane(
        folder,
        flags=(*_API_SERVER_FLAGS, *gates, *versions),
        has_controller_manager=True,
    )
    port = process.free_port()
    with plane, controller_manager.ControllerManager(plane, folder, flags=gates):
        plane.client.create_nodes(fake_kubelet.node(number, port) for number in range(node_count))
        with (
            fake_kubelet.FakeKubelet(plane, folder, port) as kubelet,
            _make_scheduler(plane, folder, scheduler, gates),
        ):
            _create_proxy_daemon(plane)
            kubelet.process.wait_until(
                lambda: _has_ready_proxies(plane, node_count),
                time_limit_seconds=_READY_LIMIT_SECONDS,
            )
            yield plane.write_kubeconfig(folder / "admin.kubeconfig")


def _make_scheduler(
    plane: control_planes.ControlPlane, folder: pathlib.Path, scheduler: str, gates: Sequence[str]
) -> process.Managed:
    if scheduler == KUBE_SCHEDULER:
        return kube_scheduler.KubeScheduler(plane, folder, flags=gates)
    _install_rights(plane)
    return scheduler_process.PolicyScheduler(
        plane, folder, flags=("--scheduler-name", "default-scheduler"), user=rights.USER
    )


def _install_rights(plane: control_planes.ControlPlane) -> None:
    """Create the service account of policysched with its roles, and take a token of it."""
    for manifest in kubectl.rendered(kubectl.DEPLOY / "base"):
        if collection := _COLLECTIONS.get(manifest["kind"]):
            plane.client.create(collection, manifest)
    body = {"spec": {"expirationSeconds": _TOKEN_SECONDS}}
    answer = plane.client.create(f"{_ACCOUNT}/{rights.ACCOUNT}/token", body)
    plane.tokens[rights.USER] = str(answer["status"]["token"])


def _create_proxy_daemon(plane: control_planes.ControlPlane) -> None:
    """Create a DaemonSet of this name: tests wait for a pod of it on each node."""
    labels = {"k8s-app": "kube-proxy"}
    container = {"name": "kube-proxy", "image": "registry.k8s.io/kube-proxy"}
    daemon = {
        "metadata": {"name": "kube-proxy"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [container],
                    "hostNetwork": True,
                    "priorityClassName": "system-node-critical",
                    "tolerations": [{"operator": "Exists"}],
                },
            },
        },
    }
    plane.client.create("/apis/apps/v1/namespaces/kube-system/daemonsets", daemon)


def _has_ready_proxies(plane: control_planes.ControlPlane, node_count: int) -> bool:
    path = "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy"
    return bool(plane.client.get(path)["status"].get("numberReady", 0) == node_count)
