"""Read the zones and regions of a PersistentVolume from its labels.

Source: `plugins/volumezone/volume_zone.go`, getPVTopologies; cloud-provider `volume/helpers`,
LabelZonesToSet.
"""

from __future__ import annotations

import dataclasses

from policysched.cluster.objects import storage_objects

_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION = "failure-domain.beta.kubernetes.io/region"
_ZONE = "topology.kubernetes.io/zone"
_REGION = "topology.kubernetes.io/region"
KEYS = (_BETA_ZONE, _BETA_REGION, _ZONE, _REGION)
REPLACED_BY = {_BETA_ZONE: _ZONE, _BETA_REGION: _REGION}
_SEPARATOR = "__"


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeTopologyLabel:
    """A label that a node must have, and its permitted values."""

    key: str
    values: frozenset[str]


def list_topology_labels(volume: storage_objects.PersistentVolume) -> list[VolumeTopologyLabel]:
    """Return the node labels that a volume requires; labels with an empty part are ignored."""
    found = []
    for key in KEYS:
        label = volume.metadata.labels.get(key)
        values = [] if label is None else [value.strip() for value in label.split(_SEPARATOR)]
        if values and all(values):
            found.append(VolumeTopologyLabel(key, frozenset(values)))
    return found
