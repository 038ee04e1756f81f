"""Pods that differ in nothing that is read of them, though their shapes differ.

Every Job has labels and an owner of its own, and so its pods have a shape of their own. For what
is kept of an incoming pod they are equal as long as nobody asks for these labels.
"""

from __future__ import annotations

import dataclasses

import msgspec

from policysched.cluster.pods import pod_shape

_ENCODER = msgspec.json.Encoder(order="sorted")


@dataclasses.dataclass(frozen=True, slots=True)
class ShapeProjection:
    """What is read of an incoming pod besides its namespace, spec and requests.

    Attributes:
        label_keys: the labels.
        reads_workload: whether `PodShape.workload` is.
    """

    label_keys: frozenset[str] = frozenset()
    reads_workload: bool = False

    def make_projection_key(self, shape: pod_shape.PodShape) -> bytes:
        """Return what is equal for shapes that differ in nothing that is read.

        Annotations are as few as shapes have; of the owner the kind is read.
        """
        return _ENCODER.encode(
            (
                shape.namespace,
                {key: shape.labels[key] for key in self.label_keys if key in shape.labels},
                shape.annotations,
                shape.owner.kind if shape.owner else None,
                shape.workload if self.reads_workload else "",
                pod_shape.make_shared_spec(shape.spec),
                shape.requests,
                shape.own_name,
            )
        )
