"""Finds the smallest amount of one resource to free on a node so that the pod fits."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager

import numpy as np

from policysched import amounts
from policysched.explaining import suggested_edit, trials
from policysched.explaining.edits import node_edits
from policysched.explaining.facts import rejections
from policysched.explaining.numbers import amount_search
from policysched.lang.checked import checked_expr
from policysched.plugins import names

_MOST_SIZES = 3
"""The maximum number of different missing amounts to try, starting with the smallest."""


@dataclasses.dataclass(frozen=True, slots=True)
class _NodeResourceShortage:
    """The use and the shortage of one resource on one node.

    Attributes:
        node: the name of the node.
        used: the amount that placed pods request, in milli-CPU, bytes or counts; for `pods`, their
            number.
        missing: the amount by which the pod's request exceeds the free amount; 0 if the request
            fits.
    """

    node: str
    used: int
    missing: int


def find_resource_release_edits(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the node edits that free the smallest sufficient amount of each resource."""
    rules = known.find_rules_reading(checked_expr.NodeResource)
    nodes = known.find_nodes_rejected_only_by(
        names.NODE_RESOURCES_FIT, *(rule.head.name for rule in rules)
    )
    read = known.list_resources_read(checked_expr.NodeResource)
    for resource in dict.fromkeys((*tried.info.shape.requests.amounts, trials.PODS, *read)):
        rooms = _group_by_missing_amount(tried, nodes, resource)
        least = _find_smallest_release(tried, resource, rooms)
        if least is not None:
            yield from _make_release_edits(tried, resource, rooms, *least)


def _group_by_missing_amount(
    tried: trials.PodTrials, nodes: list[str], resource: str
) -> dict[int, list[_NodeResourceShortage]]:
    """Return the nodes that can free enough of the resource, keyed by the missing amount."""
    columns = tried.decider.cluster.cache.nodes
    rows = np.array([columns.row_of[name] for name in nodes], np.intp)
    if resource == trials.PODS:
        wanted, sizes, used = 1, columns.allowed_pods[rows], columns.pod_count[rows]
    else:
        wanted = tried.info.shape.requests.amounts.get(resource, 0)
        at = columns.get_resource_column_index(resource)
        sizes, used = columns.allocatable[rows, at], columns.requested[rows, at]
    found = defaultdict[int, list[_NodeResourceShortage]](list)
    for node, size, taken in zip(nodes, sizes.tolist(), used.tolist(), strict=True):
        missing = max(0, wanted - (size - taken))
        if max(1, missing) <= taken:
            found[missing].append(_NodeResourceShortage(node, taken, missing))
    return found


def _find_smallest_release(
    tried: trials.PodTrials, resource: str, rooms: dict[int, list[_NodeResourceShortage]]
) -> tuple[int, int] | None:
    """Return the smallest sufficient release as (missing amount, release); None if none helps."""
    best: tuple[int, int] | None = None
    for missing in sorted(rooms)[:_MOST_SIZES]:
        amount = _find_amount_to_free(
            tried, resource, rooms[missing][0], None if best is None else best[1]
        )
        if amount is not None:
            best = (missing, amount)
    return best


def _find_amount_to_free(
    tried: trials.PodTrials, resource: str, room: _NodeResourceShortage, less_than: int | None
) -> int | None:
    """Return the amount to free on a node; None if no amount below `less_than` is enough."""
    most = room.used if less_than is None else min(room.used, less_than - 1)

    def fits(amount: int) -> bool:
        if amount > most or tried.is_limit_reached:
            return False
        with tried.suppose_requests(room.node, resource, -amount):
            return room.node in tried.find_feasible_nodes()

    if room.missing > 0 and fits(room.missing):
        return room.missing
    step = amount_search.get_amount_search_step(resource, most)
    return amount_search.find_nearest_fitting_amount(fits, room.missing, [most], step)


def _make_release_edits(
    tried: trials.PodTrials,
    resource: str,
    rooms: dict[int, list[_NodeResourceShortage]],
    missing: int,
    amount: int,
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the edit that frees `amount` on one node; nothing if it makes the pod fit on none.

    The edit is tried on nodes with the given missing amount, one at a time.
    """

    def freed(name: str) -> AbstractContextManager[None]:
        return tried.suppose_requests(name, resource, -amount)

    alike = [room.node for room in rooms[missing] if room.used >= amount]
    text = amounts.format_quantity(resource, amount)
    what = f"{text} {resource}" if resource != trials.PODS else "a place for a pod"
    said = suggested_edit.SuggestedEdit(
        "node", "free", resource, None, text, f"free {what} on a node", suggested_edit.CHANGES_NODE
    )
    yield from node_edits.try_node_edit(tried, said, alike, freed)
