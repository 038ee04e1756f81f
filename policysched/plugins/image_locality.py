"""ImageLocality: prefer nodes that already have the images of the pod.

Source: `plugins/imagelocality/image_locality.go`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface
from policysched.plugins import names

_MEBIBYTE = 1024 * 1024
MIN_BYTES = 23 * _MEBIBYTE
MAX_BYTES_PER_CONTAINER = 1000 * _MEBIBYTE
"""Sizes between these bounds, which include most images, are mapped to scores from 0 to 100."""


class ImageLocality:
    """Scores nodes by the total size of the pod's images that they have.

    The size of each image is weighted by the share of nodes that have it. Otherwise, an image on
    only a few nodes would attract all its pods to them.
    """

    name = names.IMAGE_LOCALITY
    reads: ClassVar = interface.Reads.NODE | interface.Reads.ALL_NODES

    def answer_key(self, shape: pod_shape.PodShape) -> Hashable:
        """Return a key of the images and the number of containers."""
        spec = shape.spec
        return shape.images, len(spec.init_containers) + len(spec.containers)

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,): `100 × (bytes - 23 Mi) / (1000 Mi × containers - 23 Mi)`, 0 to 100."""
        del state
        spec = pod.shape.spec
        container_count = len(spec.init_containers) + len(spec.containers)
        local = _compute_weighted_image_bytes(pod.shape, nodes.snapshot)[nodes.rows]
        largest = MAX_BYTES_PER_CONTAINER * container_count
        clipped = np.where(local < MIN_BYTES, MIN_BYTES, np.minimum(local, largest))
        return interface.MAX_NODE_SCORE * (clipped - MIN_BYTES) // (largest - MIN_BYTES)


def _compute_weighted_image_bytes(
    shape: pod_shape.PodShape, snap: snapshot.Snapshot
) -> columns.IntArray:
    """Return int64 (N,): Σ `int(size × nodes that have the image / all nodes)`."""
    total = np.zeros(snap.size, np.int64)
    for image in shape.images:
        state = snap.nodes.images.get_image_state(image)
        if state is not None:
            spread = len(state.rows) / snap.node_count
            total[list(state.rows)] += int(state.size_bytes * spread)
    return total


if TYPE_CHECKING:
    _score: type[interface.ScorePlugin] = ImageLocality
    _keyed: type[interface.KeyedPlugin] = ImageLocality
