"""Define objects of dynamic resource allocation in wire format: claims, slices and classes.

They have only the fields that kube-scheduler's DynamicResources plugin and its allocator read
(`framework/plugins/dynamicresources`, `k8s.io/dynamic-resource-allocation/structured`). None means
that a field is absent, if an absent field differs from an empty one.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from policysched.cluster.objects import objects, wire

EXACT_COUNT = "ExactCount"
ALL = "All"
"""Values of `allocationMode`."""
FROM_CLASS = "FromClass"
FROM_CLAIM = "FromClaim"
"""Values of `source` of a configuration."""
EXTENDED_RESOURCE_CLAIM: Final = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of claims that were made for extended resources; its value is `true`."""
DELETE_PROTECTION: Final = "resource.kubernetes.io/delete-protection"
"""The finalizer of allocated claims."""
MAX_RESERVATIONS: Final = 256
"""`ResourceClaimReservedForMaxSize` of the API: the most pods that can use one claim."""


# --- parts of claims and classes -----------------------------------------------------------------


class CELDeviceSelector(wire.WireStruct, frozen=True):
    """`selectors[].cel`."""

    expression: str = ""


class DeviceSelector(wire.WireStruct, frozen=True):
    """`selectors[]`: a condition that a device must fulfil; without `cel`, its kind is unknown."""

    cel: CELDeviceSelector | None = None


class OpaqueDeviceConfiguration(wire.WireStruct, frozen=True):
    """`config[].opaque`: parameters for a driver, which the scheduler passes on unread."""

    driver: str = ""
    parameters: Any = None


class DeviceToleration(wire.WireStruct, frozen=True):
    """`tolerations[]` of a request."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: wire.Int64 | None = None


class CapacityRequirements(wire.WireStruct, frozen=True):
    """`capacity` of a request: the amounts that it needs of a device."""

    requests: wire.ResourceList = {}


# --- ResourceClaim -------------------------------------------------------------------------------


class ExactDeviceRequest(wire.WireStruct, frozen=True):
    """`exactly` of a request."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = EXACT_COUNT
    count: wire.Int64 = 1
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(wire.WireStruct, frozen=True):
    """`firstAvailable[]` of a request: one of several alternatives, the best first."""

    name: str
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = EXACT_COUNT
    count: wire.Int64 = 1
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(wire.WireStruct, frozen=True):
    """`spec.devices.requests[]` of a claim."""

    name: str
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(wire.WireStruct, frozen=True):
    """`spec.devices.constraints[]` of a claim; without requests, it applies to all of them."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimConfiguration(wire.WireStruct, frozen=True):
    """`spec.devices.config[]` of a claim; without requests, it applies to all of them."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(wire.WireStruct, frozen=True):
    """`spec.devices` of a claim."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(wire.WireStruct, frozen=True):
    """`spec` of a claim."""

    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(wire.WireStruct, frozen=True):
    """`status.allocation.devices.results[]`: one device of a claim.

    Attributes:
        request: name of the request, with the name of the alternative if there are any (`gpu/big`).
        share_id: identity of a share of a device that several claims can use, or None.
        consumed_capacity: amounts of the share.
    """

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: wire.ResourceList = {}


class DeviceAllocationConfiguration(wire.WireStruct, frozen=True):
    """`status.allocation.devices.config[]`."""

    source: str
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(wire.WireStruct, frozen=True):
    """`status.allocation.devices`."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


class AllocationResult(wire.WireStruct, frozen=True):
    """`status.allocation` of a claim; without a node selector, its devices serve all nodes."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: objects.NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(wire.WireStruct, frozen=True):
    """`status.reservedFor[]`: an object that uses the claim, usually a pod."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(wire.WireStruct, frozen=True):
    """`status.devices[]`: the driver's report on a device of the claim."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: tuple[objects.Condition, ...] = ()


class ResourceClaimStatus(wire.WireStruct, frozen=True):
    """`status` of a claim."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(wire.WireStruct, frozen=True):
    """A resource.k8s.io/v1 ResourceClaim: the devices that pods need."""

    metadata: objects.ObjectMeta
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()

    @property
    def allocation(self) -> AllocationResult | None:
        """`status.allocation`."""
        return self.status.allocation

    @property
    def full_name(self) -> str:
        """The name as kube-scheduler's texts have it (`klog.KObj`)."""
        namespace, name = self.metadata.namespace, self.metadata.name
        return f"{namespace}/{name}" if namespace else name


