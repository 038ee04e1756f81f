"""Define the names with a fixed meaning in policies, with their types and short descriptions.

The checker, the documentation and completion use these tables. A test ensures that
`docs/language-reference.md` contains each name.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

from policysched import units

Domain = Literal["pod", "node", "namespace", "cluster", "resource"]
ElapsedKind = Literal["waiting", "podAge", "nodeAge"]
DeviceFunction = Literal[
    "devices", "freeDevices", "takenDevices", "deviceAttribute", "deviceCapacity"
]


@dataclasses.dataclass(frozen=True, slots=True)
class ReservedField:
    """A reserved name in selectors; in quotes, the name means a label instead.

    Attributes:
        kind: `text` allows In, NotIn, =, !=, Exists, DoesNotExist; `texts` (several values) allows
            all of these except Exists and DoesNotExist; `number` allows comparisons.
        values: all possible values; () if any text is possible.
    """

    kind: Literal["text", "texts", "number"]
    doc: str
    values: tuple[str, ...] = ()


POD_FIELDS: dict[str, ReservedField] = {
    "image": ReservedField("texts", "image of any container, as written or without tag"),
    "ownerKind": ReservedField("text", "kind of the controlling owner (ReplicaSet, Job, …)"),
    "priority": ReservedField("number", "`spec.priority`, 0 if unset"),
    "priorityClassName": ReservedField("text", "`spec.priorityClassName`"),
    "qosClass": ReservedField(
        "text", "quality of service class", ("Guaranteed", "Burstable", "BestEffort")
    ),
    "serviceAccountName": ReservedField("text", "`spec.serviceAccountName`"),
    "storageClass": ReservedField("texts", "storage class of any claim of the pod"),
}
NODE_FIELDS: dict[str, ReservedField] = {
    "nodeName": ReservedField("text", "`metadata.name` of the node"),
}
CLUSTER_FIELDS: dict[str, ReservedField] = {
    "clusterName": ReservedField("text", "name of the cluster"),
    "provider": ReservedField("text", "`spec.provider` of the cluster"),
    "region": ReservedField("text", "`spec.region` of the cluster"),
    "zone": ReservedField("texts", "`spec.zones` of the cluster"),
}
RESOURCE_FIELDS: dict[str, ReservedField] = {
    "apiVersion": ReservedField("text", "`apiVersion` of the resource that is propagated"),
    "kind": ReservedField("text", "its `kind`"),
    "priority": ReservedField(
        "number", "`spec.schedulePriority.priority` of its binding, 0 if unset"
    ),
    "resourceName": ReservedField("text", "its `metadata.name`"),
}
FIELDS: dict[Domain, dict[str, ReservedField]] = {
    "pod": POD_FIELDS,
    "node": NODE_FIELDS,
    "namespace": {},
    "cluster": CLUSTER_FIELDS,
    "resource": RESOURCE_FIELDS,
}

SELECTOR_FUNCTIONS: dict[str, tuple[tuple[Domain, ...], str]] = {
    "annotation": (("pod", "node", "resource"), "annotation of the pod, node or binding"),
    "condition": (("node",), "status of a condition of the node: True, False or Unknown"),
    "limits": (("pod",), "effective limit of a resource; a pod without a limit does not match"),
    "nodeInfo": (("node",), "`nodeInfo(kubeletVersion)`, compared as a version"),
    "owner": (("pod",), "`owner(name)`, the name of the controlling owner"),
    "requests": (
        ("pod", "resource"),
        "effective request of a resource; 0 without a request; `requests(storage)` adds up claims",
    ),
}
NODE_CONDITIONS = ("DiskPressure", "MemoryPressure", "NetworkUnavailable", "PIDPressure", "Ready")
"""The conditions that the kubelet or a cloud provider sets; other components add their own."""
CONDITION_STATUSES = ("True", "False", "Unknown")
NODE_INFO = ("kubeletVersion",)
OWNER_FIELDS = ("name",)
OWNER_NAME = ReservedField("text", "name of the controlling owner")

POD_VALUE_FIELDS: dict[str, str] = {
    "namespace": "name of the pod's namespace",
    **{name: field.doc for name, field in POD_FIELDS.items() if field.kind == "text"},
}
"""Fields in `pod(…)` as a value; other names are labels of the pod."""
POD_VALUE_FUNCTIONS: dict[str, str] = {
    "annotation": "annotation of the pod",
    "owner": "`owner(name)`, the name of the pod's controlling owner",
    "namespaceLabel": "label of the pod's namespace",
}
"""Functions in `pod(…)` as a value."""

NODE_RESOURCE_FUNCTIONS: dict[str, str] = {
    "allocatable": "amount of a resource that the node offers to pods",
    "free": "allocatable minus requested; may be negative",
    "requested": "sum of the requests of the pods on the node",
}
DEVICE_COUNT_FUNCTIONS: dict[str, str] = {
    "devices": "number of devices of a DeviceClass that the node can use",
    "freeDevices": "number of these devices that a claim could get now",
    "takenDevices": "number of free devices of a class that the pod would take; only in scores",
}
DEVICE_VALUE_FUNCTIONS: dict[str, str] = {
    "deviceAttribute": "smallest value of an attribute of the devices for the pod; only in scores",
    "deviceCapacity": "smallest value of a capacity of the devices for the pod; only in scores",
}
FUNCTIONS: dict[str, str] = {
    **NODE_RESOURCE_FUNCTIONS,
    **DEVICE_COUNT_FUNCTIONS,
    **DEVICE_VALUE_FUNCTIONS,
    "requests": "amount that the pod, or for `storage` its claims, requests; 0 without a request",
    "limits": "limit of the pod; missing if the pod has no limit",
    "label": "the value of a node label as a number; missing if the value is not a number",
    "annotation": "the value of a node annotation as a number; missing if it is not a number",
    "min": "the smallest of two or more numbers in the same unit",
    "max": "the largest of two or more numbers in the same unit",
    "abs": "the number without its sign",
    "floor": "the number, rounded down to a whole number",
    "ceil": "the number, rounded up to a whole number",
    "mod": "the remainder of a division; missing for divisor 0",
    "number": "the number without its unit: bytes, cores, seconds become plain numbers",
}
EXPRESSION_FIELDS: dict[str, tuple[units.Unit, str]] = {
    "priority": (units.NUMBER, "`spec.priority` of the pod, 0 if unset"),
}
ELAPSED_TIMES: dict[str, str] = {
    "waiting": "time since the pod was first tried; compared with a duration: `waiting > 10m`",
    "podAge": "time since the creation of the pod; compared with a duration",
    "nodeAge": "time since the creation of the node; compared with a duration",
}
"""Names in expressions that a metric, param or let with the same name hides."""
STRATEGIES: dict[str, str] = {
    "LeastAllocated": "more points for nodes with more free resources",
    "MostAllocated": "more points for nodes with less free resources",
    "RequestedToCapacityRatio": "points by a shape over the requested share",
}
TAKING_NAMES = frozenset(
    {
        *NODE_RESOURCE_FUNCTIONS,
        *DEVICE_COUNT_FUNCTIONS,
        *DEVICE_VALUE_FUNCTIONS,
        "requests",
        "limits",
        "label",
        "annotation",
        *STRATEGIES,
    }
)
"""Functions whose arguments are names: of resources, device classes, labels or annotations."""
NORMALIZATIONS: dict[str, str] = {
    "linear": "linear(low, high): 0 points at low, 100 at high, clamped",
    "minmax": "minmax or minmax(floor): by position between smallest and largest",
    "rank": "by rank among the distinct values",
    "max": "in proportion to the largest",
    "shape": "shape(value: points, …): piecewise linear",
}
METRIC_UNITS: dict[str, units.Unit] = {name: unit for unit, name in units.NAMES.items()}
PARAM_TYPES: tuple[str, ...] = (*METRIC_UNITS, "duration", "string", "strings")
PARAM_UNITS: dict[str, units.Unit] = {**METRIC_UNITS, "duration": units.SECONDS}

SPREAD_FIELDS = ("cluster", "region", "zone", "provider")
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
MODES = ("enforce", "shadow")
DIRECTIONS = ("low", "high")
WHEN_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
NODE_INCLUSION = ("Honor", "Ignore")
MISSING_ACTIONS = ("allow", "reject")
OUTAGE_ACTIONS = ("skip", "hold")
WINDOW_FUNCTIONS = ("avg", "min", "max", "quantile")

RESERVED_NAMES = frozenset({"and", "else", "node", "not", "or", "pod", "priority", "tainted"})
"""Names that metrics, params and lets cannot have, because expressions interpret them."""
