"""Devices, and pods that claim them, on a real API server; the tests play the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.realcluster import api_client, manifests

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DRIVER = "gpu.example.com"
CLASS = "gpu"
TEMPLATE = "one-gpu"
FINALIZER = "resource.kubernetes.io/delete-protection"
API = "/apis/resource.k8s.io/v1"


def _make_claim_spec(class_name: str) -> dict[str, Any]:
    request = {"name": "gpu", "exactly": {"deviceClassName": class_name}}
    return {"devices": {"requests": [request]}}


class ClaimedDevices:
    """One class of devices, and the pods and claims of one namespace.

    Attributes:
        scheduler_name: the scheduler of new pods.
    """

    def __init__(self, client: api_client.ApiClient, namespace: str) -> None:
        """Create the class and a template for claims to one device."""
        self.scheduler_name = "policysched"
        self._client = client
        self._namespace = namespace
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._claims = f"{API}/namespaces/{namespace}/resourceclaims"
        expression = f"device.driver == '{DRIVER}'"
        spec = {"selectors": [{"cel": {"expression": expression}}]}
        client.create(f"{API}/deviceclasses", {"metadata": {"name": CLASS}, "spec": spec})
        template = {"metadata": {"name": TEMPLATE}, "spec": {"spec": _make_claim_spec(CLASS)}}
        client.create(f"{API}/namespaces/{namespace}/resourceclaimtemplates", template)

    # --- what the driver does

    def publish(
        self,
        node: str,
        devices: Sequence[str],
        *,
        generation: int = 1,
        name: str = "",
        slice_count: int = 1,
    ) -> None:
        """Create or replace a slice of the pool of a node, `name` or else named as the node."""
        name = name or node
        pool = {"name": node, "generation": generation, "resourceSliceCount": slice_count}
        spec = {
            "driver": DRIVER,
            "nodeName": node,
            "pool": pool,
            "devices": [{"name": each} for each in devices],
        }
        path = f"{API}/resourceslices"
        if any(each["metadata"]["name"] == name for each in self._client.items(path)):
            self._client.patch(f"{path}/{name}", {"spec": spec})
        else:
            self._client.create(path, {"metadata": {"name": name}, "spec": spec})

    # --- what users do

    def create_claim(self, name: str, class_name: str = CLASS) -> None:
        """Create a claim to one device."""
        claim = {"metadata": {"name": name}, "spec": _make_claim_spec(class_name)}
        self._client.create(self._claims, claim)

    def create_pods(
        self, names: Iterable[str], claim: str | None = None, **spec: Any
    ) -> list[dict[str, Any]]:
        """Create pods that use a claim, or one each that is made from the template; return them."""
        use = {"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": TEMPLATE}
        claims = [{"name": "gpu", **use}]
        names = list(names)
        self._client.create_pods(
            self._namespace,
            [
                manifests.pod(
                    name,
                    scheduler_name=self.scheduler_name,
                    spec={"resourceClaims": claims, **spec},
                )
                for name in names
            ],
        )
        return [each for each in self._client.pods(self._namespace) if _name(each) in names]

    def delete_pod(self, name: str) -> None:
        """Delete a pod at once, as there is no kubelet."""
        self._client.delete(f"{self._pods}/{name}")

    def allocate(
        self, claim: str, node: str, device: str, users: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        """Allocate a device of a node for a claim, as another scheduler would, for some pods."""
        path = f"{self._claims}/{claim}"
        self._client.patch(path, {"metadata": {"finalizers": [FINALIZER]}})
        result = {"request": "gpu", "driver": DRIVER, "pool": node, "device": device}
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        users = [{"resource": "pods", "name": _name(pod), "uid": _uid(pod)} for pod in users]
        allocation = {
            "devices": {"results": [result]},
            "nodeSelector": {"nodeSelectorTerms": [term]},
        }
        status = {"allocation": allocation, "reservedFor": users}
        self._client.patch(f"{path}/status", {"status": status})

    def end_allocation(self, claim: str) -> None:
        """Free the devices of a claim that no pod uses, as the claim controller would."""
        self._client.patch(f"{self._claims}/{claim}/status", {"status": {"allocation": None}})

    # --- what everybody sees

    def nodes_of(self, pods: Iterable[str]) -> dict[str, str]:
        """Return the node of each of some pods that has one."""
        wanted = set(pods)
        return {
            _name(pod): str(pod["spec"]["nodeName"])
            for pod in self._client.pods(self._namespace)
            if _name(pod) in wanted and pod["spec"].get("nodeName")
        }

    def claim(self, name: str) -> dict[str, Any]:
        """Return a claim."""
        return self._client.get(f"{self._claims}/{name}")

    def claim_names(self) -> list[str]:
        """Return the names of all claims."""
        return [_name(each) for each in self._client.items(self._claims)]

    def devices_of_pods(self) -> dict[str, str]:
        """Return `pool/device` by the name of the pod that a claim is reserved for.

        Claims have one device each here.
        """
        found = {}
        for claim in self._client.items(self._claims):
            status = claim.get("status", {})
            for user in status.get("reservedFor", []):
                (result,) = status["allocation"]["devices"]["results"]
                found[user["name"]] = f"{result['pool']}/{result['device']}"
        return found

    def messages(self, pod: str) -> list[str]:
        """Return the notes of the events about a pod."""
        found = self._client.items(f"/apis/events.k8s.io/v1/namespaces/{self._namespace}/events")
        return [event["note"] for event in found if event["regarding"]["name"] == pod]


def _name(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["name"])


def _uid(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["uid"])
