"""`policysched webhook` behind a real API server: kubectl says what is wrong with a policy."""

from __future__ import annotations

import base64
import pathlib
import signal
import ssl
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import trustme
import urllib3
import yaml

from tests.app import operations_page
from tests.deploy import kubectl
from tests.e2e.scenes import failover_scene
from tests.realcluster import api_client, process
from tests.realcluster import control_plane as control_planes

pytestmark = pytest.mark.e2e

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
NAME = "policies.policysched.io"
GOOD = """\
version 1
policy web {
  for pods
  nodeAffinity required disktype In (ssd, nvme)
}
"""
BROKEN = """\
version 1
policy web {
  nodeAffinity required disktype Inn (ssd, nvme)
}
"""


class Cluster:
    """A control plane that asks a webhook, and somebody who applies.

    Attributes:
        webhook: the process.
        namespace: the only one that the webhook is asked about.
    """

    def __init__(
        self, plane: control_planes.ControlPlane, namespace: str, folder: pathlib.Path
    ) -> None:
        self.plane = plane
        self.namespace = namespace
        self.folder = folder
        self.kubeconfig = plane.write_kubeconfig(folder / "kubeconfig")
        self.port = process.free_port()
        self.authority = trustme.CA()
        certificate = self.authority.issue_cert("127.0.0.1")
        certificate.cert_chain_pems[0].write_to_path(folder / "tls.crt")
        certificate.private_key_pem.write_to_path(folder / "tls.key")
        command = [
            *(sys.executable, "-m", "policysched", "webhook"),
            f"--secure-address=127.0.0.1:{self.port}",
            f"--cert-file={folder / 'tls.crt'}",
            f"--key-file={folder / 'tls.key'}",
        ]
        self.webhook = process.ServerProcess(command, log=folder / "webhook.log")

    def register(self) -> None:
        """Let the API server ask as the page says, but here, and let nothing pass."""
        configuration = yaml.safe_load(operations_page.BLOCKS["webhook.yaml"])
        (webhook,) = configuration["webhooks"]
        webhook["clientConfig"] = {
            "url": f"https://127.0.0.1:{self.port}/validate",
            "caBundle": base64.b64encode(self.authority.cert_pem.bytes()).decode(),
        }
        labels = {"kubernetes.io/metadata.name": self.namespace}
        webhook |= {
            "namespaceSelector": {"matchLabels": labels},
            "failurePolicy": "Fail",
            "timeoutSeconds": 30,
        }
        self.plane.client.create(CONFIGURATIONS, configuration)

    def is_ready(self) -> bool:
        """Return whether the webhook says so."""
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        try:
            with urllib3.HTTPSConnectionPool(
                "127.0.0.1", self.port, ssl_context=context, retries=False, timeout=60.0
            ) as pool:
                return pool.request("GET", "/readyz").data == b"ok"
        except urllib3.exceptions.HTTPError:
            return False

    def is_asked(self) -> bool:
        """Return whether the API server knows the webhook by now."""
        try:
            self.create("probe", {"x.policy": BROKEN}, dryRun="All")
        except api_client.ApiError:
            return True
        return False

    def create(self, name: str, data: dict[str, str], **query: str) -> None:
        """Create a ConfigMap."""
        self.plane.client.raw("POST", self._path, _config_map(name, data), query=query)

    def is_created(self) -> bool:
        """Create a broken ConfigMap `web`, if nobody objects."""
        try:
            self.create("web", {"web.policy": BROKEN})
        except api_client.ApiError:
            return False
        return True

    @property
    def _path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/configmaps"

    def annotate(self, name: str) -> None:
        """Write an annotation, as a scheduler does."""
        patch = {"metadata": {"annotations": {"policysched.io/status": "refused"}}}
        self.plane.client.patch(f"{self._path}/{name}", patch)

    def apply(self, name: str, data: dict[str, str], *flags: str) -> str:
        """Return what kubectl says."""
        file = self.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(_config_map(name, data)), encoding="utf-8")
        command = ("apply", "--namespace", self.namespace, "-f", str(file), *flags)
        return kubectl.run(*command, kubeconfig=self.kubeconfig)


def _config_map(name: str, data: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.fixture
def cluster(
    control_plane: control_planes.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> Iterator[Cluster]:
    """The webhook runs and is registered."""
    made = Cluster(control_plane, namespace, tmp_path)
    made.webhook.start()
    try:
        made.webhook.wait_until(made.is_ready, time_limit_seconds=60.0)
        made.register()
        made.webhook.wait_until(made.is_asked, time_limit_seconds=60.0)
        yield made
    finally:
        control_plane.client.delete(f"{CONFIGURATIONS}/{NAME}")
        made.webhook.kill()


def test_a_broken_policy_is_refused_when_it_is_applied(cluster: Cluster) -> None:
    """With the diagnostics of `check`, and nothing of it is stored; a good one is stored."""
    with pytest.raises(kubectl.KubectlError) as caught:
        cluster.apply("web", {"web.policy": BROKEN, "notes": "anything"})
    told = str(caught.value)
    assert f'admission webhook "{NAME}" denied the request' in told
    assert "error[PS001]: `Inn` is not a label operator" in told
    assert "  --> web.policy:3:34\n3 |   nodeAffinity required disktype Inn (ssd, nvme)\n" in told
    assert "did you mean `In`?" in told
    assert "configmap/web created" in cluster.apply("web", {"web.policy": GOOD})
    with pytest.raises(kubectl.KubectlError, match="PS001"):
        cluster.apply("web", {"web.policy": GOOD, "other.policy": BROKEN}, "--dry-run=server")
    assert "unchanged" in cluster.apply("web", {"web.policy": GOOD})


def test_other_config_maps_are_nobodys_business(cluster: Cluster) -> None:
    """Whatever stands in them."""
    assert "created" in cluster.apply("other", {"web.policy.txt": BROKEN})


def test_a_version_that_slipped_in_can_be_annotated_but_not_made_worse(cluster: Cluster) -> None:
    """A scheduler has to say what is wrong with it; and by `Fail` none slips in."""
    cluster.webhook.signal(signal.SIGTERM)
    assert cluster.webhook.wait(60.0) == 0
    with pytest.raises(api_client.ApiError, match="failed calling webhook"):
        cluster.create("web", {"web.policy": GOOD})
    cluster.plane.client.delete(f"{CONFIGURATIONS}/{NAME}")
    failover_scene.wait_until(cluster.is_created)
    cluster.webhook.start()
    cluster.webhook.wait_until(cluster.is_ready, time_limit_seconds=60.0)
    cluster.register()
    cluster.webhook.wait_until(cluster.is_asked, time_limit_seconds=60.0)
    cluster.annotate("web")
    with pytest.raises(kubectl.KubectlError, match="PS001"):
        cluster.apply("web", {"web.policy": BROKEN + "\n"})
    assert "configured" in cluster.apply("web", {"web.policy": GOOD})
