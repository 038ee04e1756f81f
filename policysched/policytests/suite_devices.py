"""Makes the devices of the nodes in a test file, and the claims of its running pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from policysched import spelling
from policysched.cluster.objects import device_objects, objects
from policysched.policytests import device_shorthand, shorthand
from policysched.policytests import suite as suites


def make_devices_of_nodes(suite: suites.PolicyTestSuite) -> Iterator[shorthand.Object]:
    """Yield the DeviceClasses and ResourceSlices of the nodes.

    Raises:
        SuiteError: an attribute or a capacity is invalid.
    """
    by_node = _resolve_devices(suite, "nodes")
    for name in sorted({name for devices in by_node.values() for name in devices}):
        yield device_shorthand.make_device_class(name)
    for node, devices in by_node.items():
        wrong = device_shorthand.find_wrong_value(devices)
        if wrong is not None:
            _refuse(suite, ("nodes", node, "devices", *wrong[0]), wrong[1])
        yield device_shorthand.make_slice(node, devices)


def make_claims_of_running_pods(suite: suites.PolicyTestSuite) -> Iterator[shorthand.Object]:
    """Yield the claims of pods on nodes of the test file.

    Raises:
        SuiteError: a node has too few devices for its pods.
    """
    running = device_shorthand.DevicesOfRunningPods(_resolve_devices(suite, "nodes"))
    pods = suite.get_file_field("pods", {})
    for name, devices in _resolve_devices(suite, "pods").items():
        fields = shorthand.resolve_inherited_fields(name, pods, "pod")
        if not fields.get("node"):
            continue
        namespace = fields.get("namespace", "default")
        try:
            yield running.make_claim(name, namespace, fields["node"], devices)
        except device_shorthand.TooFewDevicesError as error:
            _refuse(suite, ("pods", name, "devices", error.class_name), error.problem)


def _resolve_devices(suite: suites.PolicyTestSuite, field: str) -> dict[str, Mapping[str, Any]]:
    """Return the devices of each node or pod that has some, also inherited ones."""
    every = suite.get_file_field(field, {})
    resolved = {
        name: shorthand.resolve_inherited_fields(name, every, field.removesuffix("s"))
        for name in every
    }
    return {name: fields["devices"] for name, fields in resolved.items() if fields.get("devices")}


def _refuse(suite: suites.PolicyTestSuite, path: tuple[str, ...], problem: str) -> None:
    raise suites.SuiteError(suite.path, [(suite.find_line(*path), problem)])


def require_known_classes(
    fields: shorthand.Fields, devices: list[device_objects.DeviceObject]
) -> None:
    """Refuse a pod with devices of a class that does not exist.

    Raises:
        ShorthandError: there is no such class.
    """
    known = {each.metadata.name for each in devices if isinstance(each, device_objects.DeviceClass)}
    for name in fields.get("devices", {}):
        if name not in known:
            advice = spelling.suggest_names(name, known)
            problem = f"no node has devices of the class `{name}`{advice and f' ({advice})'}"
            raise shorthand.ShorthandError(("devices", name), problem)


def release_devices_of_pod(
    devices: list[device_objects.DeviceObject], pod: objects.Pod
) -> list[device_objects.DeviceObject]:
    """Return the objects as if a running pod, which a test decides as pending, had no devices.

    Of a claim in a cluster file, the allocation is removed if only the pod uses the claim.
    """
    uid = device_shorthand.make_claim_uid(pod.metadata.name, pod.metadata.namespace)
    others = (each for each in devices if each.metadata.uid != uid)
    return [_release(each) if _is_used_only_by(pod, each) else each for each in others]


def _is_used_only_by(pod: objects.Pod, item: device_objects.DeviceObject) -> bool:
    if not isinstance(item, device_objects.ResourceClaim) or not pod.metadata.uid:
        return False
    return {each.uid for each in item.status.reserved_for} == {pod.metadata.uid}


def _release(claim: device_objects.DeviceObject) -> device_objects.DeviceObject:
    return msgspec.structs.replace(claim, status=device_objects.ResourceClaimStatus())
