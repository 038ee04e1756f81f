"""Compute cache keys that ignore fields of pods that no plugin reads.

Every Job has its own labels and owner, so the pods of each Job have a shape of their own. Cached
results for one of these shapes apply to all of them unless a plugin reads the fields that differ.
"""

from __future__ import annotations

import dataclasses

import msgspec

from policysched.cluster.pods import pod_shape

_ENCODER = msgspec.json.Encoder(order="sorted")


@dataclasses.dataclass(frozen=True, slots=True)
class PodFieldsRead:
    """The fields that plugins read from an incoming pod, besides its namespace, spec and requests.

    Attributes:
        label_keys: keys of the labels that are read.
        reads_workload: whether `PodShape.workload` is read.
        reads_owner_name: whether the name of the controlling owner is read.
        reads_claims: whether the requests of claims are read.
        reads_devices: whether devices are read; shapes do not contain those for the pod.
    """

    label_keys: frozenset[str] = frozenset()
    reads_workload: bool = False
    reads_owner_name: bool = False
    reads_claims: bool = False
    reads_devices: bool = False

    def make_pod_fields_key(self, shape: pod_shape.PodShape) -> bytes:
        """Return a key that is equal for shapes that agree in all fields that plugins read.

        The key contains all annotations, because shapes have only annotations that policies read.
        Of the owner, it contains the kind, and the name if it is read.
        """
        return _ENCODER.encode(
            (
                shape.namespace,
                {key: shape.labels[key] for key in self.label_keys if key in shape.labels},
                shape.annotations,
                shape.owner.kind if shape.owner else None,
                shape.owner.name if shape.owner and self.reads_owner_name else "",
                shape.workload if self.reads_workload else "",
                pod_shape.drop_unread_spec_fields(shape.spec),
                shape.requests,
                shape.own_name,
                shape.storage if self.reads_claims else (),
                shape.times,
            )
        )
