"""Checked selectors: conditions on a pod, a node, a namespace, a cluster or a resource.

Label operators are the six of Kubernetes, params and lets are substituted, and numbers are in the
canonical scale of `policysched.units`.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import ClassVar, Literal, TypeAlias

from policysched import release_version
from policysched.lang import source
from policysched.lang.words import glob_patterns

LabelOperator: TypeAlias = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
Comparator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]
TaintEffect: TypeAlias = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
PodField: TypeAlias = Literal[
    "image",
    "owner(name)",
    "ownerKind",
    "priorityClassName",
    "qosClass",
    "serviceAccountName",
    "storageClass",
]
ClusterField: TypeAlias = Literal["clusterName", "provider", "region", "zone"]
ResourceField: TypeAlias = Literal["apiVersion", "kind", "resourceName"]


@dataclasses.dataclass(frozen=True, slots=True)
class LabelRequirement:
    """A requirement on one label of the selected object, with the semantics of Kubernetes.

    NotIn also matches an object without the label. Gt and Lt match only if the label's value is a
    decimal int64 (apimachinery pkg/labels/selector.go, Requirement.Matches).

    Attributes:
        values: sorted and without duplicates for In and NotIn; empty for Exists and DoesNotExist;
            one decimal int64 for Gt and Lt (the checker converts `>= 5` to Gt 4). Those with `*`
            are patterns.
    """

    key: str
    operator: LabelOperator
    values: tuple[str, ...]
    span: source.Span = dataclasses.field(compare=False, repr=False)

    @property
    def has_patterns(self) -> bool:
        """Whether some values match other texts than themselves."""
        return any(map(glob_patterns.is_pattern, self.values))

    @property
    def exact_values(self) -> tuple[str, ...]:
        """The values that are no patterns."""
        return tuple(itertools.filterfalse(glob_patterns.is_pattern, self.values))


@dataclasses.dataclass(frozen=True, slots=True)
class AnnotationRequirement:
    """A requirement on one annotation of a pod or node, with the semantics of labels.

    Annotations may contain `*`, so their values are no patterns.
    """

    key: str
    operator: LabelOperator
    values: tuple[str, ...]
    span: source.Span = dataclasses.field(compare=False, repr=False)
    has_patterns: ClassVar = False


@dataclasses.dataclass(frozen=True, slots=True)
class FieldRequirement:
    """A requirement on a field of the pod, the cluster or the resource, or on the node's name.

    Attributes:
        field: `image` has several values, one for each container (including init containers): In
            matches if any image is in the set, NotIn if no image is. Both the image as in the pod
            spec and its repository without tag and digest are compared. `storageClass` likewise has
            one value for each claim, "" for a claim without class. The values of `zone` are
            the zones of a cluster, or "" for a cluster without zones. Other fields have one value,
            "" if unset; `ownerKind` and `owner(name)` are kind and name of the controlling owner.
        operator: In or NotIn.
        values: sorted, without duplicates; those with `*` are patterns, except for `zone`. A field
            that is unset matches no pattern.
    """

    field: PodField | ClusterField | ResourceField | Literal["nodeName"]
    operator: Literal["In", "NotIn"]
    values: tuple[str, ...]
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class ConditionRequirement:
    """A requirement on the status of a condition of a node.

    As for labels, NotIn also matches a node without the condition.

    Attributes:
        condition: type of the condition.
        values: sorted statuses for In and NotIn; empty for Exists and DoesNotExist.
    """

    condition: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...]
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class VersionRequirement:
    """A comparison of a node's kubelet version with a version.

    A node that does not report a version matches only `!=`.
    """

    comparator: Comparator
    bound: release_version.VersionBound
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class NumberRequirement:
    """A comparison of the pod's priority, requests or limits with a constant.

    Attributes:
        resource: name of the resource whose effective request is compared (0 if not requested),
            `storage` for the sum of the requests of the pod's claims; None for the pod's priority.
        amount: `limits` compares the effective limit instead of the request; a pod without a limit
            does not match.
        value: in the canonical scale of the resource; the number itself for the priority.
    """

    resource: str | None
    comparator: Comparator
    value: float
    span: source.Span = dataclasses.field(compare=False, repr=False)
    amount: Literal["requests", "limits"] = "requests"


@dataclasses.dataclass(frozen=True, slots=True)
class TaintPattern:
    """A pattern of taints, for `tolerate` and `tainted`.

    A taint matches if its key is `key`, its effect is in `effects` and its value satisfies the
    operator. Equal requires the same value. Gt and Lt require a taint value that is a decimal int64
    greater or less than `value` (KEP-5471: the taint's value is on the left).

    Attributes:
        value: "" for Exists; a decimal int64 for Gt and Lt.
        effects: the matching effects; by default, NoSchedule and PreferNoSchedule for `tolerate`,
            and all three effects for `tainted`.
    """

    key: str
    operator: Literal["Exists", "Equal", "Gt", "Lt"]
    value: str
    effects: tuple[TaintEffect, ...]
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class TaintRequirement:
    """Matches if the node has a taint that matches the pattern."""

    pattern: TaintPattern
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorConjunction:
    """Matches if all operands match; without operands, it matches everything (`EVERYTHING`)."""

    operands: tuple[Selector, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorDisjunction:
    """Matches if at least one of two or more operands matches."""

    operands: tuple[Selector, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class SelectorNegation:
    """Matches if the operand does not match."""

    operand: Selector


Requirement: TypeAlias = (
    LabelRequirement
    | AnnotationRequirement
    | FieldRequirement
    | ConditionRequirement
    | VersionRequirement
    | NumberRequirement
    | TaintRequirement
)
Selector: TypeAlias = SelectorConjunction | SelectorDisjunction | SelectorNegation | Requirement
"""A selector on a pod, a node, a namespace, a cluster or a resource.

The kind of object determines which requirements can occur:

- pods: requirements on labels, annotations and numbers, and on fields of PodField
- nodes: all except NumberRequirement, with the field `nodeName`
- namespaces: LabelRequirement
- clusters: requirements on labels and taints, and on fields of ClusterField
- resources: the same as for pods, with fields of ResourceField
"""

EVERYTHING = SelectorConjunction(())


def walk_requirements(selector: Selector) -> Iterator[Requirement]:
    """Yield the requirements in a selector, in text order."""
    match selector:
        case SelectorConjunction(operands=operands) | SelectorDisjunction(operands=operands):
            for operand in operands:
                yield from walk_requirements(operand)
        case SelectorNegation(operand=operand):
            yield from walk_requirements(operand)
        case _:
            yield selector


@dataclasses.dataclass(frozen=True, slots=True)
class NamespaceSet:
    """A set of namespaces: `names` and the namespaces that `selector` matches.

    Attributes:
        names: sorted names and patterns of names.
        selector: evaluated against the current namespace labels; EVERYTHING for all namespaces,
            None without a selector.
    """

    names: tuple[str, ...]
    selector: Selector | None


@dataclasses.dataclass(frozen=True, slots=True)
class PolicyPodScope:
    """The pods to which a policy applies.

    Attributes:
        namespaces: None for all namespaces.
        where: selector that pods in these namespaces must match.
    """

    namespaces: NamespaceSet | None
    where: Selector


EVERY_POD = PolicyPodScope(None, EVERYTHING)


@dataclasses.dataclass(frozen=True, slots=True)
class IncomingPodValue:
    """A value of the incoming pod with which labels are compared: `pod(tenant)`.

    Attributes:
        kind: a label or annotation of the pod, a label of its namespace, the name of its
            namespace, or a field with one value. An unset field is a missing value.
        key: key of the label or annotation, otherwise "".
    """

    kind: Literal[
        "label",
        "annotation",
        "namespaceLabel",
        "namespace",
        "owner(name)",
        "ownerKind",
        "priorityClassName",
        "qosClass",
        "serviceAccountName",
    ]
    key: str = ""

    @property
    def can_be_missing(self) -> bool:
        """Whether there are pods without the value."""
        return self.kind not in ("namespace", "qosClass")

    @property
    def text(self) -> str:
        """The value as policies write it, without `pod()`."""
        match self.kind:
            case "label":
                return self.key
            case "annotation" | "namespaceLabel":
                return f"{self.kind}({self.key})"
            case _:
                return self.kind


@dataclasses.dataclass(frozen=True, slots=True)
class ComparedLabel:
    """A requirement that a label has one of some values, at least one of them of the incoming pod.

    Attributes:
        words: values as written, sorted.
        pod_values: values of the incoming pod. If it lacks one of them, the result is unknown.
        is_negated: whether the label must have none of the values, or be absent.
    """

    key: str
    words: tuple[str, ...]
    pod_values: tuple[IncomingPodValue, ...]
    is_negated: bool
    span: source.Span = dataclasses.field(compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class PodSelection:
    """A set of placed pods: those that a rule counts, or may evict by `preempt`.

    Attributes:
        kind: `self`: pods that the policy selects (its PolicyPodScope). `sameWorkload`: pods with
            the same controlling owner as the incoming pod; if the incoming pod has no owner, pods
            without an owner that have the same pod-template-hash label. `where`: pods that
            `selector` matches.
        selector: set if `kind` is `where`.
        namespaces: None for the namespace of the pod that has the term: the incoming pod, or an
            existing pod that repels it.
        match_label_keys: counted pods must have the same values of these labels as the incoming
            pod; a key that the incoming pod lacks is ignored (KEP-3633).
        mismatch_label_keys: counted pods must have these labels, with values that differ from
            those of the incoming pod; a key that the incoming pod lacks is ignored.
        compared: requirements that compare labels of counted pods with values of the incoming pod;
            no pod is counted for an incoming pod that lacks one of the values.
    """

    kind: Literal["self", "sameWorkload", "where"]
    selector: Selector | None
    namespaces: NamespaceSet | None
    match_label_keys: tuple[str, ...]
    mismatch_label_keys: tuple[str, ...]
    compared: tuple[ComparedLabel, ...] = ()

    @property
    def can_lack_value(self) -> bool:
        """Whether there are incoming pods without a value that the set compares."""
        return any(value.can_be_missing for each in self.compared for value in each.pod_values)
