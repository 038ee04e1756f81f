"""A cluster with nodes of two kinds, a ReplicaSet controller, and `policysched audit` beside it."""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
import signal
import subprocess
import urllib.request
from typing import TYPE_CHECKING, Any

from tests import report_schemas
from tests.e2e.scenes import scheduler_process
from tests.realcluster import controller_manager, manifests, process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.realcluster import control_plane as control_planes

GUARD = "policysched-audit"
_CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
_CONFIG = """apiVersion: policysched.io/v1alpha1
kind: PolicySchedulerConfiguration
audit: {everySeconds: 1}
"""
_CONTROLLERS = "replicaset-controller,disruption-controller"


class Scene:
    """A scheduler at work, and the pods of ReplicaSets.

    Attributes:
        scheduler: goes by the file `policy`.
        policy: the policies in force.
    """

    def __init__(
        self,
        plane: control_planes.ControlPlane,
        namespace: str,
        address: str,
        scheduler: scheduler_process.PolicyScheduler,
        policy: pathlib.Path,
    ) -> None:
        self.scheduler = scheduler
        self.policy = policy
        self._client = plane.client
        self._namespace = namespace
        self._address = address

    def create_replica_set(self, name: str, replicas: int = 1, **spec: Any) -> None:
        """Create a ReplicaSet whose pods belong to the scheduler."""
        labels = {"app": name}
        pod = manifests.pod(name, scheduler_name="policysched", requests={"cpu": "100m"})
        template = {"metadata": {"labels": labels}, "spec": {**pod["spec"], **spec}}
        self._client.create(
            f"/apis/apps/v1/namespaces/{self._namespace}/replicasets",
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {"name": name},
                "spec": {
                    "replicas": replicas,
                    "selector": {"matchLabels": labels},
                    "template": template,
                },
            },
        )

    def pods(self) -> dict[str, dict[str, Any]]:
        """Return the pods that are not being deleted, by name."""
        items = self._client.items(f"/api/v1/namespaces/{self._namespace}/pods")
        return {
            one["metadata"]["name"]: one
            for one in items
            if "deletionTimestamp" not in one["metadata"]
        }

    def nodes_of(self, app: str) -> list[str]:
        """Return the nodes of the bound pods of a ReplicaSet, sorted."""
        pods = (one for one in self.pods().values() if one["metadata"]["labels"]["app"] == app)
        return sorted(one["spec"]["nodeName"] for one in pods if "nodeName" in one["spec"])

    def wait_bound(self, app: str, count: int) -> list[str]:
        """Wait until so many pods of a ReplicaSet are bound; return their nodes."""
        self.scheduler.wait_until(lambda: len(self.nodes_of(app)) == count)
        return self.nodes_of(app)

    def set_running(self, app: str) -> None:
        """Say that the pods of a ReplicaSet run and are ready, as their kubelets would."""
        for name, one in self.pods().items():
            if one["metadata"]["labels"]["app"] == app:
                path = f"/api/v1/namespaces/{self._namespace}/pods/{name}/status"
                ready = {"type": "Ready", "status": "True"}
                self._client.patch(path, {"status": {"phase": "Running", "conditions": [ready]}})

    def label_node(self, name: str, **labels: str) -> None:
        """Change labels of a node."""
        self._client.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": labels}})

    def create_budget(self, app: str, least: int) -> None:
        """Create a disruption budget, and wait until the controller has counted."""
        path = f"/apis/policy/v1/namespaces/{self._namespace}/poddisruptionbudgets"
        selector = {"matchLabels": {"app": app}}
        spec = {"minAvailable": least, "selector": selector}
        self._client.create(path, {"metadata": {"name": app}, "spec": spec})
        self.scheduler.wait_until(
            lambda: self._client.get(f"{path}/{app}").get("status", {}).get("expectedPods") == 1
        )

    def _run_audit(self, *flags: str) -> subprocess.CompletedProcess[str]:
        command = self._make_command(*flags)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    def _make_command(self, *flags: str) -> list[str]:
        command = [*scheduler_process.PROGRAM, "audit", "--kubeconfig"]
        return [*command, str(self.scheduler.kubeconfig), str(self.policy), "-o", "json", *flags]

    def interrupt_eviction(self, *flags: str) -> list[dict[str, Any]]:
        """Send SIGINT to `audit --evict` after its first eviction; return the reported moves."""
        command = self._make_command("--evict", "--dry-run=false", *flags)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            self.scheduler.wait_until(lambda: len(self.read_guard()) == 1)
            running.send_signal(signal.SIGINT)
            said, _ = running.communicate(timeout=60)
        assert running.returncode == 130
        moves: list[dict[str, Any]] = json.loads(said)["moves"]["pods"]
        return moves

    def use_config_map(self, annotations: dict[str, str]) -> None:
        """Audit the policies as a ConfigMap with annotations."""
        data = {self.policy.name: self.policy.read_text(encoding="utf-8")}
        metadata = {"name": "policies", "annotations": annotations}
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        self.policy = self.policy.with_name("config-map.yaml")
        self.policy.write_text(json.dumps(manifest), encoding="utf-8")

    def fail_to_evict(self, *flags: str) -> str:
        """Return the error of `audit --evict`."""
        done = self._run_audit("--evict", *flags)
        assert (done.returncode, done.stdout) == (2, "")
        return done.stderr

    def audit(self, *flags: str, exit_code: int = 1) -> dict[str, Any]:
        """Return the report of `audit`."""
        done = self._run_audit(*flags)
        assert done.returncode == exit_code, done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        report_schemas.check_report(report, "audit")
        return report

    def read_violating_pods(self) -> dict[str, float]:
        """Return the gauge of the scheduler's own audit by rule; {} before the first audit."""
        with urllib.request.urlopen(f"http://{self._address}/metrics", timeout=60) as page:
            text = page.read().decode()
        found = re.findall(r'policysched_audit_violating_pods{.*rule="(\S+)"} (\S+)', text)
        return {rule: float(count) for rule, count in found}

    def evict(self, *flags: str, exit_code: int = 1) -> list[dict[str, Any]]:
        """Return what `audit --evict` did with each violator, without names that the API made."""
        report = self.audit("--evict", "--rate=1000/s", *flags, exit_code=exit_code)
        moves: list[dict[str, Any]] = report["moves"]["pods"]
        return moves

    def read_guard(self) -> list[dict[str, Any]]:
        """Return the memory of the loop guard."""
        text = self._client.get(f"{_CONFIG_MAPS}/{GUARD}").get("data", {}).get("moves", "")
        return [json.loads(line) for line in text.splitlines()]


