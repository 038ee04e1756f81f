"""Find the nodes on which a pod cannot use its allocated claims."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.devices import node_selection
from policysched.cluster.objects import device_objects
from policysched.plugins.dynamic_resources import binding_conditions
from policysched.plugins.kernels import node_selection as node_masks


class ClaimAvailability:
    """The allocated claims of a pod, and the nodes on which they can be used."""

    def __init__(
        self,
        claims: Sequence[device_objects.ResourceClaim],
        now_seconds: float,
        binding_seconds: float,
    ) -> None:
        """Use those of `claims` that are allocated.

        A claim is lost on all nodes if a device failed, or was not ready in `binding_seconds`.
        """
        self._selections: dict[int, node_selection.NodeSelection] = {}
        self._lost_everywhere: list[int] = []
        for i, claim in enumerate(claims):
            if claim.allocation is None:
                continue
            if binding_conditions.is_lost(claim, now_seconds, binding_seconds):
                self._lost_everywhere.append(i)
            elif claim.allocation.node_selector is not None:
                self._selections[i] = make_selection(claim.allocation)

    def find_lost(self, nodes: snapshot.NodeView) -> columns.NodeMask:
        """Return bool (n,): the nodes on which a claim cannot be used."""
        if self._lost_everywhere:
            return np.ones(len(nodes), np.bool_)
        lost = np.zeros(len(nodes), np.bool_)
        for selection in self._selections.values():
            lost |= ~node_masks.any_term_mask(selection.terms, nodes)
        return lost

    def list_lost_claims(self, nodes: snapshot.NodeView) -> list[int]:
        """Return the indices of the claims that cannot be used on one of the nodes, ascending."""
        if not len(nodes):
            return []
        elsewhere = [
            i
            for i, selection in self._selections.items()
            if not node_masks.any_term_mask(selection.terms, nodes).all()
        ]
        return sorted(self._lost_everywhere + elsewhere)


def find_selector_error(allocation: device_objects.AllocationResult) -> str:
    """Return the syntax error of the node selector of an allocation, or ""."""
    return make_selection(allocation).errors


def make_selection(allocation: device_objects.AllocationResult) -> node_selection.NodeSelection:
    """Return the nodes that an allocation permits."""
    return node_selection.make_node_selection(
        None, all_nodes=allocation.node_selector is None, node_selector=allocation.node_selector
    )
