"""The changed pods or bindings of a plan in groups with the same outcome and the same cause.

A plan of a large cluster can have thousands of changes: the page shows the first of each group, and
asks for more of them.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Report: TypeAlias = dict[str, Any]

NODE_LOST = "nodeLost"
"""The outcome of the group of all pods whose present node would newly reject them."""
_FIRST_ROWS = 20
_MORE_ROWS = 200
_MOST_ROUTES = 3
"""The most frequent routes of a group, which the page shows above its pods."""
_MOST_CAUSES = 20
"""The causes of an outcome that have a group of their own; the others share one."""
_SIDES = ("from", "to")
_NO_CAUSE: Report = {"kind": "unknown", "edits": []}
_OTHERS: Report = {"kind": "others", "edits": []}


@dataclasses.dataclass(frozen=True, slots=True)
class ChangeGroup:
    """Changes with the same outcome and cause, in the order of the plan.

    Attributes:
        cause: the kind and the edits of a cause, without the text about one pod.
    """

    outcome: str
    cause: Report
    changes: Sequence[Report]

    def describe(self) -> Report:
        """Return the group with its first changes for the page."""
        return {
            "outcome": self.outcome,
            "cause": self.cause,
            "count": len(self.changes),
            "rows": self.changes[:_FIRST_ROWS],
            **_describe_routes(self.changes),
        }

    def get_rows(self, after: int) -> Sequence[Report]:
        """Return the changes that follow the first `after` ones, at most 200."""
        return self.changes[after : after + _MORE_ROWS]


def _describe_routes(changes: Sequence[Report]) -> Report:
    """Return how many changes have the same decisions on both sides, the most frequent first.

    Each route has the first of its changes as its example.
    """
    found = _group_by(changes, lambda each: repr([_make_fate_key(each[side]) for side in _SIDES]))
    largest_first = sorted(found.values(), key=len, reverse=True)
    routes = [{"count": len(each), "example": each[0]} for each in largest_first[:_MOST_ROUTES]]
    return {"routes": routes, "routeCount": len(found)}


def _make_fate_key(fate: Report) -> object:
    """Return what a decision chose: a node or clusters, or the reason for none."""
    return fate.get("node") or fate.get("clusters") or fate.get("message")


def group_changes(changes: Sequence[Report]) -> list[ChangeGroup]:
    """Return all changes in groups, the largest cause of each outcome first."""
    groups = [
        group
        for outcome, found in _group_by(changes, lambda each: str(each["outcome"])).items()
        for group in _group_by_cause(outcome, found)
    ]
    lost = [each for each in changes if each.get("nodeLost")]
    return [*groups, ChangeGroup(NODE_LOST, _NO_CAUSE, lost)] if lost else groups


def _group_by_cause(outcome: str, changes: Sequence[Report]) -> list[ChangeGroup]:
    found = _group_by(changes, _make_cause_key)
    largest_first = sorted(found.values(), key=len, reverse=True)
    groups = [
        ChangeGroup(outcome, _describe_cause(each[0]), each)
        for each in largest_first[:_MOST_CAUSES]
    ]
    others = [change for each in largest_first[_MOST_CAUSES:] for change in each]
    return [*groups, ChangeGroup(outcome, _OTHERS, others)] if others else groups


def _group_by(
    changes: Sequence[Report], make_key: Callable[[Report], str]
) -> dict[str, list[Report]]:
    found: dict[str, list[Report]] = collections.defaultdict(list)
    for change in changes:
        found[make_key(change)].append(change)
    return found


def _make_cause_key(change: Report) -> str:
    cause = _describe_cause(change)
    return "\n".join([cause["kind"], *cause["edits"]])


def _describe_cause(change: Report) -> Report:
    cause = change["cause"]
    return _NO_CAUSE if cause is None else {"kind": cause["kind"], "edits": cause["edits"]}