@contextlib.contextmanager
def playing(
    plane: control_planes.ControlPlane, namespace: str, folder: pathlib.Path, text: str
) -> Iterator[Scene]:
    """Start the scheduler and the controllers; `text` are the policies."""
    plane.client.create(_CONFIG_MAPS, {"metadata": {"name": GUARD}})
    policy, config = folder / "audit.policy", folder / "config.yaml"
    policy.write_text(text, encoding="utf-8")
    config.write_text(_CONFIG, encoding="utf-8")
    address = f"127.0.0.1:{process.free_port()}"
    own = ("--policies", str(policy), "--config", str(config), "--metrics-address", address)
    flags = (f"--controllers={_CONTROLLERS}",)
    try:
        with (
            controller_manager.ControllerManager(plane, folder / "controllers", flags=flags),
            scheduler_process.PolicyScheduler(plane, folder, flags=own) as scheduler,
        ):
            yield Scene(plane, namespace, address, scheduler, policy)
    finally:
        plane.client.delete(f"{_CONFIG_MAPS}/{GUARD}")
        for kind in ("replicasets",):
            path = f"/apis/apps/v1/namespaces/{namespace}/{kind}"
            for one in plane.client.items(path):
                plane.client.delete(f"{path}/{one['metadata']['name']}")
