"""Keep the JSON of pods and nodes for requests to extenders, as the API server sent it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import msgspec

from policysched.cluster.objects import objects
from policysched.extenders import calls

_T = TypeVar("_T")


class ObjectTexts(Generic[_T]):
    """The JSON of objects of one kind, by key; converted when it is first needed."""

    def __init__(
        self,
        make_key: Callable[[_T], str],
        *,
        is_kept: Callable[[_T], bool] = lambda _: True,
        dropped: tuple[str, ...] = (),
    ) -> None:
        """Start without objects.

        Args:
            make_key: returns the key of an object.
            is_kept: returns whether the text of an object is needed; other texts are forgotten.
            dropped: fields of `metadata` that are not sent.
        """
        self._make_key = make_key
        self._is_kept = is_kept
        self._dropped = dropped
        self._texts: dict[str, bytes] = {}
        self._unconverted: set[str] = set()

    def keep(self, item: _T, read_text: Callable[[], bytes]) -> None:
        """Keep the text of a new version of an object, if it is needed."""
        if not self._is_kept(item):
            self.forget(item)
            return
        key = self._make_key(item)
        self._texts[key] = read_text()
        self._unconverted.add(key)

    def forget(self, item: _T) -> None:
        """Forget a deleted object."""
        self._forget_key(self._make_key(item))

    def retain(self, items: Iterable[_T]) -> None:
        """Forget all other objects."""
        for gone in self._texts.keys() - set(map(self._make_key, items)):
            self._forget_key(gone)

    def _forget_key(self, key: str) -> None:
        self._texts.pop(key, None)
        self._unconverted.discard(key)

    def get(self, key: str) -> bytes:
        """Return the newest version of an object, without kind and apiVersion.

        Raises:
            GoneError: the object is unknown.
        """
        text = self._texts.get(key)
        if text is None:
            raise calls.GoneError(f"{key} has left the cluster")
        if key in self._unconverted:
            text = self._texts[key] = self._convert(text)
            self._unconverted.discard(key)
        return text

    def _convert(self, text: bytes) -> bytes:
        fields: dict[str, Any] = msgspec.json.decode(text)
        fields.pop("kind", None)
        fields.pop("apiVersion", None)
        for name in self._dropped:
            fields["metadata"].pop(name, None)
        return msgspec.json.encode(fields)


def make_pod_texts(
    is_asked_about: Callable[[objects.Pod], bool], *, keeps_placed: bool
) -> ObjectTexts[objects.Pod]:
    """Return the texts of pods, by uid.

    Args:
        is_asked_about: returns whether an extender is asked about a pod.
        keeps_placed: whether to keep the texts of all placed pods, which can become victims.
    """
    return ObjectTexts(
        lambda pod: pod.metadata.uid,
        is_kept=lambda pod: keeps_placed if pod.spec.node_name else is_asked_about(pod),
        dropped=("managedFields",),  # as in kube-scheduler's cache
    )


def make_node_texts() -> ObjectTexts[objects.Node]:
    """Return the texts of nodes, by name."""
    return ObjectTexts(lambda node: node.metadata.name)
