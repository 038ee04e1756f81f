"""Evict pods through the Eviction API, which respects disruption budgets.

A request contains the uid of the pod, so a pod created again under the same name stays.
"""

from __future__ import annotations

import msgspec

from policysched.cluster.objects import objects
from policysched.kube.http import client
from policysched.kube.writing import paths

EVICT_ONCE = client.CallRetryPolicy(timeout_seconds=15.0, max_attempts=1)
"""The server answers 429 while a budget allows no eviction; to ask again at once does not help."""


class EvictionClient:
    """Sends evictions through one API client."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api

    async def create_eviction(self, metadata: objects.ObjectMeta) -> None:
        """Evict the pod with this namespace, name and uid.

        Raises:
            TooManyRequestsError: a disruption budget allows no eviction now.
            ConflictError: the pod of this name has another uid.
            NotFoundError: the pod no longer exists.
            KubeError: the eviction failed, or the outcome is unknown.
        """
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": metadata.namespace, "name": metadata.name},
            "deleteOptions": {"preconditions": {"uid": metadata.uid}},
        }
        path = paths.format_pod_eviction_path(metadata.namespace, metadata.name)
        await self._api.send_request("POST", path, msgspec.json.encode(body), policy=EVICT_ONCE)
