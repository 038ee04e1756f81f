"""Typed expressions: the numbers and conditions of `reject` and `score`, resolved.

Each expression has a `unit` (None for conditions) and a `span`. Numbers are in the canonical scale
of `policysched.units`. A number can be missing: a metric without a valid sample, a label that is
not a number, a division by zero. The result of arithmetic with a missing operand is missing.
Comparisons, `and`, `or` and `not` use Kleene logic.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Literal, TypeAlias

from policysched import units
from policysched.lang import source
from policysched.lang.checked import checked_selector
from policysched.lang.words import vocabulary


@dataclasses.dataclass(frozen=True, slots=True)
class Const:
    """A number in canonical scale."""

    value: float
    unit: units.Unit
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class MetricWindow:
    """`over 10m max`: aggregates the samples of a period into one value.

    Attributes:
        seconds: length of the window, which ends at the newest sample of the node.
        function: avg, min, max or quantile.
        quantile: the quantile 0..1; used only if `function` is quantile.
    """

    seconds: float
    function: Literal["avg", "min", "max", "quantile"]
    quantile: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class MetricRef:
    """The metric's value for the node, in the scale of the query (cores are whole cores).

    No other expression is in the scale of the query, because the checker multiplies a `MetricRef`
    in cores by 1000. It also wraps a metric that has a fallback in a `ValueWithFallback`.

    Attributes:
        metric: `CheckedMetric.key`.
        window: aggregates several samples into the value; None to use the newest sample.
        grows: whether recently placed pods add to the value (`CheckedMetric.placed`).
    """

    metric: str
    unit: units.Unit
    span: source.Span = dataclasses.field(compare=False, repr=False)
    window: MetricWindow | None = None
    grows: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class NodeResource:
    """A resource of the node in canonical scale; 0 for a resource that the node does not have.

    Attributes:
        kind: `allocatable`; `requested` by the pods on the node, including assumed pods but not the
            incoming pod; `free`, which is allocatable - requested and can be negative.
        resource: `cpu`, `memory`, `pods`, `ephemeral-storage`, `hugepages-2Mi`, `nvidia.com/gpu`…
    """

    kind: Literal["free", "allocatable", "requested"]
    resource: str
    unit: units.Unit
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class PodRequests:
    """The incoming pod's effective request (init containers, overhead); 0 without a request."""

    resource: str
    unit: units.Unit
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class PodLimits:
    """The incoming pod's effective limit; missing if the pod has no limit."""

    resource: str
    unit: units.Unit
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class PodPriority:
    """The incoming pod's `spec.priority`; 0 if unset."""

    unit: units.Unit
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class ElapsedTime:
    """The whole seconds that have passed; the checker allows only comparisons with a constant.

    `elapsed_times` describes when such a comparison changes.

    Attributes:
        kind: `waiting` counts from the first attempt to schedule the incoming pod, `podAge` from
            the creation of this pod, and `nodeAge` from the creation of the node.
    """

    kind: vocabulary.ElapsedKind
    unit: units.Unit
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeLabelNumber:
    """A node label as a decimal number; missing if the label is absent or not a finite number.

    Attributes:
        of: `annotation` reads the annotation with this key instead.
    """

    key: str
    unit: units.Unit
    span: source.Span = dataclasses.field(compare=False, repr=False)
    of: Literal["label", "annotation"] = "label"


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceNumber:
    """A number about devices of the node, or about the devices that the incoming pod gets there.

    Attributes:
        kind: `devices` is the number of devices of a DeviceClass; 0 for a class that does not
            exist. `freeDevices` counts those that a claim could get, and `takenDevices` the free
            ones that a claim could no longer get beside the pod. `deviceAttribute` is the smallest
            whole number, and `deviceCapacity` the smallest quantity, that the devices for the pod
            have; missing if none has any.
        name: name of the class, of the attribute or of the capacity. A name of an attribute or
            capacity without a domain is in the domain of the driver.
    """

    kind: vocabulary.DeviceFunction
    name: str
    unit: units.Unit
    span: source.Span = dataclasses.field(compare=False, repr=False)

    @property
    def can_be_missing(self) -> bool:
        """Whether there are nodes or pods without the number."""
        return self.kind in vocabulary.DEVICE_VALUE_FUNCTIONS

    @property
    def reads_pod(self) -> bool:
        """Whether the number depends on the devices that the incoming pod gets."""
        return self.kind not in ("devices", "freeDevices")


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedPodCount:
    """The number of placed pods of a set on the node, or in its topology domain.

    The incoming pod and terminating pods do not count. Missing if the node does not have the label,
    or if the incoming pod lacks a value that the set compares.

    Attributes:
        pods: the set, as a topologySpread of the incoming pod has it.
        policy: the pods of the policy, if the set is `self`.
        topology_key: the label whose values are the domains; None to count on the node itself.
        text: canonical text, for messages.
    """

    pods: checked_selector.PodSelection
    policy: checked_selector.PolicyPodScope | None
    topology_key: str | None
    text: str = dataclasses.field(compare=False, repr=False)
    unit: units.Unit
    span: source.Span = dataclasses.field(compare=False, repr=False)

    @property
    def can_be_missing(self) -> bool:
        """Whether there are nodes or pods without the number."""
        return self.topology_key is not None or self.pods.can_lack_value


