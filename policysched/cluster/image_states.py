"""Which nodes hold which container image."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from policysched.cluster import objects


@dataclasses.dataclass(slots=True)
class ImageState:
    """An image and the rows that have it.

    `size_bytes` is what the first node reported (`backend/cache/cache.go`, addNodeImageStates):
    nodes may disagree, one number per image decides.
    """

    size_bytes: int
    rows: set[int]


class ImageStates:
    """All images of all nodes, by name."""

    def __init__(self) -> None:
        """Start without images."""
        self._states: dict[str, ImageState] = {}
        self._names_of: dict[int, frozenset[str]] = {}

    def get(self, name: str) -> ImageState | None:
        """Return the state of an image name, None when no node has it."""
        return self._states.get(name)

    def set_node(self, row: int, images: Iterable[objects.ContainerImage]) -> None:
        """Replace the images of one node."""
        sizes = {name: image.size_bytes for image in images for name in image.names}
        for gone in self._names_of.pop(row, frozenset()) - sizes.keys():
            self._drop(row, gone)
        for name, size_bytes in sizes.items():
            self._states.setdefault(name, ImageState(size_bytes, set())).rows.add(row)
        if sizes:
            self._names_of[row] = frozenset(sizes)

    def _drop(self, row: int, name: str) -> None:
        state = self._states[name]
        state.rows.discard(row)
        if not state.rows:
            del self._states[name]
