"""Track the pods that are nominated to a node, so that other pods do not take their place.

Source: `backend/queue/nominator.go`. The queue updates the nominations; filters read them from the
snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from policysched.cluster.pods import pod_shape


class NominatedPods:
    """Nominated pods, by uid and node name."""

    def __init__(self) -> None:
        """Start empty."""
        self._node_of: dict[str, str] = {}
        self._pods_on: dict[str, dict[str, pod_shape.PodInfo]] = {}

    def __len__(self) -> int:
        """Return the number of nominated pods."""
        return len(self._node_of)

    def nominate(self, info: pod_shape.PodInfo, node_name: str) -> None:
        """Nominate a pod to a node, replacing any previous nomination; "" only removes it."""
        self.remove_nomination(info.uid)
        if node_name:
            self._node_of[info.uid] = node_name
            self._pods_on.setdefault(node_name, {})[info.uid] = info

    def update_nominated_pod(self, old: pod_shape.PodInfo, new: pod_shape.PodInfo) -> None:
        """Apply an update to a pending pod.

        A nomination that the API server does not have yet is kept if the update has no nominated
        node.
        """
        said_before = old.pod.status.nominated_node_name
        says_now = new.pod.status.nominated_node_name
        if said_before or says_now:
            self.nominate(new, says_now)
        else:
            self.nominate(new, self._node_of.get(new.uid, ""))

    def remove_nomination(self, uid: str) -> str | None:
        """Remove the nomination of a pod; return its node, or None if it had none."""
        node_name = self._node_of.pop(uid, None)
        if node_name is not None:
            pods = self._pods_on[node_name]
            del pods[uid]
            if not pods:
                del self._pods_on[node_name]
        return node_name

    def get_nominated_node(self, uid: str) -> str | None:
        """Return the node to which a pod is nominated, or None."""
        return self._node_of.get(uid)

    def get_nominated_pods(self, node_name: str) -> list[pod_shape.PodInfo]:
        """Return the pods that are nominated to a node, oldest nomination first."""
        return list(self._pods_on.get(node_name, {}).values())

    def apply_nomination(self, info: pod_shape.PodInfo) -> pod_shape.PodInfo:
        """Return the pod with its nomination in the status, even if the API server lacks it.

        Otherwise, a pod that is retried soon would preempt pods on a second node.
        """
        node_name = self.get_nominated_node(info.uid)
        if node_name is None or node_name == info.pod.status.nominated_node_name:
            return info
        told = msgspec.structs.replace(info.pod.status, nominated_node_name=node_name)
        return pod_shape.PodInfo(msgspec.structs.replace(info.pod, status=told), info.shape)

    def list_nominated_pods_with_precedence(
        self, info: pod_shape.PodInfo
    ) -> Iterator[tuple[str, list[pod_shape.PodInfo]]]:
        """Yield each node name with its nominated pods that have precedence over `info`.

        These are the nominated pods of the same or a higher priority, except the pod itself
        (`runtime/framework.go`, addGENominatedPods).
        """
        priority, uid = info.shape.priority, info.uid
        for node_name, pods in self._pods_on.items():
            others = [p for p in pods.values() if p.shape.priority >= priority and p.uid != uid]
            if others:
                yield node_name, others
