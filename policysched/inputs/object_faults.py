"""Finds values in objects that the API server refuses but files can contain.

The scheduling code assumes that an API server has validated all objects, and does not check these
values again: a taint with an unknown effect would repel no pod, and a negative request would add
capacity.

Source: Kubernetes `pkg/apis/core/validation/validation.go`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from policysched import errors, quantity, spelling
from policysched.cluster.objects import objects, wire

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("Equal", "Exists", "Gt", "Lt")
_UNSATISFIABLE_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION_POLICIES = ("Honor", "Ignore")
_NOT_NEGATIVE = "write 0 or more"


@dataclasses.dataclass(frozen=True, slots=True)
class ObjectFault:
    """A field with a value that the API server refuses.

    Attributes:
        path: the path of the field in the object.
        problem: the problem with the value.
        help: the action to take.
    """

    path: str
    problem: str
    help: str


def require_no_faults(faults: Iterable[ObjectFault], place: str) -> None:
    """Refuse an object with a fault; `place` locates the object in messages.

    Raises:
        InputError: there is a fault; only the first is reported.
    """
    for fault in faults:
        raise errors.InputError(f"{place}: {fault.path}", fault.problem, help=fault.help)


def find_node_faults(node: objects.Node) -> Iterator[ObjectFault]:
    """Yield the faults of a node."""
    yield from find_taint_faults("spec.taints", node.spec.taints)
    yield from find_amount_faults("status.allocatable", node.status.allocatable)
    yield from find_amount_faults("status.capacity", node.status.capacity)


def find_pod_faults(pod: objects.Pod) -> Iterator[ObjectFault]:
    """Yield the faults of a pod."""
    spec = pod.spec
    yield from find_toleration_faults("spec.tolerations", spec.tolerations)
    for number, constraint in enumerate(spec.topology_spread_constraints):
        yield from _find_constraint_faults(f"spec.topologySpreadConstraints[{number}]", constraint)
    yield from _find_container_faults("spec.containers", spec.containers)
    yield from _find_container_faults("spec.initContainers", spec.init_containers)
    yield from find_amount_faults("spec.overhead", spec.overhead)
    if spec.resources is not None:
        yield from _find_resource_faults("spec.resources", spec.resources)


def find_taint_faults(path: str, taints: Iterable[objects.Taint]) -> Iterator[ObjectFault]:
    """Yield the faults of the taints at a path."""
    for number, taint in enumerate(taints):
        yield from _find_enum_faults(
            f"{path}[{number}].effect", taint.effect, TAINT_EFFECTS, "taint effect"
        )


def find_toleration_faults(
    path: str, tolerations: Iterable[objects.Toleration]
) -> Iterator[ObjectFault]:
    """Yield the faults of the tolerations at a path; the operator and the effect can be empty."""
    for number, each in enumerate(tolerations):
        if each.operator and each.operator not in _OPERATORS:
            place = f"{path}[{number}].operator"
            yield from _find_enum_faults(
                place, each.operator, _OPERATORS, "operator of a toleration"
            )
        if each.effect and each.effect not in TAINT_EFFECTS:
            place = f"{path}[{number}].effect"
            yield from _find_enum_faults(place, each.effect, TAINT_EFFECTS, "taint effect")


def find_amount_faults(path: str, amounts: wire.ResourceList) -> Iterator[ObjectFault]:
    """Yield a fault for each negative or invalid quantity of the resources at a path."""
    for resource, amount in amounts.items():
        problem, advice = _find_quantity_problem(amount)
        if problem:
            yield ObjectFault(f"{path}.{resource}", problem, advice)


def find_count_faults(path: str, count: int) -> Iterator[ObjectFault]:
    """Yield a fault if the count at a path is negative."""
    if count < 0:
        yield ObjectFault(path, f"`{count}` is negative", _NOT_NEGATIVE)


def _find_constraint_faults(
    path: str, found: objects.TopologySpreadConstraint
) -> Iterator[ObjectFault]:
    """Yield the faults of the topology spread constraint at a path."""
    if found.max_skew < 1:
        yield ObjectFault(f"{path}.maxSkew", f"`{found.max_skew}` is below 1", "write 1 or more")
    action = found.when_unsatisfiable
    yield from _find_enum_faults(
        f"{path}.whenUnsatisfiable", action, _UNSATISFIABLE_ACTIONS, "action"
    )
    policies = {
        "nodeAffinityPolicy": found.node_affinity_policy,
        "nodeTaintsPolicy": found.node_taints_policy,
    }
    for name, policy in policies.items():
        if policy is not None:
            yield from _find_enum_faults(f"{path}.{name}", policy, _INCLUSION_POLICIES, "policy")


def _find_container_faults(
    path: str, containers: Iterable[objects.Container]
) -> Iterator[ObjectFault]:
    for number, each in enumerate(containers):
        if _has_faulty_resources(each.resources):  # most containers need no path
            yield from _find_resource_faults(f"{path}[{number}].resources", each.resources)


def _has_faulty_resources(resources: objects.ResourceRequirements) -> bool:
    for amounts in (resources.requests, resources.limits):
        for amount in amounts.values():
            if _find_quantity_problem(amount)[0]:
                return True
    return False


def _find_resource_faults(
    path: str, resources: objects.ResourceRequirements
) -> Iterator[ObjectFault]:
    yield from find_amount_faults(f"{path}.requests", resources.requests)
    yield from find_amount_faults(f"{path}.limits", resources.limits)


def _find_enum_faults(
    path: str, word: str, known: tuple[str, ...], noun: str
) -> Iterator[ObjectFault]:
    """Yield a fault if a word is not one of the known values of its field."""
    if word not in known:
        advice = (
            spelling.suggest_names(word, known)
            or f"write {spelling.join_alternatives(f'`{each}`' for each in known)}"
        )
        yield ObjectFault(path, f"`{word}` is not a known {noun}", advice)


def _find_quantity_problem(amount: wire.Quantity) -> tuple[str, str]:
    """Return the problem with a quantity and the action to take, or empty texts."""
    text = str(amount)
    try:
        number = quantity.parse_quantity(text)
    except quantity.QuantityError as error:
        return str(error), ""
    is_negative = text.startswith("-") and number < 0
    return (f"`{amount}` is negative", _NOT_NEGATIVE) if is_negative else ("", "")
