"""The fields of pods that policies read besides labels, annotations and amounts."""

from __future__ import annotations

from collections.abc import Mapping

from policysched import quantity
from policysched.cluster.objects import fields_as_labels, objects
from policysched.cluster.pods import pod_shape
from policysched.lang.checked import checked_selector
from policysched.lang.words import glob_patterns

_QOS_RESOURCES = ("cpu", "memory")


def values(
    shape: pod_shape.PodShape,
    field: checked_selector.PodField | checked_selector.ResourceField,
) -> tuple[str, ...]:
    """Return the values of a field: exactly one, but for `image` and `storageClass`."""
    match field:
        case "apiVersion" | "kind" | "resourceName":
            return (shape.labels.get(fields_as_labels.make_field_label_key(field), ""),)
        case "image":
            containers = (*shape.spec.init_containers, *shape.spec.containers)
            return tuple(container.image for container in containers)
        case "ownerKind":
            return (shape.owner.kind if shape.owner else "",)
        case "owner(name)":
            return (shape.owner.name if shape.owner else "",)
        case "priorityClassName":
            return (shape.spec.priority_class_name,)
        case "qosClass":
            return (qos_class(shape.spec),)
        case "serviceAccountName":
            return (shape.spec.service_account_name,)
        case "storageClass":
            return tuple(dict.fromkeys(each.class_name for each in shape.storage))


def qos_class(spec: objects.PodSpec) -> str:
    """Return Guaranteed, Burstable or BestEffort.

    Source: `pkg/apis/core/v1/helper/qos/qos.go`, ComputePodQOS: only cpu and memory count, amounts
    of 0 do not, and Guaranteed asks every container for limits that equal its requests. Requests
    and limits of the pod as a whole stand for those of its containers.
    """
    containers = (*spec.init_containers, *spec.containers)
    asked = [c.resources for c in containers] if spec.resources is None else [spec.resources]
    requests, limits = _total([r.requests for r in asked]), _total([r.limits for r in asked])
    if not requests and not limits:
        return "BestEffort"
    all_limited = all(len(_amounts(r.limits)) == len(_QOS_RESOURCES) for r in asked)
    return "Guaranteed" if all_limited and requests == limits else "Burstable"


def _total(lists: list[objects.ResourceList]) -> dict[str, int]:
    total: dict[str, int] = {}
    for resources in lists:
        for name, amount in _amounts(resources).items():
            total[name] = total.get(name, 0) + amount
    return total


def _amounts(resources: Mapping[str, objects.Quantity]) -> dict[str, int]:
    amounts = {
        name: quantity.parse_milli_units(text)
        for name, text in resources.items()
        if name in _QOS_RESOURCES
    }
    return {name: amount for name, amount in amounts.items() if amount > 0}


def image_matches(pattern: str, image: str) -> bool:
    """Return whether `pattern` is the image as written, or its repository without tag and digest.

    `*` stands for any run of characters. Example: `*/team-a/*` matches `registry/team-a/web:1.2`.
    """
    several = (image, repository(image))
    return any(glob_patterns.matches_pattern(pattern, each) for each in several)


def repository(image: str) -> str:
    """Return an image without tag and digest.

    Example: `host:5000/web:1.2@sha256:…` → `host:5000/web`.
    """
    name = image.partition("@")[0]
    colon = name.rfind(":")
    return name[:colon] if colon > name.rfind("/") else name
