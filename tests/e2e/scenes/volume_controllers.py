"""Volumes on a real API server, and what the controllers of a real cluster do with them.

No controller manager runs here: the tests play the PersistentVolume controller and a provisioner,
whenever they want to.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tests.realcluster import api_client, manifests

if TYPE_CHECKING:
    from collections.abc import Iterator

FORBIDDEN = "this claim gets nothing"
PROVISIONER = "disks.example.com"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
_MARKS = {
    "pv.kubernetes.io/bind-completed": "yes",
    "pv.kubernetes.io/bound-by-controller": "yes",
}
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_VOLUMES = "/api/v1/persistentvolumes"
_SPEC = {
    "accessModes": ["ReadWriteOnce"],
    "hostPath": {"path": "/mnt"},
    "persistentVolumeReclaimPolicy": "Retain",
}


class Volumes:
    """Classes, volumes and claims of one namespace."""

    def __init__(self, client: api_client.ApiClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"

    # --- what a user creates

    def create_class(self, name: str, provisioner: str = PROVISIONER) -> None:
        """Create a class whose claims wait for their first pod."""
        body = {
            "metadata": {"name": name},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer",
        }
        self._client.create("/apis/storage.k8s.io/v1/storageclasses", body)

    def create_local(self, name: str, class_name: str, node: str, size: str = "10Gi") -> None:
        """Create a volume that is on a node, and available."""
        body = {
            "metadata": {"name": name},
            "spec": {
                **_SPEC,
                "capacity": {"storage": size},
                "storageClassName": class_name,
                "nodeAffinity": _only(node),
            },
        }
        self._client.create(_VOLUMES, body)
        self._set_phase(f"{_VOLUMES}/{name}", "Available")

    def create_pod(self, name: str, class_name: str, *, size: str = "5Gi") -> None:
        """Create a pod, and its claim of the same name."""
        claim = {
            "metadata": {"name": name},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": class_name,
                "resources": {"requests": {"storage": size}},
            },
        }
        self._client.create(self._claims, claim)
        uses = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]}
        pod = manifests.pod(name, scheduler_name="policysched", spec=uses)
        self._client.create_pods(self._namespace, [pod])

    # --- what everybody sees

    def claim(self, name: str) -> dict[str, Any]:
        """Return a claim."""
        return self._client.get(f"{self._claims}/{name}")

    def selected_node(self, claim: str) -> str:
        """Return the node for which the claim's volume is to be made, "" for none."""
        annotations = self.claim(claim)["metadata"].get("annotations", {})
        return str(annotations.get(SELECTED_NODE, ""))

    def volume(self, name: str) -> dict[str, Any]:
        """Return a volume."""
        return self._client.get(f"{_VOLUMES}/{name}")

    def owner(self, volume: str) -> str:
        """Return the name of the claim that a volume is promised to, "" for none."""
        return str(self.volume(volume)["spec"].get("claimRef", {}).get("name", ""))

    def node_of(self, pod: str) -> str:
        """Return the node of a pod, "" for none."""
        return str(self._client.pod(self._namespace, pod)["spec"].get("nodeName", ""))

    def notes(self, pod: str) -> list[str]:
        """Return what events tell of a pod."""
        found = self._client.items(f"/apis/events.k8s.io/v1/namespaces/{self._namespace}/events")
        return [event["note"] for event in found if event["regarding"]["name"] == pod]

    @contextlib.contextmanager
    def forbidding(self, claim: str) -> Iterator[None]:
        """Let the API server refuse, a little later, to promise any volume to a claim."""
        policy = {
            "metadata": {"name": f"not-for-{claim}"},
            "spec": {
                "matchConstraints": {
                    "resourceRules": [
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "operations": ["UPDATE"],
                            "resources": ["persistentvolumes"],
                        }
                    ]
                },
                "validations": [
                    {
                        "expression": "!has(object.spec.claimRef) || "
                        f"object.spec.claimRef.name != '{claim}'",
                        "message": FORBIDDEN,
                    }
                ],
            },
        }
        binding = {
            "metadata": policy["metadata"],
            "spec": {"policyName": f"not-for-{claim}", "validationActions": ["Deny"]},
        }
        kinds = "validatingadmissionpolicies", "validatingadmissionpolicybindings"
        for kind, body in zip(kinds, (policy, binding), strict=True):
            self._client.create(f"{_ADMISSION}/{kind}", body)
        try:
            yield
        finally:
            for kind in kinds:
                self._client.delete(f"{_ADMISSION}/{kind}/not-for-{claim}")

    def may_promise(self, volume: str, claim: str) -> bool:
        """Return whether the API server would let a volume be promised to a claim."""
        body = {"spec": {"claimRef": {"namespace": self._namespace, "name": claim}}}
        try:
            self._client.patch(f"{_VOLUMES}/{volume}?dryRun=All", body)
        except api_client.ApiError:
            return False
        return True

    # --- what controllers do

    def bind(self, volume: str) -> None:
        """Complete the binding of a volume to the claim that it is promised to."""
        claim = f"{self._claims}/{self.owner(volume)}"
        self._set_phase(f"{_VOLUMES}/{volume}", "Bound")
        bound = {"metadata": {"annotations": _MARKS}, "spec": {"volumeName": volume}}
        self._client.patch(claim, bound)
        self._set_phase(claim, "Bound")

    def provision(self, claim: str) -> str:
        """Make a volume for a claim on its selected node, bind it, and return its name."""
        wanted = self.claim(claim)
        name = f"pvc-{wanted['metadata']['uid']}"
        reference = {
            "kind": "PersistentVolumeClaim",
            "namespace": self._namespace,
            "name": claim,
            "uid": wanted["metadata"]["uid"],
        }
        spec = {
            **_SPEC,
            "capacity": wanted["spec"]["resources"]["requests"],
            "storageClassName": wanted["spec"]["storageClassName"],
            "nodeAffinity": _only(self.selected_node(claim)),
            "claimRef": reference,
        }
        self._client.create(_VOLUMES, {"metadata": {"name": name}, "spec": spec})
        self.bind(name)
        return name

    def give_up(self, claim: str) -> None:
        """Take the selected node away, as a provisioner does that could not make the volume."""
        self._client.patch(
            f"{self._claims}/{claim}",
            {"metadata": {"annotations": {SELECTED_NODE: None, "tried-by": PROVISIONER}}},
        )

    def take(self, volume: str, claim: str) -> bool:
        """Promise a volume to somebody else; False when it has been promised already."""
        found = self.volume(volume)
        if "claimRef" in found["spec"]:
            return False
        reference = {"kind": "PersistentVolumeClaim", "namespace": "elsewhere", "name": claim}
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        body = {"metadata": version, "spec": {"claimRef": {**reference, "uid": "of-another"}}}
        try:
            self._client.patch(f"{_VOLUMES}/{volume}", body)
        except api_client.ApiError as error:
            if error.reason != "Conflict":
                raise
            return False
        return True

    def _set_phase(self, path: str, phase: str) -> None:
        self._client.patch(f"{path}/status", {"status": {"phase": phase}})


def _only(node: str) -> dict[str, Any]:
    expression = {"key": manifests.HOSTNAME, "operator": "In", "values": [node]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
