"""Collects the evidence of the plugins of a profile about nodes that they rejected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import asking, cycle_state, interface, status


class NodeEvidence:
    """The evidence behind the rejections of one pod."""

    def __init__(
        self,
        plugins: Iterable[interface.Plugin],
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        tolerations: tuple[objects.Toleration, ...],
    ) -> None:
        """Ask those of `plugins` that have evidence; a rule answers for its own rejections."""
        self._pod, self._snap = pod, snap
        self._tolerations = tolerations
        self._asked: defaultdict[object, list[Any]] = defaultdict(list)
        for plugin in plugins:
            if hasattr(plugin, "evidence_on"):
                self._asked[getattr(plugin, "rule_ref", None) or plugin.name].append(plugin)

    def on_node(self, answer: status.Status, row: int) -> tuple[str, ...]:
        """Return the evidence of each reason for a rejection, "" if there is none."""
        asked = self._asked.get(answer.rule or answer.plugin, ())
        node = self._snap.view_rows(np.array([row], np.intp))
        return tuple(self._about(reason, asked, node) for reason in answer.reasons)

    def _about(self, reason: str, asked: Iterable[Any], node: snapshot.NodeView) -> str:
        texts = (
            asking.ask(
                plugin,
                "evidence",
                plugin.evidence_on,
                cycle_state.CycleState(self._tolerations),
                self._pod,
                node,
                reason,
            )
            for plugin in asked
        )
        return "; ".join(dict.fromkeys(text for text in texts if text))
