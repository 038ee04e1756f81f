"""Encode the requests to extenders, with the field names of k8s.io/kube-scheduler/extender/v1.

No field is left out: a field without a value is null, as Go writes it. Pods and nodes are JSON as
the API server sent it, so that an extender also gets fields that policysched does not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from policysched.cluster.pods import pod_shape
from policysched.framework import extender_answers


class TextLookup(Protocol):
    """Objects of one kind as JSON, without kind and apiVersion (`object_texts.ObjectTexts`)."""

    def get(self, key: str) -> bytes:
        """Return the newest version of an object; the key of a pod is its uid."""
        ...


class _ListMeta(msgspec.Struct, frozen=True):
    """`metadata` of a list in a request, which is always empty."""


class _NodeList(msgspec.Struct):
    items: list[msgspec.Raw]
    metadata: _ListMeta = _ListMeta()


class _Nodes(msgspec.Struct, rename="pascal"):
    pod: msgspec.Raw
    nodes: _NodeList | None
    node_names: Sequence[str] | None


class _MetaPod(msgspec.Struct):
    uid: str = msgspec.field(name="UID")


class _MetaVictims(msgspec.Struct):
    pods: list[_MetaPod] = msgspec.field(name="Pods")
    violations: int = msgspec.field(name="NumPDBViolations")


class _Victims(msgspec.Struct):
    pods: list[msgspec.Raw] = msgspec.field(name="Pods")
    violations: int = msgspec.field(name="NumPDBViolations")


class _Preemption(msgspec.Struct, rename="pascal"):
    pod: msgspec.Raw
    node_name_to_victims: dict[str, _Victims] | None
    node_name_to_meta_victims: dict[str, _MetaVictims] | None


class _Binding(msgspec.Struct):
    pod_name: str = msgspec.field(name="PodName")
    pod_namespace: str = msgspec.field(name="PodNamespace")
    pod_uid: str = msgspec.field(name="PodUID")
    node: str = msgspec.field(name="Node")


class RequestEncoder:
    """Encodes the requests to one extender."""

    def __init__(self, pods: TextLookup, nodes: TextLookup, *, sends_names: bool) -> None:
        """Encode `pods` and `nodes`; with `sends_names`, names of nodes and uids of victims."""
        self._pods = pods
        self._nodes = nodes
        self._sends_names = sends_names
        self._encode = msgspec.json.Encoder().encode

    def encode_nodes(self, pod: pod_shape.PodInfo, names: Sequence[str]) -> bytes:
        """Return the body of Filter and Prioritize."""
        text = msgspec.Raw(self._pods.get(pod.uid))
        if self._sends_names:
            return self._encode(_Nodes(text, None, names))
        nodes = [msgspec.Raw(self._nodes.get(name)) for name in names]
        return self._encode(_Nodes(text, _NodeList(nodes), None))

    def encode_victims(
        self, pod: pod_shape.PodInfo, victims: extender_answers.VictimsByNode
    ) -> bytes:
        """Return the body of Preempt."""
        text = msgspec.Raw(self._pods.get(pod.uid))
        if self._sends_names:
            return self._encode(_Preemption(text, None, _make_meta_victims(victims)))
        return self._encode(_Preemption(text, self._make_victims(victims), None))

    def _make_victims(self, victims: extender_answers.VictimsByNode) -> dict[str, _Victims]:
        return {
            name: _Victims(self._list_texts(node.pods), node.violations)
            for name, node in victims.items()
        }

    def _list_texts(self, pods: Iterable[pod_shape.PodInfo]) -> list[msgspec.Raw]:
        return [msgspec.Raw(self._pods.get(pod.uid)) for pod in pods]

    def encode_binding(self, pod: pod_shape.PodInfo, node_name: str) -> bytes:
        """Return the body of Bind."""
        metadata = pod.pod.metadata
        return self._encode(_Binding(metadata.name, metadata.namespace, metadata.uid, node_name))


def _make_meta_victims(
    victims: Mapping[str, extender_answers.NodeVictims],
) -> dict[str, _MetaVictims]:
    return {
        name: _MetaVictims([_MetaPod(pod.uid) for pod in node.pods], node.violations)
        for name, node in victims.items()
    }
