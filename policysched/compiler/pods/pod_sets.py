"""The pods that affinity and spread rules count, as questions to the incremental counters.

Which pods are in a set may depend on another pod (same namespace, same workload, same value of a
label): on the incoming pod when it looks around, on the pod that carries a term when that term
repels a later pod.
"""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

from policysched.cluster.counters import pod_counts
from policysched.cluster.objects import selectors
from policysched.cluster.pods import pod_shape
from policysched.compiler.pods import pod_predicates, pod_values, scope
from policysched.lang.checked import checked_selector

LabelValues: TypeAlias = tuple[str | None, ...]


class PodSet:
    """A compiled set of pods; equal sets of a program are one object, so counters are shared.

    Attributes:
        is_symmetric: if a is in the set as b sees it, b carries the same term and is in the set as
            a sees it.
    """

    def __init__(
        self, written: checked_selector.PodSelection, policy_scope: scope.PolicyScope | None
    ) -> None:
        """Compile `written`; `policy_scope` is what `self` means, None for other kinds."""
        self._is_same_workload = written.kind == "sameWorkload"
        self._scope = policy_scope
        self._selects = None if written.selector is None else pod_predicates.lower(written.selector)
        self._in_namespaces = written.namespaces and pod_predicates.lower_namespaces(
            written.namespaces
        )
        self._match_keys = written.match_label_keys
        self._mismatch_keys = written.mismatch_label_keys
        self._compared = written.compared
        self.reads_namespace_labels = pod_predicates.reads_namespace_labels(written.namespaces) or (
            policy_scope is not None and policy_scope.reads_namespace_labels
        )
        has_own_selector = written.kind == "where" or written.namespaces is not None
        has_label_keys = bool(self._match_keys or self._mismatch_keys)
        self.is_symmetric = not has_own_selector and not has_label_keys
        # A set with compared labels has a selector of its own, so it is never symmetric.

    def anchor(self, shape: pod_shape.PodShape) -> Anchor:
        """Return what the set depends on of the pod that looks, or is looked at."""
        return Anchor(
            "" if self._in_namespaces else shape.namespace,
            shape.workload if self._is_same_workload else "",
            tuple(shape.labels.get(key) for key in self._match_keys),
            tuple(shape.labels.get(key) for key in self._mismatch_keys),
            tuple(shape.labels.get(each.key) for each in self._compared),
            tuple(
                tuple(pod_values.read_own_value(value, shape) for value in each.pod_values)
                for each in self._compared
            ),
        )

    def lacks_value(self, shape: pod_shape.PodShape) -> bool:
        """Return whether pods of `shape` lack a value with which the set compares labels."""
        return any(None in texts for texts in self.anchor(shape).texts)

    def may_include(
        self, shape: pod_shape.PodShape, namespaces: pod_counts.NamespaceLabels
    ) -> bool:
        """Return whether pods of `shape` are in the set as at least some pod could see it."""
        if self._in_namespaces and not self._in_namespaces(shape.namespace, namespaces):
            return False
        if self._scope is not None:
            return self._scope.selects(shape, namespaces)
        if self._is_same_workload:
            return shape.workload != ""
        return self._selects is None or self._selects(shape)

    def includes_namespace(self, name: str, namespaces: pod_counts.NamespaceLabels) -> bool:
        """Return whether pods of a namespace can be in the set."""
        if self._in_namespaces and not self._in_namespaces(name, namespaces):
            return False
        return self._scope is None or self._scope.includes_namespace(name, namespaces)

    def relates(self, seen: Anchor, seer: Anchor) -> bool:
        """Return whether a pod that may be in the set is in it as another pod sees it.

        Labels that the seeing pod lacks are ignored; for a mismatch the seen pod must have the
        label.
        """
        if seen.namespace != seer.namespace or seen.workload != seer.workload:
            return False
        return (
            all(
                theirs is None or own == theirs
                for own, theirs in zip(seen.matching, seer.matching, strict=True)
            )
            and all(
                theirs is None or own not in (None, theirs)
                for own, theirs in zip(seen.differing, seer.differing, strict=True)
            )
            and all(
                None not in texts and (own in each.words or own in texts) is not each.is_negated
                for each, own, texts in zip(self._compared, seen.compared, seer.texts, strict=True)
            )
        )

    def find_required_labels(self, seer: Anchor) -> selectors.Selector:
        """Return labels that every pod of the set has as a pod sees it that sees with `seer`."""
        if any(None in texts for texts in seer.texts):
            return selectors.NOTHING
        accepted = [
            (key, {value})
            for key, value in zip(self._match_keys, seer.matching, strict=True)
            if value is not None
        ]
        accepted += [
            (each.key, {*each.words, *filter(None, texts)})
            for each, texts in zip(self._compared, seer.texts, strict=True)
            if not each.is_negated
        ]
        return selectors.from_accepted_values(accepted)

    def includes(
        self,
        shape: pod_shape.PodShape,
        seer: pod_shape.PodShape,
        namespaces: pod_counts.NamespaceLabels,
    ) -> bool:
        """Return whether pods of `shape` are in the set as a pod of the shape `seer` sees it."""
        if not self.may_include(shape, namespaces):
            return False
        return self.relates(self.anchor(shape), self.anchor(seer))


