"""What an attempt to schedule a pod comes to, as both schedulers report it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """Why a node does not take a pod; `plugin` is empty for a rejection by an extender."""

    code: str
    reasons: Sequence[str] = ()
    plugin: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PodOutcome:
    """What one attempt came to.

    Attributes:
        pod: namespace/name.
        node: the chosen node; of several that are equally good, the smallest name.
        feasible: the nodes that are left after Filter of the extenders, sorted.
        totals: the score of each feasible node, with that of the extenders; empty if there was
            nothing to choose from.
        statuses: if no node was feasible, the status of each node.
        plugins: the plugins whose events may help, sorted; `Extender` for extenders.
        reason: of the condition PodScheduled: Unschedulable or SchedulerError; empty if bound.
        message: of that condition.
        nominated: what was written to status.nominatedNodeName, "" for cleared; None if nothing.
        cleared: other pods that lost their nomination, sorted.
        victims: the pods that were evicted, sorted.
        is_bound: whether the pod was bound.
        binder: who bound it: `extender` or `api`.
    """

    pod: str
    node: str | None = None
    feasible: Sequence[str] = ()
    totals: Mapping[str, int] = dataclasses.field(default_factory=dict)
    statuses: Mapping[str, NodeStatus] = dataclasses.field(default_factory=dict)
    plugins: Sequence[str] = ()
    reason: str = ""
    message: str = ""
    nominated: str | None = None
    cleared: Sequence[str] = ()
    victims: Sequence[str] = ()
    is_bound: bool = False
    binder: str = ""

    @classmethod
    def from_oracle(cls, answer: Mapping[str, Any]) -> Self:
        """Return an attempt that the oracle reports."""
        statuses = {
            node: NodeStatus(
                code=each["code"],
                reasons=tuple(each.get("reasons") or ()),
                plugin=each.get("plugin", ""),
            )
            for node, each in (answer.get("statuses") or {}).items()
        }
        return cls(
            pod=answer["pod"],
            node=answer["node"],
            feasible=tuple(answer["feasible"]),
            totals=answer["totals"] or {},
            statuses=statuses,
            plugins=tuple(answer.get("plugins", ())),
            reason=answer.get("reason", ""),
            message=answer.get("message", ""),
            nominated=answer.get("nominated"),
            cleared=tuple(answer.get("cleared", ())),
            victims=tuple(answer.get("victims", ())),
            is_bound=answer["isBound"],
            binder=answer.get("binder", ""),
        )
