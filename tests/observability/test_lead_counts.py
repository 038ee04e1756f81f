"""How often rules decide between nodes, for /debug/rules."""

from __future__ import annotations

import msgspec
import numpy as np

from policysched.framework.scoring import standings
from policysched.observability.live_page import lead_counts
from policysched.scheduler import counters, decisions
from tests.observability import busy_world

PROFILE = "default-scheduler"
RULES = ("web/low-cpu", "web/room")


def _end_decision(
    log: decisions.DecisionLog, leads: tuple[int, int], policy_hash: str = "900d"
) -> None:
    """Let an attempt end in which two rules have these leads, in hundredths."""
    given = np.array([[each, 0] for each in leads], np.int64)
    standing = standings.Standing(("n1", "n2"), (sum(leads), 0), ((RULES, given),))
    decision = msgspec.structs.replace(next(iter(log)), standing=standing, policy_hash=policy_hash)
    log.end_decision(decision, counters.AttemptResult.SCHEDULED)


def test_the_largest_lead_counts() -> None:
    """Of decisions between several nodes under the version in use, each once."""
    log = busy_world.play().scheduler.decisions
    counts = lead_counts.LeadCounts(log)
    for leads in ((500, 100), (100, 500), (600, -100), (0, 0)):
        _end_decision(log, leads)
    _end_decision(log, (500, 100), policy_hash="older")
    counts.update("900d")
    counts.update("900d")
    _end_decision(log, (300, 100))
    counts.update("900d")
    assert counts.compared == {PROFILE: 5}
    assert counts.led == {(PROFILE, RULES[0]): 3, (PROFILE, RULES[1]): 1}
    counts.update("beef")
    assert (dict(counts.compared), dict(counts.led)) == ({}, {})
