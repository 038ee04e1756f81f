"""The cluster as the API server tells it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.e2e.checker import demands as demand_types
    from tests.realcluster import api_client


@dataclasses.dataclass(frozen=True)
class Placed:
    """A pod on its node, with everything that its spec (first) and the policies demand."""

    pod: Mapping[str, Any]
    node: Mapping[str, Any]
    demands: Sequence[demand_types.Demands]

    @property
    def name(self) -> str:
        """`namespace/name`."""
        return key(self.pod)

    @property
    def tolerations(self) -> list[Mapping[str, Any]]:
        """What the pod and the policies tolerate together."""
        return [one for demands in self.demands for one in demands.tolerations]

    def __str__(self) -> str:
        """Return `namespace/name on node`."""
        return f"{self.name} on {self.node['metadata']['name']}"


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Nodes, pods and namespaces as the API server gives them out.

    Attributes:
        nodes: by name.
        pods: all that have not ended.
        namespaces: labels by name.
    """

    nodes: Mapping[str, Mapping[str, Any]]
    pods: Sequence[Mapping[str, Any]]
    namespaces: Mapping[str, Mapping[str, str]]

    @classmethod
    def read(cls, client: api_client.ApiClient) -> Self:
        """Read everything from the API server."""
        return cls.of(client.nodes(), client.pods(), client.items("/api/v1/namespaces"))

    @classmethod
    def of(
        cls,
        nodes: Sequence[Mapping[str, Any]],
        pods: Sequence[Mapping[str, Any]],
        namespaces: Sequence[Mapping[str, Any]] = (),
    ) -> Self:
        """Take objects as the API server gives them out."""
        return cls(
            {node["metadata"]["name"]: node for node in nodes},
            [pod for pod in pods if not _has_ended(pod)],
            {one["metadata"]["name"]: one["metadata"].get("labels") or {} for one in namespaces},
        )


def key(pod: Mapping[str, Any]) -> str:
    """Return `namespace/name`."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def node_name(pod: Mapping[str, Any]) -> str:
    """Return the node that a pod is bound to, "" for none."""
    name: str = pod["spec"].get("nodeName") or ""
    return name


def _has_ended(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
