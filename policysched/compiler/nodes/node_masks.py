"""Selectors on nodes, or on clusters as rows, lowered to masks over all of them at once."""

from __future__ import annotations

import dataclasses
from typing import Protocol, assert_never

import numpy as np

from policysched import int64, release_version
from policysched.cluster import snapshot
from policysched.cluster.columns import columns, interning, label_column
from policysched.cluster.objects import fields_as_labels, node_texts, objects, selectors
from policysched.compiler import value_tests
from policysched.lang.checked import checked_selector, comparisons
from policysched.lang.words import glob_patterns


class NodeMask(Protocol):
    """A compiled selector on nodes."""

    def mask(self, nodes: snapshot.NodeView) -> columns.NodeMask:
        """Return bool (n,): the nodes that match."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class LabelMask:
    """Nodes whose label satisfies a requirement."""

    requirement: label_column.ValueTest

    def mask(self, nodes: snapshot.NodeView) -> columns.NodeMask:
        """Return bool (n,): the nodes that match."""
        return nodes.matches(self.requirement)


@dataclasses.dataclass(frozen=True, slots=True)
class VersionTest:
    """Whether the kubelet version of a node compares as it should."""

    comparator: checked_selector.Comparator
    bound: release_version.VersionBound

    @property
    def key(self) -> str:
        """The key of the column."""
        return node_texts.KUBELET_VERSION

    @property
    def test(self) -> str:
        """The comparison, without the key."""
        return f"{self.comparator} {self.bound}"

    def matches_value(self, value: str | None) -> bool:
        """Return whether a version meets the comparison."""
        return comparisons.compare_version(value or "", self.comparator, self.bound)


@dataclasses.dataclass(frozen=True, slots=True)
class NameMask:
    """Nodes with one of some names."""

    names: tuple[str, ...]

    def mask(self, nodes: snapshot.NodeView) -> columns.NodeMask:
        """Return bool (n,): the nodes that match."""
        row_of = nodes.snapshot.nodes.row_of
        rows = [row_of[name] for name in self.names if name in row_of]
        return np.isin(nodes.row_numbers, rows)


class TaintMask:
    """Nodes with a taint of a pattern; decided once per distinct set of taints."""

    def __init__(self, pattern: checked_selector.TaintPattern) -> None:
        """Look for `pattern`."""
        self.pattern = pattern
        self._sets: interning.Interner[tuple[objects.Taint, ...]] | None = None
        self._table: columns.BoolArray = np.zeros(0, np.bool_)

    def mask(self, nodes: snapshot.NodeView) -> columns.NodeMask:
        """Return bool (n,): the nodes that match."""
        sets = nodes.snapshot.nodes.taint_sets
        if self._sets is not sets or len(self._table) < len(sets):
            decided = [self._matches(taints) for taints in sets.values]
            self._table = np.array(decided, np.bool_)
            self._sets = sets
        found: columns.NodeMask = self._table[nodes.taint_set_ids]
        return found

    def _matches(self, taints: tuple[objects.Taint, ...]) -> bool:
        return any(taint_matches(self.pattern, taint) for taint in taints)


@dataclasses.dataclass(frozen=True, slots=True)
class AllMasks:
    """Nodes that match every operand."""

    operands: tuple[NodeMask, ...]

    def mask(self, nodes: snapshot.NodeView) -> columns.NodeMask:
        """Return bool (n,): the nodes that match."""
        found = np.ones(len(nodes), np.bool_)
        for operand in self.operands:
            found &= operand.mask(nodes)
        return found


@dataclasses.dataclass(frozen=True, slots=True)
class AnyMask:
    """Nodes that match at least one operand."""

    operands: tuple[NodeMask, ...]

    def mask(self, nodes: snapshot.NodeView) -> columns.NodeMask:
        """Return bool (n,): the nodes that match."""
        found = np.zeros(len(nodes), np.bool_)
        for operand in self.operands:
            found |= operand.mask(nodes)
        return found


@dataclasses.dataclass(frozen=True, slots=True)
class NotMask:
    """Nodes that do not match the operand."""

    operand: NodeMask

    def mask(self, nodes: snapshot.NodeView) -> columns.NodeMask:
        """Return bool (n,): the nodes that match."""
        return ~self.operand.mask(nodes)


def lower(selector: checked_selector.Selector) -> NodeMask:
    """Return the masks of a selector on nodes.

    Raises:
        TypeError: a requirement that the checker does not allow on nodes.
    """
    match selector:
        case checked_selector.SelectorConjunction(operands=operands):
            return AllMasks(tuple(lower(operand) for operand in operands))
        case checked_selector.SelectorDisjunction(operands=operands):
            return AnyMask(tuple(lower(operand) for operand in operands))
        case checked_selector.SelectorNegation(operand=operand):
            return NotMask(lower(operand))
        case _:
            return _lower_requirement(selector)


def _lower_requirement(required: checked_selector.Requirement) -> NodeMask:
    match required:
        case checked_selector.LabelRequirement():
            return LabelMask(value_tests.make_value_test(required))
        case checked_selector.TaintRequirement(pattern=pattern):
            return TaintMask(pattern)
        case checked_selector.FieldRequirement():
            has_one = _field(required)
            return has_one if required.operator == "In" else NotMask(has_one)
        case checked_selector.AnnotationRequirement(key=key):
            of_annotation = dataclasses.replace(required, key=node_texts.make_annotation_key(key))
            return LabelMask(value_tests.make_value_test(of_annotation))
        case checked_selector.ConditionRequirement(condition=condition):
            operator = selectors.LabelOperator(required.operator)
            key = node_texts.make_condition_key(condition)
            return LabelMask(selectors.Requirement(key, operator, frozenset(required.values)))
        case checked_selector.VersionRequirement(comparator=comparator, bound=bound):
            return LabelMask(VersionTest(comparator, bound))
        case checked_selector.NumberRequirement():
            msg = f"{required.span}: a node has no {type(required).__name__}"
            raise TypeError(msg)
        case _:
            assert_never(required)


def _field(required: checked_selector.FieldRequirement) -> NodeMask:
    """Return the mask of rows of which the field has one of the values."""
    field, values = required.field, required.values
    match field:
        case "nodeName" | "clusterName":
            if any(map(glob_patterns.is_pattern, values)):
                return LabelMask(value_tests.PatternTest(node_texts.NODE_NAME, values))
            return NameMask(values)
        case "provider" | "region":
            key = fields_as_labels.make_field_label_key(field)
            return LabelMask(value_tests.PatternTest(key, values, is_field=True))
        case "zone":
            keys = [fields_as_labels.make_field_value_label_key(field, value) for value in values]
            has_key = [selectors.Requirement(k, selectors.LabelOperator.EXISTS) for k in keys]
            return AnyMask(tuple(LabelMask(each) for each in has_key))
        case _:
            msg = f"{required.span}: a node has no {field}"
            raise TypeError(msg)


def taint_matches(pattern: checked_selector.TaintPattern, taint: objects.Taint) -> bool:
    """Return whether a taint matches a pattern.

    Source of Gt and Lt: KEP-5471; false where the taint's value is no decimal int64.
    """
    if taint.key != pattern.key or taint.effect not in pattern.effects:
        return False
    match pattern.operator:
        case "Exists":
            return True
        case "Equal":
            return taint.value == pattern.value
        case "Gt" | "Lt":
            actual = int64.parse_int64(taint.value)
            wanted = int64.parse_int64(pattern.value)
            if actual is None or wanted is None:
                return False
            return actual > wanted if pattern.operator == "Gt" else actual < wanted