@dataclasses.dataclass(frozen=True, slots=True)
class Anchor:
    """What a set of pods depends on of one pod.

    Attributes:
        namespace: "" where the set says itself which namespaces it is about.
        workload: "" unless the set is about the same workload.
        matching, differing: values of matchLabelKeys and mismatchLabelKeys, None where absent.
        compared: labels that are compared with the texts of another pod, None where absent.
        texts: for each of them, the texts with which this pod compares, None where missing.
    """

    namespace: str
    workload: str
    matching: LabelValues
    differing: LabelValues
    compared: LabelValues
    texts: tuple[LabelValues, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class PodsInSet:
    """A question to the counters: the pods of a set as an incoming pod sees it.

    Attributes:
        counts_terminating: affinity counts pods that are being deleted, spread does not.
    """

    pods: PodSet
    seer: Anchor
    counts_terminating: bool

    @property
    def selector(self) -> selectors.Selector:
        """The labels with values of the seeing pod that all pods of the set have."""
        return self.pods.find_required_labels(self.seer)

    @property
    def reads_namespace_labels(self) -> bool:
        """Whether the answer depends on labels of namespaces."""
        return self.pods.reads_namespace_labels

    def matches(self, shape: pod_shape.PodShape, namespaces: pod_counts.NamespaceLabels) -> bool:
        """Return whether pods of `shape` are counted."""
        if not self.pods.may_include(shape, namespaces):
            return False
        return self.pods.relates(self.pods.anchor(shape), self.seer)


@dataclasses.dataclass(frozen=True, slots=True)
class PodsRepelling:
    """A question to the counters: the placed pods whose term is about an incoming pod.

    Attributes:
        carriers: the pods on which the rule acts.
        pods: the set that the rule keeps away; the incoming pod may be in it.
        seen: the incoming pod.
    """

    carriers: scope.RuleScope
    pods: PodSet
    seen: Anchor
    counts_terminating = True
    selector = selectors.EVERYTHING

    @property
    def reads_namespace_labels(self) -> bool:
        """Whether the answer depends on labels of namespaces."""
        return self.carriers.reads_namespace_labels or self.pods.reads_namespace_labels

    def matches(self, shape: pod_shape.PodShape, namespaces: pod_counts.NamespaceLabels) -> bool:
        """Return whether pods of `shape` repel the incoming pod."""
        if not self.carriers.selects(shape, namespaces):
            return False
        return self.pods.relates(self.seen, self.pods.anchor(shape))


class PodSets:
    """Compiles sets of pods, equal ones to the same object."""

    def __init__(self) -> None:
        """Start with none."""
        self._known: dict[
            tuple[checked_selector.PodSelection, checked_selector.PolicyPodScope | None], PodSet
        ] = {}

    def compile(
        self,
        written: checked_selector.PodSelection,
        policy: checked_selector.PolicyPodScope,
        policy_scope: scope.PolicyScope,
    ) -> PodSet:
        """Return the compiled set of a rule of the policy that has this scope."""
        is_self = written.kind == "self"
        key = (written, policy if is_self else None)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = PodSet(written, policy_scope if is_self else None)
        return known
