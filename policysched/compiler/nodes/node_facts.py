"""Find the annotations, conditions and versions of nodes that a rule reads, and their changes.

Labels, taints and amounts change rarely, so each of their changes counts. Annotations and
conditions change often, and few rules read them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from policysched.cluster.objects import node_texts, objects
from policysched.framework import events
from policysched.lang.checked import checked_expr, checked_selector

_NO_ACTION = events.ActionType(0)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeFactsRead:
    """What rules read of nodes besides labels, taints, names and amounts.

    Attributes:
        keys: keys of `node_texts`.
        actions: the changes of nodes that can affect them.
    """

    keys: frozenset[str] = frozenset()
    actions: events.ActionType = _NO_ACTION

    def __or__(self, other: NodeFactsRead) -> NodeFactsRead:
        """Return what either reads."""
        return NodeFactsRead(self.keys | other.keys, self.actions | other.actions)

    def is_changed(self, before: objects.Node, after: objects.Node) -> bool:
        """Return whether a node has another value of something that is read."""
        readers = map(node_texts.make_node_text_reader, self.keys)
        return any(read(before) != read(after) for read in readers)


def find_facts_of_selector(selector: checked_selector.Selector) -> NodeFactsRead:
    """Return what a selector on nodes reads."""
    return _unite(map(_find_facts, checked_selector.walk_requirements(selector)))


def find_facts_of_condition(condition: checked_expr.TypedExpr) -> NodeFactsRead:
    """Return what a condition reads."""
    return _unite(_list_facts(condition))


def _list_facts(condition: checked_expr.TypedExpr) -> Iterator[NodeFactsRead]:
    for each in checked_expr.walk_expressions(condition):
        if isinstance(each, checked_expr.NodeMatch):
            yield find_facts_of_selector(each.selector)
        elif isinstance(each, checked_expr.NodeLabelNumber) and each.of == "annotation":
            yield _of_annotation(each.key)


def _find_facts(requirement: checked_selector.Requirement) -> NodeFactsRead:
    match requirement:
        case checked_selector.AnnotationRequirement(key=key):
            return _of_annotation(key)
        case checked_selector.ConditionRequirement(condition=condition):
            key = node_texts.make_condition_key(condition)
            return NodeFactsRead(frozenset({key}), events.ActionType.UPDATE_NODE_CONDITION)
        case checked_selector.VersionRequirement():
            return NodeFactsRead(
                frozenset({node_texts.KUBELET_VERSION}), events.ActionType.UPDATE_OTHER
            )
        case _:
            return NodeFactsRead()


def _of_annotation(key: str) -> NodeFactsRead:
    text = node_texts.make_annotation_key(key)
    return NodeFactsRead(frozenset({text}), events.ActionType.UPDATE_NODE_ANNOTATION)


def _unite(found: Iterable[NodeFactsRead]) -> NodeFactsRead:
    united = NodeFactsRead()
    for each in found:
        united |= each
    return united


def have_equal_usual_facts(before: objects.Node, after: objects.Node) -> bool:
    """Return whether a node kept its labels, taints and amounts."""
    return (
        before.metadata.labels == after.metadata.labels
        and before.spec == after.spec
        and before.status.allocatable == after.status.allocatable
    )
