"""Find the pods that use a PersistentVolumeClaim, while policies read claims."""

from __future__ import annotations

from policysched.cluster.pods import pod_shape


class ClaimUsers:
    """The pods that name each claim, or have the ephemeral volume for which it was created."""

    def __init__(self) -> None:
        """Start without pods."""
        self._users: dict[tuple[str, str], dict[str, None]] = {}

    def add(self, info: pod_shape.PodInfo) -> None:
        """Add a pod; a known pod has the same volumes as before, because they never change."""
        for use in info.shape.claims:
            key = (info.shape.namespace, use.claim_name)
            self._users.setdefault(key, {})[info.uid] = None

    def remove(self, info: pod_shape.PodInfo) -> None:
        """Remove a pod."""
        for use in info.shape.claims:
            key = (info.shape.namespace, use.claim_name)
            users = self._users.get(key, {})
            users.pop(info.uid, None)
            if not users:
                self._users.pop(key, None)

    def list_users(self, namespace: str, name: str) -> tuple[str, ...]:
        """Return the uids of the pods that use a claim, in the order in which they were added."""
        return tuple(self._users.get((namespace, name), ()))
