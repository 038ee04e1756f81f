"""A running cluster read once, against a real API server with RBAC."""

from __future__ import annotations

import contextlib
import json
import pathlib
import socket

import pytest

from policysched.cli import main
from policysched.inputs import cluster_file, live_cluster, live_dump
from policysched.kube import errors
from policysched.kube.reading import listing
from tests.deploy import kubectl
from tests.realcluster import control_plane as control_planes
from tests.realcluster import manifests, process

pytestmark = pytest.mark.e2e

CLASS = {"metadata": {"name": "fast"}, "provisioner": "none"}
SERVICE = {
    "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 1}]},
}
POLICY = """\
policy web {
  description "web"
  owner "team"
  for pods where app = web
  nodeAffinity required topology.kubernetes.io/zone In (zone-x)
}
"""
BUDGET = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}}


@pytest.fixture
def kubeconfig(control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path) -> pathlib.Path:
    """A kubeconfig of somebody who may read everything."""
    return control_plane.write_kubeconfig(tmp_path / "kubeconfig")


def dump(kubeconfig: pathlib.Path) -> cluster_file.ClusterObjects:
    """Return what kubectl prints of the same cluster."""
    kinds = "nodes,namespaces,services,storageclasses,poddisruptionbudgets,pods"
    printed = kubectl.run("get", kinds, "-A", "-o", "json", kubeconfig=kubeconfig)
    return cluster_file.parse_cluster(printed.encode(), "dump")


def test_a_cluster_without_nodes_is_no_control_plane(kubeconfig: pathlib.Path) -> None:
    """The server does not have the kinds of Karmada, which is no error."""
    reference = live_cluster.LiveClusterReference(str(kubeconfig))
    server, found = live_dump.read_live_dump(reference)
    assert server.startswith("https://")
    objects = [*found.cluster.nodes, *found.plane.clusters, *found.plane.bindings]
    assert objects == []
    assert found.cluster.namespaces


