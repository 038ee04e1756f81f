"""Which nodes `nodeSelector` and node affinity select, for columns and for a single node.

Source: component-helpers `scheduling/corev1/nodeaffinity/nodeaffinity.go`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.objects import objects, selectors
from policysched.cluster.pods import node_terms, pod_shape

NAME_FIELD = "metadata.name"


def required_mask(shape: pod_shape.PodShape, nodes: snapshot.NodeView) -> columns.NodeMask:
    """Return bool (n,): the nodes that satisfy nodeSelector and required node affinity."""
    mask = nodes.matches_selector(shape.node_selector)
    if shape.required_node_terms is not None:
        mask &= any_term_mask(shape.required_node_terms, nodes)
    return mask


def any_term_mask(
    terms: Iterable[node_terms.NodeTerm], nodes: snapshot.NodeView
) -> columns.NodeMask:
    """Return bool (n,): the nodes that one of `terms` matches; no terms match no node."""
    mask = np.zeros(len(nodes), np.bool_)
    for term in terms:
        mask |= term_mask(term, nodes)
    return mask


def term_mask(term: node_terms.NodeTerm, nodes: snapshot.NodeView) -> columns.NodeMask:
    """Return bool (n,): the nodes that match all label and field requirements of a term."""
    mask = nodes.matches_selector(term.labels)
    for field in term.fields:
        mask &= _field_mask(field, nodes)
    return mask


def _field_mask(field: selectors.Requirement, nodes: snapshot.NodeView) -> columns.NodeMask:
    if field.key != NAME_FIELD or len(field.values) != 1:
        return np.full(len(nodes), matches_field(field, ""))
    has_name = nodes.has_name(next(iter(field.values)))
    match field.operator:
        case selectors.LabelOperator.IN:
            return has_name
        case selectors.LabelOperator.NOT_IN:
            return ~has_name
        case _:
            return np.zeros(len(nodes), np.bool_)


def required_matches(shape: pod_shape.PodShape, node: objects.Node) -> bool:
    """Return whether a node satisfies nodeSelector and required node affinity."""
    if not shape.node_selector.matches(node.metadata.labels):
        return False
    terms = shape.required_node_terms
    return terms is None or any_term_matches(terms, node)


def any_term_matches(terms: Iterable[node_terms.NodeTerm], node: objects.Node) -> bool:
    """Return whether one of `terms` matches a node."""
    return any(
        term.labels.matches(node.metadata.labels)
        and all(matches_field(f, node.name if f.key == NAME_FIELD else "") for f in term.fields)
        for term in terms
    )


def matches_field(field: selectors.Requirement, value: str) -> bool:
    """Return whether a field with this value ("" for unknown fields) satisfies a requirement.

    Only In and NotIn exist for fields, with exactly one value; anything else matches nothing.
    """
    if len(field.values) != 1:
        return False
    match field.operator:
        case selectors.LabelOperator.IN:
            return value in field.values
        case selectors.LabelOperator.NOT_IN:
            return value not in field.values
        case _:
            return False
