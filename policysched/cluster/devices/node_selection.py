"""Decide which nodes can use a device.

Source: `k8s.io/dynamic-resource-allocation/structured`, NodeMatches.
"""

from __future__ import annotations

import dataclasses

from policysched.cluster.objects import objects, selector_errors
from policysched.cluster.pods import node_terms

NODE_NAME_FIELD = "metadata.name"


class NodeSelectionError(Exception):
    """A node selector that Kubernetes cannot parse; the text has its errors."""


@dataclasses.dataclass(frozen=True, slots=True)
class NodeSelection:
    """The nodes of a slice or of a device: one, all, those of a selector, or none.

    Attributes:
        node_name: name of the only node, or None.
        all_nodes: whether all nodes are selected.
        node_selector: the selector of the nodes, or None.
        terms: its terms, parsed.
        errors: its syntax errors, or "".
    """

    node_name: str | None
    all_nodes: bool
    node_selector: objects.NodeSelector | None
    terms: tuple[node_terms.NodeTerm, ...]
    errors: str

    @property
    def is_set(self) -> bool:
        """Whether anything selects nodes."""
        return bool(self.node_name) or self.all_nodes or self.node_selector is not None

    def matches(self, node: objects.Node) -> bool:
        """Return whether the node is selected.

        Raises:
            NodeSelectionError: the selector is needed, but cannot be parsed.
        """
        if self.node_name:
            return node.name == self.node_name
        if self.all_nodes or self.node_selector is None:
            return self.all_nodes
        if self.errors:
            raise NodeSelectionError(self.errors)
        return any(_matches_term(term, node) for term in self.terms)


def make_node_selection(
    node_name: str | None, *, all_nodes: bool, node_selector: objects.NodeSelector | None
) -> NodeSelection:
    """Return the selection that the fields of a slice or of a device describe."""
    terms = () if node_selector is None else node_selector.node_selector_terms
    used = [term for term in terms if term.match_expressions or term.match_fields]
    errors = [
        error
        for i, term in enumerate(terms)
        for error in selector_errors.find_node_term_errors(term, f"nodeSelectorTerms[{i}]")
    ]
    return NodeSelection(
        node_name,
        all_nodes,
        node_selector,
        tuple(node_terms.make_node_term(term) for term in used),
        selector_errors.aggregate_errors(errors) if errors else "",
    )


def _matches_term(term: node_terms.NodeTerm, node: objects.Node) -> bool:
    return term.labels.matches(node.metadata.labels) and all(
        field.matches_value(node.name if field.key == NODE_NAME_FIELD else "")
        for field in term.fields
    )
