"""Describe the chosen devices of a claim as its allocation.

Source: `k8s.io/dynamic-resource-allocation/structured`, the last part of Allocate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from policysched.cluster.devices import node_selection
from policysched.cluster.objects import device_objects, objects
from policysched.plugins.dynamic_resources.allocation.allocation_errors import AllocationError
from policysched.plugins.dynamic_resources.allocation.device_requests import (
    Alternative,
    PreparedClaim,
)
from policysched.plugins.dynamic_resources.allocation.device_search import ChosenDevice


def make_allocation(
    claim: PreparedClaim,
    chosen: Sequence[ChosenDevice],
    alternatives: Sequence[Alternative],
    node_name: str,
    make_share_id: Callable[[], str],
) -> device_objects.AllocationResult:
    """Return the allocation of a claim, whose requests got these devices and alternatives.

    Raises:
        AllocationError: a device has a node selector of several terms.
    """
    return device_objects.AllocationResult(
        devices=device_objects.DeviceAllocationResult(
            results=tuple(_make_result(each, make_share_id) for each in chosen),
            config=(
                *_list_class_configurations(alternatives),
                *_list_claim_configurations(claim.source, alternatives),
            ),
        ),
        node_selector=_make_node_selector(claim.source, chosen, node_name),
    )


def _make_result(
    chosen: ChosenDevice, make_share_id: Callable[[], str]
) -> device_objects.DeviceRequestAllocationResult:
    device = chosen.device.device
    is_share = device.allow_multiple_allocations
    return device_objects.DeviceRequestAllocationResult(
        request=chosen.alternative.name,
        driver=chosen.device.id.driver,
        pool=chosen.device.id.pool,
        device=chosen.device.id.device,
        admin_access=True if chosen.alternative.is_admin else None,
        tolerations=chosen.alternative.spec.tolerations,
        binding_conditions=device.binding_conditions,
        binding_failure_conditions=device.binding_failure_conditions,
        share_id=make_share_id() if is_share else None,
        consumed_capacity={name: each.text for name, each in chosen.needs.items()}
        if is_share
        else {},
    )


def _list_class_configurations(
    alternatives: Sequence[Alternative],
) -> Iterator[device_objects.DeviceAllocationConfiguration]:
    """Yield the configurations of each class once, with all requests of the class."""
    requests: dict[str, list[str]] = {}
    for each in alternatives:
        requests.setdefault(each.device_class.metadata.name, []).append(each.name)
    classes = {each.device_class.metadata.name: each.device_class for each in alternatives}
    for name, device_class in classes.items():
        for source in device_class.spec.config:
            yield device_objects.DeviceAllocationConfiguration(
                source=device_objects.FROM_CLASS,
                requests=tuple(requests[name]),
                opaque=source.opaque,
            )


def _list_claim_configurations(
    claim: device_objects.ResourceClaim, alternatives: Sequence[Alternative]
) -> Iterator[device_objects.DeviceAllocationConfiguration]:
    """Yield a configuration once if it is for all requests, else for each one that it names."""
    for source in claim.spec.devices.config:
        configuration = device_objects.DeviceAllocationConfiguration(
            source=device_objects.FROM_CLAIM, requests=source.requests, opaque=source.opaque
        )
        if not source.requests:
            yield configuration
        for each in alternatives:
            if each.request in source.requests or each.name in source.requests:
                yield configuration


def _make_node_selector(
    claim: device_objects.ResourceClaim, chosen: Sequence[ChosenDevice], node_name: str
) -> objects.NodeSelector | None:
    """Return the nodes that can use all devices; None if these are all nodes."""
    fields: list[objects.SelectorRequirement] = []
    expressions: list[objects.SelectorRequirement] = []
    for each in chosen:
        nodes = each.device.nodes
        if nodes.node_name is not None or each.device.device.binds_to_node:
            name = objects.SelectorRequirement(
                key=node_selection.NODE_NAME_FIELD, operator="In", values=(node_name,)
            )
            return _make_selector((name,), ())
        terms = () if nodes.node_selector is None else nodes.node_selector.node_selector_terms
        if len(terms) > 1:
            raise AllocationError(
                f"create NodeSelector for claim {claim.metadata.name}:"
                f" unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            )
        for term in terms:
            _add_new(fields, term.match_fields)
            _add_new(expressions, term.match_expressions)
    return _make_selector(fields, expressions) if fields or expressions else None


def _make_selector(
    fields: Sequence[objects.SelectorRequirement],
    expressions: Sequence[objects.SelectorRequirement],
) -> objects.NodeSelector:
    term = objects.NodeSelectorTerm(
        match_fields=tuple(fields), match_expressions=tuple(expressions)
    )
    return objects.NodeSelector(node_selector_terms=(term,))


def _add_new(
    known: list[objects.SelectorRequirement], requirements: Sequence[objects.SelectorRequirement]
) -> None:
    """Add the requirements that are not known; the order of values does not matter."""
    for each in requirements:
        if all(_sort_values(each) != _sort_values(other) for other in known):
            known.append(each)


def _sort_values(requirement: objects.SelectorRequirement) -> objects.SelectorRequirement:
    values = tuple(sorted(set(requirement.values)))
    return msgspec.structs.replace(requirement, values=values)
