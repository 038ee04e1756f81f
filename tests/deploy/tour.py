"""Everything that a scheduler does for pods, once: who watches it has seen all its requests.

No kubelet and no controller runs here; the tour plays them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.e2e.scenes import claimed_devices, volume_controllers
from tests.realcluster import manifests

if TYPE_CHECKING:
    from tests.e2e.scenes import scheduler_process
    from tests.realcluster import api_client

NODE = "node-1"
_LOCAL, _MADE = "local", "made"
_CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
_POLICY = """\
version 1
metric load: ratio = `node_load` node instance refresh 1s maxAge 1m
policy calm { for pods reject when load > 90% missing allow as too-hot }
profile policysched { policies calm }
"""


class Tour:
    """A walk through the scheduler's duties on a cluster with one node of 8 CPUs."""

    def __init__(
        self,
        client: api_client.ApiClient,
        namespace: str,
        scheduler: scheduler_process.PolicyScheduler,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._scheduler = scheduler
        self._volumes = volume_controllers.Volumes(client, namespace)
        self._devices = claimed_devices.ClaimedDevices(client, namespace)

    def take(self) -> None:
        """Do everything once."""
        self.prepare()
        self.request_devices()
        self.bind()
        self.bind_volumes()
        self.allocate_devices()
        self.reject()
        self.preempt()
        self.reload()

    def prepare(self) -> None:
        """Create the node, classes of volumes and of pods."""
        self._client.create_nodes([manifests.node(NODE)])
        self._volumes.create_class(_LOCAL, "kubernetes.io/no-provisioner")
        self._volumes.create_class(_MADE)
        body = {"metadata": {"name": "high"}, "value": 1000}
        self._client.create("/apis/scheduling.k8s.io/v1/priorityclasses", body)

    def request_devices(self) -> None:
        """A claim is created for a pod, deleted as its first binding fails, and created anew."""
        self._devices.publish(NODE, ["gpu", "other-gpu"])
        requests = {f"deviceclass.resource.kubernetes.io/{claimed_devices.CLASS}": "1"}
        pod = manifests.pod("requests-device", scheduler_name="policysched", requests=requests)
        self._client.create_pods(self._namespace, [pod])
        self._wait_bound("requests-device")
        created = self._pod("requests-device")["status"]["extendedResourceClaimStatus"]
        assert self._devices.claim_names() == [created["resourceClaimName"]]

    def reload(self) -> None:
        """New policies are used, broken ones refused, and the ConfigMap tells of both."""
        self._edit("version 1\nprofile policysched { policies nobody }\n", "refused")
        self._edit(_POLICY, "ok")
        path = f"{_CONFIG_MAPS}/policysched-policies-history"
        self._scheduler.wait_until(lambda: len(self._client.get(path).get("binaryData", {})) == 2)

    def _edit(self, text: str, status: str) -> None:
        path = f"{_CONFIG_MAPS}/policysched-policies"
        self._client.patch(path, {"data": {"policysched.policy": text}})

        def is_told() -> bool:
            said = self._client.get(path)["metadata"].get("annotations", {})
            return bool(said.get("policysched.io/status") == status)

        self._scheduler.wait_until(is_told)

    def bind(self) -> None:
        """A pod gets the node."""
        self._create("plain", "100m")
        self._wait_bound("plain")

    def bind_volumes(self) -> None:
        """A volume is promised to the claim of one pod, and one is asked for, for another."""
        self._volumes.create_local("disk", _LOCAL, NODE)
        self._volumes.create_pod("with-disk", _LOCAL)
        self._volumes.create_pod("with-made", _MADE)
        self._scheduler.wait_until(lambda: self._volumes.owner("disk") == "with-disk")
        self._volumes.bind("disk")
        self._scheduler.wait_until(lambda: self._volumes.selected_node("with-made") == NODE)
        self._volumes.provision("with-made")
        self._wait_bound("with-disk")
        self._wait_bound("with-made")

    def allocate_devices(self) -> None:
        """A claim gets a device, and is reserved for two pods."""
        self._devices.create_claim("device")
        for name in ("first-user", "second-user"):
            self._devices.create_pods([name], "device")
            self._wait_bound(name)
        owned = self._devices.devices_of_pods()
        assert owned["first-user"] == owned["second-user"] != owned["requests-device"]

    def reject(self) -> None:
        """A pod that fits nowhere is told so, and again when the end of another does not help.

        It is tried again because it may preempt others.
        """
        self._create("large", "100", priorityClassName="high")
        self._scheduler.wait_until(lambda: "Insufficient cpu" in self._told("large"))
        self._delete("plain")
        self._scheduler.wait_until(lambda: self._is_counted("large"))

    def preempt(self) -> None:
        """A pod has to go for one that is more important."""
        self._create("low", "6")
        self._wait_bound("low")
        self._create("high", "6", priorityClassName="high")
        self._scheduler.wait_until(lambda: "deletionTimestamp" in self._pod("low")["metadata"])
        self._delete("low")
        self._wait_bound("high")

    def _delete(self, name: str) -> None:
        """End a pod, as the kubelet does once its containers have stopped."""
        self._client.delete(f"/api/v1/namespaces/{self._namespace}/pods/{name}")

    def _create(self, name: str, cpu: str, **spec: Any) -> None:
        pod = manifests.pod(
            name, scheduler_name="policysched", requests={"cpu": cpu}, spec=spec or None
        )
        self._client.create_pods(self._namespace, [pod])

    def _pod(self, name: str) -> dict[str, Any]:
        return self._client.pod(self._namespace, name)

    def _told(self, name: str) -> str:
        conditions = self._pod(name)["status"].get("conditions") or []
        return str(next((c["message"] for c in conditions if c["type"] == "PodScheduled"), ""))

    def _is_counted(self, name: str) -> bool:
        """Return whether an event about the pod is known to have occurred more than once."""
        path = f"/apis/events.k8s.io/v1/namespaces/{self._namespace}/events"
        return any(
            event["regarding"]["name"] == name and "series" in event
            for event in self._client.items(path)
        )

    def _wait_bound(self, name: str) -> None:
        self._scheduler.wait_until(lambda: self._pod(name)["spec"].get("nodeName") == NODE)
