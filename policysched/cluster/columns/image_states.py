"""Track the container images that nodes have."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from policysched.cluster.objects import objects


@dataclasses.dataclass(slots=True)
class ImageState:
    """An image and the rows of the nodes that have it.

    `size_bytes` is the size that the first node reported (`backend/cache/cache.go`,
    addNodeImageStates). Nodes can report different sizes; only the first is kept.
    """

    size_bytes: int
    rows: set[int]


class ImageStates:
    """The images of all nodes, keyed by image name."""

    def __init__(self) -> None:
        """Start without images."""
        self._states: dict[str, ImageState] = {}
        self._names_of: dict[int, frozenset[str]] = {}

    def get_image_state(self, name: str) -> ImageState | None:
        """Return the image with this name, or None if no node has it."""
        return self._states.get(name)

    def set_node(self, row: int, images: Sequence[objects.ContainerImage]) -> None:
        """Replace the images of one node; `images` is its complete list."""
        for name in self._names_of.pop(row, frozenset()):
            self._drop_image_row(row, name)
        names = frozenset(name for image in images for name in image.names)
        for image in images:
            for name in image.names:
                self._states.setdefault(name, ImageState(image.size_bytes, set())).rows.add(row)
        if names:
            self._names_of[row] = names

    def _drop_image_row(self, row: int, name: str) -> None:
        state = self._states[name]
        state.rows.discard(row)
        if not state.rows:
            del self._states[name]
