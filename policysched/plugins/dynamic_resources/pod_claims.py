"""Find the ResourceClaims of a pod.

Sources: `framework/plugins/dynamicresources/dynamicresources.go` (foreachPodResourceClaim),
`k8s.io/dynamic-resource-allocation/resourceclaim`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policysched.cluster.devices import claims
from policysched.cluster.objects import device_objects, objects
from policysched.cluster.pods import pod_shape

NOT_CREATED: Final = "ResourceClaim not created yet"


class ClaimNotReadyError(Exception):
    """A claim of the pod is missing or cannot be used; the text is a reason of kube-scheduler."""


def list_pod_claims(
    pod: pod_shape.PodInfo, known: claims.ResourceClaims
) -> list[device_objects.ResourceClaim]:
    """Return the claims that `spec.resourceClaims` names, in its order.

    A claim that was found to be unnecessary is left out.

    Raises:
        ClaimNotReadyError: a claim is missing, is being deleted, or belongs to another pod.
    """
    return list(_iterate_pod_claims(pod, known))


def _iterate_pod_claims(
    pod: pod_shape.PodInfo, known: claims.ResourceClaims
) -> Iterator[device_objects.ResourceClaim]:
    namespace = pod.pod.metadata.namespace
    for use in pod.pod.spec.resource_claims:
        name = _find_claim_name(pod.pod, use)
        if name is None:
            continue
        claim = known.get(name, namespace)
        if claim is None:
            raise ClaimNotReadyError(f'could not find ResourceClaim "{namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimNotReadyError(f'resourceclaim "{name}" is being deleted')
        if use.resource_claim_name is None and not is_owned_by(claim, pod.pod):
            raise ClaimNotReadyError(
                f"ResourceClaim {claim.full_name} was not created for Pod {pod.key}"
                " (Pod is not owner)"
            )
        yield claim


def _find_claim_name(pod: objects.Pod, use: objects.PodResourceClaim) -> str | None:
    """Return the name of a claim; None if the pod does not need it."""
    if use.resource_claim_name is not None:
        return use.resource_claim_name
    if use.resource_claim_template_name is None:
        raise ClaimNotReadyError(
            f'pod "{pod.key}", spec.resourceClaim "{use.name}":'
            " none of the supported fields are set"
        )
    for each in pod.status.resource_claim_statuses:
        if each.name == use.name:
            return each.resource_claim_name
    raise ClaimNotReadyError(f'pod "{pod.key}": {NOT_CREATED}')


def describe_awaited_claims(pod: objects.Pod) -> str:
    """Return where the claims come from that do not exist yet."""
    known = {each.name for each in pod.status.resource_claim_statuses}
    templates = [
        str(use.resource_claim_template_name)
        for use in pod.spec.resource_claims
        if use.resource_claim_template_name is not None and use.name not in known
    ]
    return (
        "the resource claim controller of Kubernetes creates it from the template"
        f" {', '.join(templates)}, which policysched does not read"
    )


def is_owned_by(claim: device_objects.ResourceClaim, pod: objects.Pod) -> bool:
    """Return whether a pod is the controller of a claim."""
    owners = claim.metadata.owner_references
    return any(each.controller and each.uid == pod.metadata.uid for each in owners)


def is_reserved_for_no_other(claim: device_objects.ResourceClaim, pod: pod_shape.PodInfo) -> bool:
    """Return whether a claim is reserved for a pod only, or not at all."""
    return all(each.uid == pod.pod.metadata.uid for each in claim.status.reserved_for)


def is_reserved_for(claim: device_objects.ResourceClaim, pod: pod_shape.PodInfo) -> bool:
    """Return whether a claim is reserved for a pod."""
    return any(each.uid == pod.pod.metadata.uid for each in claim.status.reserved_for)