def test_it_is_what_a_dump_of_kubectl_says(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    kubeconfig: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Page by page, object by object, as read from a file."""
    monkeypatch.setattr(listing, "PAGE_SIZE", 2)
    control_plane.client.create_nodes(manifests.fleet(5))
    pods = [manifests.pod(name, scheduler_name="nobody") for name in "abc"]
    control_plane.client.create_pods(namespace, pods)
    control_plane.client.create("/apis/storage.k8s.io/v1/storageclasses", CLASS)
    control_plane.client.create(f"/api/v1/namespaces/{namespace}/services", SERVICE)
    budgets = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    control_plane.client.create(budgets, BUDGET)
    told: list[tuple[str, int]] = []
    reading = live_cluster.ListingOptions(told=lambda name, count: told.append((name, count)))
    where, found = live_cluster.read_live_cluster(
        live_cluster.LiveClusterReference(str(kubeconfig)), reading
    )
    assert where == control_plane.server
    assert found == dump(kubeconfig)
    assert [count for name, count in told if name == "nodes"] == [2, 4, 5]
    assert (len(found.pods), len(found.budgets), len(found.storage)) == (3, 1, 1)


def test_only_what_is_asked_for_is_read(
    control_plane: control_planes.ControlPlane, tmp_path: pathlib.Path
) -> None:
    """Who wants nodes needs no right to see anything else; what is refused is named."""
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]
    control_plane.grant("nobody", rules)
    control_plane.client.create_nodes(manifests.fleet(2))
    file = control_plane.write_kubeconfig(tmp_path / "nobody", user="nobody")
    cluster = live_cluster.LiveClusterReference(str(file), "test")
    while True:  # the server learns of rights a moment after they were given
        with contextlib.suppress(errors.KubeError):
            _, found = live_cluster.read_live_cluster(
                cluster, live_cluster.ListingOptions(kinds={"nodes"})
            )
            break
    assert len(found.nodes) == 2
    refused = rf'{control_plane.server}: .* 403 Forbidden: .* cannot list resource "pods"'
    with pytest.raises(errors.KubeError, match=refused):
        live_cluster.read_live_cluster(cluster, live_cluster.ListingOptions(kinds={"pods"}))


def test_a_token_that_is_not_known(
    control_plane: control_planes.ControlPlane, kubeconfig: pathlib.Path
) -> None:
    """The server's own word, and which server it was."""
    token = control_plane.tokens[control_planes.ADMIN]
    text = kubeconfig.read_text(encoding="utf-8")
    kubeconfig.write_text(text.replace(token, "unknown"), encoding="utf-8")
    with pytest.raises(errors.KubeError, match=f"{control_plane.server}: .* 401 Unauthorized"):
        live_cluster.read_live_cluster(live_cluster.LiveClusterReference(str(kubeconfig)))


def test_a_server_that_is_not_there(
    control_plane: control_planes.ControlPlane, kubeconfig: pathlib.Path
) -> None:
    """Some attempts, then one error."""
    text = kubeconfig.read_text(encoding="utf-8")
    nowhere = f"https://127.0.0.1:{process.free_port()}"
    kubeconfig.write_text(text.replace(control_plane.server, nowhere), encoding="utf-8")
    with pytest.raises(errors.TransportError, match=f"nodes at {nowhere}: no connection"):
        live_cluster.read_live_cluster(live_cluster.LiveClusterReference(str(kubeconfig)))


def test_a_server_that_never_answers(
    control_plane: control_planes.ControlPlane, kubeconfig: pathlib.Path
) -> None:
    """Reading has a limit as a whole."""
    with socket.create_server(("127.0.0.1", process.free_port())) as silent:
        nowhere = f"https://127.0.0.1:{silent.getsockname()[1]}"
        text = kubeconfig.read_text(encoding="utf-8")
        kubeconfig.write_text(text.replace(control_plane.server, nowhere), encoding="utf-8")
        reading = live_cluster.ListingOptions(limit_seconds=0.2)
        with pytest.raises(errors.KubeError, match=r"could not be read within 0\.2 s"):
            live_cluster.read_live_cluster(
                live_cluster.LiveClusterReference(str(kubeconfig)), reading
            )


def test_a_context_that_does_not_exist(kubeconfig: pathlib.Path) -> None:
    """The contexts that there are are named."""
    with pytest.raises(errors.KubeconfigError, match=r"no context `prod` .there are: `test`"):
        live_cluster.read_live_cluster(live_cluster.LiveClusterReference(str(kubeconfig), "prod"))


def test_lint_reads_claims_if_policies_name_them(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    kubeconfig: pathlib.Path,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A policy is told to match no pod only if no claim has its class."""
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
    control_plane.client.create(claims, claim)
    uses = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
    pod = manifests.pod("waits", scheduler_name="policysched", spec=uses)
    control_plane.client.create_pods(namespace, [pod])
    live = ["--kubeconfig", str(kubeconfig), "--context", "test"]
    for class_name, exit_code in (("fast", 0), ("slow", 1)):
        policy = tmp_path / f"{class_name}.policy"
        text = POLICY.replace("app = web", f"storageClass = {class_name}")
        policy.write_text(text, encoding="utf-8")
        lint = ["lint", str(policy), "--select", "PS504", "--fail-level", "info"]
        assert main.main([*lint, *live]) == exit_code, capsys.readouterr()


def test_lint_reads_device_classes_and_slices_if_policies_name_them(
    control_plane: control_planes.ControlPlane,
    kubeconfig: pathlib.Path,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A name is reported only if the cluster does not have it."""
    group = "/apis/resource.k8s.io/v1"
    control_plane.client.create(f"{group}/deviceclasses", {"metadata": {"name": "gpu"}})
    device = {"name": "gpu-0", "capacity": {"memory": {"value": "40Gi"}}}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "pool": pool, "allNodes": True, "devices": [device]}
    control_plane.client.create(
        f"{group}/resourceslices", {"metadata": {"name": "gpus"}, "spec": spec}
    )
    live = ["--kubeconfig", str(kubeconfig), "--context", "test"]
    statements = (
        "reject when devices(gpu) > 3\n  score deviceCapacity({}) prefer low missing score 0"
    )
    for name, exit_code in (("memory", 0), ("memry", 1)):
        policy = tmp_path / f"{name}.policy"
        affinity = POLICY.splitlines()[4].strip()
        text = POLICY.replace(affinity, statements.format(name))
        policy.write_text(text, encoding="utf-8")
        lint = ["lint", str(policy), "--select", "PS515"]
        assert main.main([*lint, *live]) == exit_code, capsys.readouterr()


def test_commands_read_a_running_cluster(
    control_plane: control_planes.ControlPlane,
    namespace: str,
    kubeconfig: pathlib.Path,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`lint` compares with it, `explain` and `simulate` decide its pods; failures are one line."""
    control_plane.client.create_nodes(manifests.fleet(3))
    pod = manifests.pod("waits", scheduler_name="policysched")
    control_plane.client.create_pods(namespace, [pod])
    policy = tmp_path / "web.policy"
    policy.write_text(POLICY, encoding="utf-8")
    live = ["--kubeconfig", str(kubeconfig), "--context", "test"]
    lint = ["lint", str(policy), "--select", "PS503", "--format", "concise"]
    assert main.main([*lint, *live]) == 1
    assert "`zone-x`" in capsys.readouterr().out
    assert main.main(["explain", "pod", f"{namespace}/waits", "-o", "json", *live]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert report["feasible"] == 3
    assert main.main(["simulate", "-o", "json", "--live", *live]) == 0
    (placed,) = json.loads(capsys.readouterr().out)["placements"]
    assert placed["node"].startswith("node-")
    nowhere = kubeconfig.read_text(encoding="utf-8").replace(
        control_plane.server, f"https://127.0.0.1:{process.free_port()}"
    )
    kubeconfig.write_text(nowhere, encoding="utf-8")
    assert main.main([*lint, *live]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("policysched: GET /api/v1/nodes at https://127.0.0.1:")
    assert len(told.err.splitlines()) == 1
