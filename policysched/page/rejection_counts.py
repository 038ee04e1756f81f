"""Rejections that each filter makes, added up over the pods that fit on no node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any


class RejectionCounts:
    """Counts keyed by `POLICY/RULE` or the name of the plugin; bindings and clusters count alike.

    Attributes:
        first: the nodes that a filter is the first to reject.
        in_all: all nodes that it rejects.
        pods: the pods for which it rejects a node.
    """

    def __init__(self) -> None:
        """Start at zero."""
        self.first: Counter[str] = Counter()
        self.in_all: Counter[str] = Counter()
        self.pods: Counter[str] = Counter()

    def add_funnel(self, funnel: Iterable[dict[str, Any]]) -> None:
        """Add the rejections of one pod, in the form of `pod_verdicts.make_funnel`."""
        for step in funnel:
            self.first[step["by"]] += step["rejects"]
            self.in_all[step["by"]] += step["rejectsInAll"]
            self.pods[step["by"]] += 1

    def describe(self) -> dict[str, dict[str, int]]:
        """Return the counts in the form of the answers about pending pods."""
        return {
            "rejects": dict(self.first),
            "rejectsInAll": dict(self.in_all),
            "rejectedPods": dict(self.pods),
        }