# --- DeviceClass ---------------------------------------------------------------------------------


class DeviceClassConfiguration(wire.WireStruct, frozen=True):
    """`spec.config[]` of a class."""

    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(wire.WireStruct, frozen=True):
    """`spec` of a class."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(wire.WireStruct, frozen=True):
    """A resource.k8s.io/v1 DeviceClass: selectors and parameters that requests name."""

    metadata: objects.ObjectMeta
    spec: DeviceClassSpec = DeviceClassSpec()


# --- ResourceSlice -------------------------------------------------------------------------------


class DeviceAttribute(wire.WireStruct, frozen=True):
    """A value of `attributes` of a device, of one of the four types."""

    int_value: wire.Int64 | None = msgspec.field(default=None, name="int")
    bool_value: bool | None = msgspec.field(default=None, name="bool")
    string_value: str | None = msgspec.field(default=None, name="string")
    version_value: str | None = msgspec.field(default=None, name="version")


class CapacityRequestPolicyRange(wire.WireStruct, frozen=True):
    """`requestPolicy.validRange`."""

    min: wire.Quantity | None = None
    max: wire.Quantity | None = None
    step: wire.Quantity | None = None


class CapacityRequestPolicy(wire.WireStruct, frozen=True):
    """`capacity.*.requestPolicy`: the amounts that a share of a device can have."""

    default: wire.Quantity | None = None
    valid_values: tuple[wire.Quantity, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(wire.WireStruct, frozen=True):
    """A value of `capacity` of a device."""

    value: wire.Quantity
    request_policy: CapacityRequestPolicy | None = None


class Counter(wire.WireStruct, frozen=True):
    """A value of `counters`."""

    value: wire.Quantity


class CounterSet(wire.WireStruct, frozen=True):
    """`spec.sharedCounters[]`: amounts that the devices of a pool share."""

    name: str
    counters: dict[str, Counter] = {}


class DeviceCounterConsumption(wire.WireStruct, frozen=True):
    """`consumesCounters[]` of a device."""

    counter_set: str
    counters: dict[str, Counter] = {}


class DeviceTaint(wire.WireStruct, frozen=True):
    """`taints[]` of a device."""

    key: str
    value: str = ""
    effect: str = ""


class Device(wire.WireStruct, frozen=True):
    """`spec.devices[]` of a slice."""

    name: str
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: objects.NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False


class ResourcePool(wire.WireStruct, frozen=True):
    """`spec.pool` of a slice."""

    name: str
    generation: wire.Int64 = 0
    resource_slice_count: wire.Int64 = 0


class ResourceSliceSpec(wire.WireStruct, frozen=True):
    """`spec` of a slice."""

    driver: str
    pool: ResourcePool
    node_name: str | None = None
    node_selector: objects.NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(wire.WireStruct, frozen=True):
    """A resource.k8s.io/v1 ResourceSlice: devices of one pool of a driver."""

    metadata: objects.ObjectMeta
    spec: ResourceSliceSpec


# --- all of them ---------------------------------------------------------------------------------


DeviceObject: TypeAlias = ResourceClaim | ResourceSlice | DeviceClass

API_VERSION: Final = "resource.k8s.io/v1"
KINDS: tuple[type[DeviceObject], ...] = (ResourceClaim, ResourceSlice, DeviceClass)
NAMESPACED: tuple[type[DeviceObject], ...] = (ResourceClaim,)
"""The types whose objects have a namespace."""
