"""Node selector terms, as the affinity of pods and the topology of volumes have them."""

from __future__ import annotations

import dataclasses

from policysched.cluster.objects import objects, selectors


@dataclasses.dataclass(frozen=True, slots=True)
class NodeTerm:
    """A node selector term: label requirements and node name requirements, all ANDed."""

    labels: selectors.Selector
    fields: tuple[selectors.Requirement, ...] = ()


def make_node_term(term: objects.NodeSelectorTerm) -> NodeTerm:
    """Convert a node selector term; an invalid requirement makes it match nothing."""
    labels = objects.LabelSelector(match_expressions=term.match_expressions)
    fields = [selectors.from_requirement(f) for f in term.match_fields]
    known = tuple(f for f in fields if f is not None)
    if len(known) < len(fields):
        return NodeTerm(selectors.NOTHING)
    return NodeTerm(selectors.from_label_selector(labels), known)


def is_empty_term(term: objects.NodeSelectorTerm) -> bool:
    """Return whether a term requires nothing; it then matches no node."""
    return not term.match_expressions and not term.match_fields
