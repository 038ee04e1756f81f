"""Count how often each rule rejects nodes, for /debug/rules.

The counters are the only part of the page's data that costs time in each attempt without a page. An
attempt without rejections costs one call.
"""

from __future__ import annotations

from collections import Counter

from policysched.scheduler import decisions


class RuleCounts:
    """Rejections of nodes since the version in use was loaded.

    Attributes:
        attempts, nodes: attempts in which a rule or a plugin rejected nodes, and these rejections;
            keyed by the profile, and `POLICY/RULE` or the name of the plugin.
    """

    def __init__(self) -> None:
        """Start at zero."""
        self.attempts: Counter[tuple[str, str]] = Counter()
        self.nodes: Counter[tuple[str, str]] = Counter()

    def count_attempt(self, decision: decisions.SchedulingDecision) -> None:
        """Count the rejections of an ended attempt."""
        for each in decision.rejections:
            key = decision.scheduler_name, each.answer.source_name
            self.attempts[key] += 1
            self.nodes[key] += each.node_count

    def reset(self) -> None:
        """Start at zero again, for another version of the policies."""
        self.attempts.clear()
        self.nodes.clear()
