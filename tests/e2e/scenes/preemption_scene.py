"""A small cluster on a real API server where pods make room for each other.

The test plays the kubelet: a deleted pod stays on its node, terminating, until `finish` ends it.
What happened is read from the API server alone, in a form in which two schedulers can be compared.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.e2e.scenes import volume_controllers
from tests.realcluster import api_client, manifests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.realcluster import process

SCHEDULER_NAME = "default-scheduler"
PRIORITIES = {"low": 10, "lower-middle": 50, "middle": 100, "high": 1000}
NEVER = "high-but-patient"
"""A class whose pods preempt nobody."""

_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_LIMIT_SECONDS = 150.0
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Scene:
    """Nodes of 4 CPUs, the pods of one namespace, and the scheduler that is at work."""

    def __init__(
        self, client: api_client.ApiClient, namespace: str, scheduler: process.ServerProcess
    ) -> None:
        """Make priority classes, where they are missing."""
        self.scheduler = scheduler
        self._client = client
        self._namespace = namespace
        for name, value in (*PRIORITIES.items(), (NEVER, 2000)):
            policy = "Never" if name == NEVER else "PreemptLowerPriority"
            _create_once(
                client,
                _CLASSES,
                {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy},
            )

    # --- what happens

    def nodes(self, *names: str) -> None:
        """Create nodes."""
        amounts = {"cpu": "4", "memory": "32Gi"}
        self._client.create_nodes([manifests.node(name, resources=amounts) for name in names])

    def running(self, name: str, priority: str, cpu: str, node: str, **spec: Any) -> None:
        """Create a pod that is on its node already."""
        self._create(name, priority, cpu, nodeName=node, **spec)

    def pending(self, name: str, priority: str, cpu: str, **spec: Any) -> None:
        """Create a pod for the scheduler."""
        self._create(name, priority, cpu, **spec)

    def _create(self, name: str, priority: str, cpu: str, **spec: Any) -> None:
        spec = {"priorityClassName": priority, "terminationGracePeriodSeconds": 3600, **spec}
        pod = manifests.pod(
            name,
            scheduler_name=SCHEDULER_NAME,
            requests={"cpu": cpu},
            labels={"app": name},
            spec=spec,
        )
        self._client.create_pods(self._namespace, [pod])

    def budget(self, app: str, disruptions_allowed: int) -> None:
        """Create a disruption budget for one app, in the state that its controller would write."""
        collection = f"/apis/policy/v1/namespaces/{self._namespace}/poddisruptionbudgets"
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}
        self._client.create(collection, {"metadata": {"name": app}, "spec": spec})
        status = {
            "disruptionsAllowed": disruptions_allowed,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
            "observedGeneration": 1,
        }
        self._client.patch(f"{collection}/{app}/status", {"status": status})

    def unbound_claim(self, name: str) -> volume_controllers.Volumes:
        """Create a claim whose volume is made when its pod has a node; return who can make it."""
        volumes = volume_controllers.Volumes(self._client, self._namespace)
        volumes.create_class("network")
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "network",
            "resources": {"requests": {"storage": "1Gi"}},
        }
        claims = f"/api/v1/namespaces/{self._namespace}/persistentvolumeclaims"
        self._client.create(claims, {"metadata": {"name": name}, "spec": spec})
        return volumes

    def finish(self, *names: str) -> None:
        """End pods, as the kubelet does when their containers have stopped."""
        for name in names:
            self._client.delete(f"/api/v1/namespaces/{self._namespace}/pods/{name}")

    def relabel(self, name: str, **labels: str) -> None:
        """Set labels of a pod."""
        path = f"/api/v1/namespaces/{self._namespace}/pods/{name}"
        self._client.patch(path, {"metadata": {"labels": labels}})

    # --- what is waited for

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Return once something holds, while the scheduler is at work."""
        self.scheduler.wait_until(holds, time_limit_seconds=_LIMIT_SECONDS)

    def wait_nominated(self, name: str, node: str) -> None:
        """Wait until the API shows for which node a pod waits."""
        self.wait_until(lambda: self.nominated(name) == node)

    def wait_terminating(self, *names: str) -> None:
        """Wait until pods are being deleted and an event says so."""

        def are_told() -> bool:
            told = {event["pod"] for event in self.events("Preempted")}
            return set(names) <= set(self.terminating()) & told

        self.wait_until(are_told)

    def wait_bound(self, name: str) -> None:
        """Wait until a pod has its node and an event says so."""
        self.wait_until(lambda: any(e["pod"] == name for e in self.events("Scheduled")))

    def wait_told(self, name: str, text: str) -> None:
        """Wait until a pod's condition contains a text."""
        self.wait_until(lambda: text in self.condition(name, "PodScheduled").get("message", ""))

    # --- what is there

    def pods(self) -> dict[str, dict[str, Any]]:
        """Return all pods by name."""
        return {pod["metadata"]["name"]: pod for pod in self._client.pods(self._namespace)}

    def places(self) -> dict[str, str]:
        """Return the node of each pod, "" for those without."""
        return {name: pod["spec"].get("nodeName", "") for name, pod in self.pods().items()}

    def terminating(self) -> list[str]:
        """Return the names of the pods that are being deleted."""
        return [n for n, pod in self.pods().items() if "deletionTimestamp" in pod["metadata"]]

    def nominated(self, name: str) -> str:
        """Return the node that a pod is nominated to, "" for none."""
        return str(self.pods()[name]["status"].get("nominatedNodeName", ""))

    def condition(self, name: str, kind: str) -> Mapping[str, Any]:
        """Return a condition of a pod without its times, empty where it has none."""
        conditions: list[dict[str, Any]] = self.pods()[name]["status"].get("conditions", [])
        found: dict[str, Any] = next((one for one in conditions if one["type"] == kind), {})
        return {key: value for key, value in found.items() if not key.endswith("Time")}

    def events(self, reason: str) -> list[dict[str, Any]]:
        """Return the events of one kind, uids replaced by the names of their pods."""
        path = f"/apis/events.k8s.io/v1/namespaces/{self._namespace}/events"
        names = {pod["metadata"]["uid"]: name for name, pod in self.pods().items()}
        found = [
            {
                "pod": event["regarding"]["name"],
                "kind": event["regarding"]["kind"],
                "type": event["type"],
                "action": event["action"],
                "note": _UID.sub(lambda m: names.get(m[0], "?"), event["note"]).replace(
                    self._namespace, "NAMESPACE"
                ),
                "controller": event["reportingController"],
                "related": event.get("related", {}).get("name", ""),
            }
            for event in self._client.items(path)
            if event["reason"] == reason
        ]
        return sorted(found, key=lambda event: (event["pod"], event["note"]))

    def transcript(self) -> dict[str, Any]:
        """Return everything about pods and events that does not depend on time and names."""
        return {
            "places": self.places(),
            "terminating": self.terminating(),
            "nominated": {name: self.nominated(name) for name in self.pods()},
            "conditions": {
                name: [self.condition(name, kind) for kind in ("PodScheduled", "DisruptionTarget")]
                for name in self.pods()
            },
            "preempted": self.events("Preempted"),
        }


def _create_once(client: api_client.ApiClient, path: str, body: object) -> None:
    try:
        client.create(path, body)
    except api_client.ApiError as error:
        if error.reason != "AlreadyExists":
            raise