@dataclasses.dataclass(frozen=True, slots=True)
class ArithmeticOperation:
    """`left operator right`; the result of a division by zero is missing. `-x` becomes 0 - x."""

    operator: Literal["+", "-", "*", "/"]
    left: TypedExpr
    right: TypedExpr
    unit: units.Unit
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class NumberFunctionCall:
    """A call of a function with numbers as arguments.

    Attributes:
        function: `min` and `max` of two or more arguments; `abs`, `floor` and `ceil` of one; `mod`
            of two (the result has the sign of the divisor; missing if the divisor is 0). `floor`
            and `ceil` apply to the number as users write it: if the canonical scale differs, the
            checker has added a division and a multiplication around them.
    """

    function: Literal["min", "max", "abs", "floor", "ceil", "mod"]
    arguments: tuple[TypedExpr, ...]
    unit: units.Unit
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class ValueWithFallback:
    """`value else fallback`: the fallback replaces a missing value."""

    value: TypedExpr
    fallback: TypedExpr
    unit: units.Unit
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Compare:
    """A comparison `left comparator right` of two numbers in the same canonical scale."""

    comparator: checked_selector.Comparator
    left: TypedExpr
    right: TypedExpr
    span: source.Span = dataclasses.field(compare=False, repr=False)
    unit: None = None


@dataclasses.dataclass(frozen=True, slots=True)
class NodeMatch:
    """True if the node matches the selector; never missing."""

    selector: checked_selector.Selector
    span: source.Span = dataclasses.field(compare=False, repr=False)
    unit: None = None


@dataclasses.dataclass(frozen=True, slots=True)
class NodeLabelIsPodValue:
    """True if a label of the node has the pod's value; unknown if the pod has no such value.

    A node without the label does not match.

    Attributes:
        span: range of the whole requirement.
    """

    key: str
    value: checked_selector.IncomingPodValue
    span: source.Span = dataclasses.field(compare=False, repr=False)
    unit: None = None


@dataclasses.dataclass(frozen=True, slots=True)
class PodMatch:
    """True if the incoming pod matches the selector; never missing."""

    selector: checked_selector.Selector
    span: source.Span = dataclasses.field(compare=False, repr=False)
    unit: None = None


@dataclasses.dataclass(frozen=True, slots=True)
class And:
    """Kleene conjunction of two or more conditions."""

    operands: tuple[TypedExpr, ...]
    span: source.Span = dataclasses.field(compare=False, repr=False)
    unit: None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Or:
    """Kleene disjunction of two or more conditions."""

    operands: tuple[TypedExpr, ...]
    span: source.Span = dataclasses.field(compare=False, repr=False)
    unit: None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Not:
    """Kleene negation of a condition."""

    operand: TypedExpr
    span: source.Span = dataclasses.field(compare=False, repr=False)
    unit: None = None


TypedExpr: TypeAlias = (
    Const
    | MetricRef
    | NodeResource
    | PodRequests
    | PodLimits
    | PodPriority
    | ElapsedTime
    | NodeLabelNumber
    | DeviceNumber
    | PlacedPodCount
    | ArithmeticOperation
    | NumberFunctionCall
    | ValueWithFallback
    | Compare
    | NodeMatch
    | NodeLabelIsPodValue
    | PodMatch
    | And
    | Or
    | Not
)


def list_operands(expr: TypedExpr) -> tuple[TypedExpr, ...]:
    """Return the direct operands of an expression."""
    match expr:
        case ArithmeticOperation(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case ValueWithFallback(value=value, fallback=fallback):
            return (value, fallback)
        case (
            And(operands=operands) | Or(operands=operands) | NumberFunctionCall(arguments=operands)
        ):
            return operands
        case Not(operand=operand):
            return (operand,)
        case _:
            return ()


def walk_expressions(expr: TypedExpr) -> Iterator[TypedExpr]:
    """Yield the expression and all expressions below it, from left to right."""
    yield expr
    for child in list_operands(expr):
        yield from walk_expressions(child)


def list_read_metrics(expr: TypedExpr) -> tuple[str, ...]:
    """Return the keys of the metrics that an expression reads, sorted."""
    return tuple(
        sorted({each.metric for each in walk_expressions(expr) if isinstance(each, MetricRef)})
    )


def reads_pod(expr: TypedExpr) -> bool:
    """Return whether the value depends on the incoming pod."""
    return any(
        is_pod_field(each) or isinstance(each, PlacedPodCount) for each in walk_expressions(expr)
    )


def reads_devices(expr: TypedExpr) -> bool:
    """Return whether the value depends on devices."""
    return any(isinstance(each, DeviceNumber) for each in walk_expressions(expr))


def is_pod_field(expr: TypedExpr) -> bool:
    """Return whether an expression, apart from its operands, reads the incoming pod itself."""
    if isinstance(expr, ElapsedTime):
        return expr.kind != "nodeAge"
    if isinstance(expr, DeviceNumber):
        return expr.reads_pod
    return isinstance(expr, PodRequests | PodLimits | PodPriority | NodeLabelIsPodValue | PodMatch)


def compute_expression_depth(expr: TypedExpr) -> int:
    """Return the number of levels in the expression; 1 for a leaf."""
    return 1 + max((compute_expression_depth(child) for child in list_operands(expr)), default=0)


def reads_placed_pods(expr: TypedExpr) -> bool:
    """Return whether the value depends on placed pods (`free`, `requested`, `count`)."""
    return any(
        isinstance(each, PlacedPodCount)
        or (isinstance(each, NodeResource) and each.kind in ("free", "requested"))
        for each in walk_expressions(expr)
    )
