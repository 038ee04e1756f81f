"""Turn requests for extended resources that device classes provide into requests for devices.

A pod requests `example.com/gpu: 2` as from a device plugin. If a node has no device plugin for it,
but a device class provides the resource, the pod gets two devices of that class there. They belong
to a claim that the scheduler creates for the pod, with the requests that fit the node.

Sources: `framework/plugins/dynamicresources/extendeddynamicresources.go`, KEP-5004.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from policysched import quantity
from policysched.cluster.devices import classes
from policysched.cluster.objects import device_objects, objects
from policysched.cluster.pods import pod_requests, pod_shape

_IN_MEMORY_NAME: Final = "<extended-resources>"
"""The name of a claim that has not been created. No claim of the API can have it."""


def may_be_provided_by_class(resource: str) -> bool:
    """Return whether a device class can provide a resource (`util/utils.go`)."""
    is_implicit = resource.startswith(classes.IMPLICIT_PREFIX)
    return is_implicit or pod_requests.is_extended_resource(resource)


def list_requested_resources(shape: pod_shape.PodShape) -> list[str]:
    """Return the resources that a pod requests and device classes can provide, sorted."""
    requested = shape.requests.amounts.items()
    return sorted(name for name, amount in requested if amount and may_be_provided_by_class(name))


def make_claim(pod: pod_shape.PodInfo) -> device_objects.ResourceClaim:
    """Return a claim for a pod, without requests, which depend on the node."""
    meta = pod.pod.metadata
    owner = objects.OwnerReference(
        api_version="v1", kind="Pod", name=meta.name, uid=meta.uid, controller=True
    )
    metadata = objects.ObjectMeta(
        name=_IN_MEMORY_NAME,
        namespace=meta.namespace,
        uid=f"{_IN_MEMORY_NAME}/{pod.uid}",
        owner_references=(owner,),
        annotations={device_objects.EXTENDED_RESOURCE_CLAIM: "true"},
    )
    return device_objects.ResourceClaim(metadata=metadata)


def is_in_memory(claim: device_objects.ResourceClaim) -> bool:
    """Return whether the claim has not been created in the API."""
    return claim.metadata.name == _IN_MEMORY_NAME


def set_requests(
    claim: device_objects.ResourceClaim, requests: Sequence[device_objects.DeviceRequest]
) -> device_objects.ResourceClaim:
    """Return the claim with other requests."""
    devices = device_objects.DeviceClaim(requests=tuple(requests))
    return msgspec.structs.replace(claim, spec=device_objects.ResourceClaimSpec(devices=devices))


@dataclasses.dataclass(frozen=True, slots=True)
class RequestedDevices:
    """The devices that the containers of a pod need in place of extended resources.

    Attributes:
        requests: the requests of the claim.
        mappings: the request that serves each container.
    """

    requests: tuple[device_objects.DeviceRequest, ...] = ()
    mappings: tuple[objects.ContainerExtendedResourceRequest, ...] = ()


def compute_requested_devices(
    spec: objects.PodSpec, class_names: Mapping[str, str]
) -> RequestedDevices:
    """Return the devices for resources that classes provide; `class_names` has their classes.

    Init containers that end use the devices of later containers, and need devices of their own for
    the rest only. The largest of these rests serves all of them, one after the other.
    """
    requests: list[device_objects.DeviceRequest] = []
    mappings: list[objects.ContainerExtendedResourceRequest] = []
    for resource, class_name in sorted(class_names.items()):
        of_resource = _ResourceRequests(spec, resource, class_name)
        requests += of_resource.requests
        mappings += of_resource.mappings
    return RequestedDevices(tuple(sorted(requests, key=lambda each: each.name)), tuple(mappings))


class _ResourceRequests:
    """The requests that containers make for one resource.

    Attributes:
        requests: one for each container that keeps running, and one for all that end.
        mappings: the containers that keep running come first.
    """

    def __init__(self, spec: objects.PodSpec, resource: str, class_name: str) -> None:
        self._resource = resource
        self._class_name = class_name
        containers = (*spec.init_containers, *spec.containers)
        ending = [
            i for i, each in enumerate(spec.init_containers) if each.restart_policy != "Always"
        ]
        of_lasting: dict[int, device_objects.DeviceRequest] = {}
        self.mappings: list[objects.ContainerExtendedResourceRequest] = []
        for i, container in enumerate(containers):
            if i not in ending:
                own = self._request(i, container, ())
                if own is not None:
                    of_lasting[i] = own
        rests: list[device_objects.DeviceRequest] = []
        first_of_ending = len(self.mappings)
        for i in ending:
            reusable = [request for k, request in of_lasting.items() if k >= i]
            own = self._request(i, containers[i], reusable)
            if own is not None:
                rests.append(own)
        largest = max(rests, key=_get_count, default=None)
        self.requests = [*([] if largest is None else [largest]), *of_lasting.values()]
        if largest is not None:
            self._serve_all_by(largest.name, {each.name for each in rests}, first_of_ending)

    def _request(
        self,
        i: int,
        container: objects.Container,
        reusable: Iterable[device_objects.DeviceRequest],
    ) -> device_objects.DeviceRequest | None:
        """Add the mappings of a container; return a request for the missing devices."""
        names = sorted(container.resources.requests)
        wanted = _parse_count(container.resources.requests.get(self._resource, 0))
        if not wanted:
            return None
        for each in reusable:
            self._map(container, each.name)
            wanted -= _get_count(each)
            if wanted <= 0:
                return None
        name = f"container-{i}-request-{names.index(self._resource)}"
        self._map(container, name)
        exactly = device_objects.ExactDeviceRequest(
            device_class_name=self._class_name, count=wanted
        )
        return device_objects.DeviceRequest(name=name, exactly=exactly)

    def _map(self, container: objects.Container, request_name: str) -> None:
        self.mappings.append(
            objects.ContainerExtendedResourceRequest(
                container_name=container.name,
                resource_name=self._resource,
                request_name=request_name,
            )
        )

    def _serve_all_by(self, name: str, names_of_rests: set[str], first: int) -> None:
        for i, mapping in enumerate(self.mappings[first:], first):
            if mapping.request_name in names_of_rests:
                self.mappings[i] = msgspec.structs.replace(mapping, request_name=name)


def _get_count(request: device_objects.DeviceRequest) -> int:
    return 0 if request.exactly is None else request.exactly.count


def _parse_count(amount: objects.Quantity) -> int:
    """Return a whole number; 0 for all others."""
    number = quantity.parse_quantity(str(amount))
    return int(number) if number == int(number) else 0
