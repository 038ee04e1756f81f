"""What happens in a cluster, as far as it can make a pod schedulable.

Sources: `k8s.io/kube-scheduler/framework/types.go` (ActionType, EventResource, ClusterEvent,
QueueingHint), KEP-4247.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable
from typing import TypeAlias

from policysched.cluster.objects import device_objects, objects, storage_objects
from policysched.cluster.pods import pod_shape


class ActionType(enum.Flag):
    """Kinds of changes; they combine by `|`."""

    ADD = enum.auto()
    DELETE = enum.auto()
    UPDATE_NODE_ALLOCATABLE = enum.auto()
    UPDATE_NODE_LABEL = enum.auto()
    UPDATE_NODE_TAINT = enum.auto()
    UPDATE_NODE_CONDITION = enum.auto()
    UPDATE_NODE_ANNOTATION = enum.auto()
    UPDATE_NODE_DECLARED_FEATURE = enum.auto()
    UPDATE_POD_LABEL = enum.auto()
    UPDATE_POD_SCALE_DOWN = enum.auto()
    UPDATE_POD_TOLERATION = enum.auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = enum.auto()
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = enum.auto()
    UPDATE_OTHER = enum.auto()
    """A change of anything else: storage objects, namespaces, metrics, policies."""
    AGE = enum.auto()
    """A node or waiting pod reached an age, or a pod a waiting time, with which policies compare.
    The object is the same, so this is part of neither UPDATE nor ALL."""
    STORAGE = enum.auto()
    """What policies read of the storage claims of a pod changed. The pod is the same, so this is
    part of neither UPDATE nor ALL."""
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_POD_GENERATED_RESOURCE_CLAIM
        | UPDATE_OTHER
    )
    ALL = ADD | DELETE | UPDATE


class EventResource(enum.Enum):
    """What changed."""

    POD = "AssignedPod"
    """A placed pod, or one that is leaving its node."""
    UNSCHEDULED_POD = "UnschedulablePod"
    """The waiting pod itself."""
    NODE = "Node"
    NAMESPACE = "Namespace"
    METRIC = "Metric"
    POLICY = "Policy"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    WILDCARD = "*"


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterEvent:
    """A change, or a set of changes that a plugin waits for."""

    resource: EventResource
    action: ActionType

    def covers(self, happened: ClusterEvent) -> bool:
        """Return whether `happened` is one of the changes this registration waits for."""
        same = self.resource in (EventResource.WILDCARD, happened.resource)
        everything = happened.resource is EventResource.WILDCARD
        return everything or (same and bool(self.action & happened.action))

    @property
    def label(self) -> str:
        """The name in metrics and logs, such as `NodeAdd` or `AssignedPodUpdatePodLabel`.

        Changes that no event names are an `Update`.
        """
        return _format_label(self)


@functools.cache
def _format_label(event: ClusterEvent) -> str:
    words = (event.action.name or "").removesuffix("_OTHER").replace("|", "_").split("_")
    return event.resource.value + "".join(word.capitalize() for word in words)


FORCE_ACTIVATE = ClusterEvent(EventResource.WILDCARD, ActionType.ALL)
"""Matches every registration: the flush of pods that waited long, or a new policy."""


POD_AGE = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.AGE)
POD_STORAGE = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.STORAGE)
PLACED_POD_STORAGE = ClusterEvent(EventResource.POD, ActionType.STORAGE)
NODE_AGE = ClusterEvent(EventResource.NODE, ActionType.AGE)


class QueueingHint(enum.Enum):
    """Whether an event can help a pod that a plugin rejected."""

    SKIP = "QueueSkip"
    QUEUE = "Queue"


ClusterObject: TypeAlias = (
    pod_shape.PodInfo
    | objects.Node
    | objects.Namespace
    | storage_objects.StorageObject
    | device_objects.DeviceObject
    | None
)
QueueingHintFn: TypeAlias = Callable[
    [pod_shape.PodInfo, ClusterObject, ClusterObject], QueueingHint
]
"""(waiting pod, object before or None, object after or None) → hint.

Equal pods that the same plugins rejected are judged together: but for changes of the waiting pod
itself, a hint must go by the pod's shape and `status.resourceClaimStatuses` alone.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterEventWithHint:
    """A registration: the events, and a closer look at one of them (None: always queue)."""

    event: ClusterEvent
    hint: QueueingHintFn | None = None
