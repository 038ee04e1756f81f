"""Keep the JSON of pods and nodes for requests to extenders, as the API server sent it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.extenders import calls


class PodTexts:
    """The JSON of pods, by uid; of placed pods only if extenders receive them."""

    def __init__(self, *, keeps_placed: bool) -> None:
        """Start without pods."""
        self._texts = _Texts(("managedFields",))  # as in kube-scheduler's cache
        self._keeps_placed = keeps_placed

    def keep(self, pod: objects.Pod, text: bytes) -> None:
        """Keep the text of a new version of a pod."""
        if pod.spec.node_name and not self._keeps_placed:
            self._texts.forget(pod.metadata.uid)
        else:
            self._texts.keep(pod.metadata.uid, text)

    def forget(self, pod: objects.Pod) -> None:
        """Forget a deleted pod."""
        self._texts.forget(pod.metadata.uid)

    def retain(self, pods: Iterable[objects.Pod]) -> None:
        """Forget all other pods."""
        self._texts.retain(pod.metadata.uid for pod in pods)

    def get(self, pod: pod_shape.PodInfo) -> bytes:
        """Return the newest version of a pod.

        Raises:
            ExtenderError: the pod is unknown.
        """
        return self._texts.get(pod.uid, f"pod {pod.key}")


class NodeTexts:
    """The JSON of nodes, by name."""

    def __init__(self) -> None:
        """Start without nodes."""
        self._texts = _Texts(())

    def keep(self, node: objects.Node, text: bytes) -> None:
        """Keep the text of a new version of a node."""
        self._texts.keep(node.metadata.name, text)

    def forget(self, node: objects.Node) -> None:
        """Forget a deleted node."""
        self._texts.forget(node.metadata.name)

    def retain(self, nodes: Iterable[objects.Node]) -> None:
        """Forget all other nodes."""
        self._texts.retain(node.metadata.name for node in nodes)

    def get(self, name: str) -> bytes:
        """Return the newest version of a node.

        Raises:
            ExtenderError: the node is unknown.
        """
        return self._texts.get(name, f"node {name}")


class ObjectTexts:
    """The texts of all objects that requests contain (`requests.KnownObjects`)."""

    def __init__(self, pods: PodTexts, nodes: NodeTexts) -> None:
        """Read `pods` and `nodes`."""
        self._pods = pods
        self._nodes = nodes

    def get_pod(self, pod: pod_shape.PodInfo) -> bytes:
        """Return the newest version of a pod."""
        return self._pods.get(pod)

    def get_node(self, name: str) -> bytes:
        """Return a node."""
        return self._nodes.get(name)


class _Texts:
    """Texts by key; converted to the form of requests when they are first needed."""

    def __init__(self, dropped: tuple[str, ...]) -> None:
        """Drop some fields of the metadata."""
        self._dropped = dropped
        self._texts: dict[str, bytes] = {}
        self._unconverted: set[str] = set()

    def keep(self, key: str, text: bytes) -> None:
        self._texts[key] = text
        self._unconverted.add(key)

    def forget(self, key: str) -> None:
        self._texts.pop(key, None)
        self._unconverted.discard(key)

    def retain(self, keys: Iterable[str]) -> None:
        for gone in self._texts.keys() - set(keys):
            self.forget(gone)

    def get(self, key: str, name: str) -> bytes:
        text = self._texts.get(key)
        if text is None:
            raise calls.GoneError(f"{name} has left the cluster")
        if key in self._unconverted:
            text = self._texts[key] = self._convert(text)
            self._unconverted.discard(key)
        return text

    def _convert(self, text: bytes) -> bytes:
        """Return the text without kind, apiVersion and the dropped fields of the metadata."""
        fields: dict[str, Any] = msgspec.json.decode(text)
        fields.pop("kind", None)
        fields.pop("apiVersion", None)
        for name in self._dropped:
            fields["metadata"].pop(name, None)
        return msgspec.json.encode(fields)
