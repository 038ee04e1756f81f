"""Count how often each rule gives the chosen node its largest lead, for /debug/rules.

The counts are made from the kept decisions when the page is asked for, so that a process without
readers spends nothing; decisions that were dropped before the first request are not among them.
"""

from __future__ import annotations

from collections import Counter

from policysched.observability.live_page import decision_rows
from policysched.scheduler import counters, decisions


class LeadCounts:
    """Leads under one version of the policies.

    Attributes:
        compared: decisions between several nodes, keyed by the profile.
        led: decisions in which a rule gave the chosen node its largest lead, keyed by the profile,
            and `POLICY/RULE` or the name of the plugin.
    """

    def __init__(self, log: decisions.DecisionLog) -> None:
        """Count the decisions of `log`."""
        self._log = log
        self._counted_to = 0
        self._hash = ""
        self.compared: Counter[str] = Counter()
        self.led: Counter[tuple[str, str]] = Counter()

    def update(self, version_hash: str) -> None:
        """Count the decisions since the last call; another version starts at zero."""
        if version_hash != self._hash:
            self._hash, self._counted_to = version_hash, 0
            self.compared.clear()
            self.led.clear()
        newest, ended = self._log.ended_count, self._log.ended
        for offset in range(min(newest - self._counted_to, len(ended)), 0, -1):
            self._count_decision(ended[-offset])
        self._counted_to = newest

    def _count_decision(self, decision: decisions.SchedulingDecision) -> None:
        is_placed = decision.result is counters.AttemptResult.SCHEDULED
        if not is_placed or decision.standing is None or decision.policy_hash != self._hash:
            return
        by, _ = decision_rows.find_main_cause(decision)
        self.compared[decision.scheduler_name] += 1
        if by:
            self.led[decision.scheduler_name, by] += 1
