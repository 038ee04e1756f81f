"""The filters that reject nodes, and how many nodes each of them leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any


class FilterFunnel:
    """Counts the rejections of each filter over all nodes, or over all member clusters."""

    def __init__(self) -> None:
        """Start without rejections."""
        self._first: Counter[str] = Counter()
        self._in_all: Counter[str] = Counter()
        self._lines: dict[str, int | None] = {}

    def add_nodes(self, rejections: Sequence[tuple[str, int | None]], count: int = 1) -> None:
        """Add `count` nodes with equal rejections: filters and their lines, the first one first."""
        lines = dict(rejections)
        self._first[rejections[0][0]] += count
        for name in lines:
            self._in_all[name] += count
        self._lines |= lines

    def list_filters(self) -> list[str]:
        """Return the names of the filters that reject a node."""
        return list(self._in_all)

    def make_steps(self, names: Sequence[str], node_count: int) -> list[dict[str, Any]]:
        """Return the filters in the order of `names`, and what they leave of `node_count` nodes.

        `rejects` counts the nodes that a filter is the first to reject, `rejectsInAll` all nodes
        that it rejects.
        """
        left, steps = node_count, []
        for name in names:
            left -= self._first[name]
            steps.append(
                {
                    "by": name,
                    "line": self._lines[name],
                    "rejects": self._first[name],
                    "rejectsInAll": self._in_all[name],
                    "left": left,
                }
            )
        return steps
