"""What /debug/rules counts."""

from __future__ import annotations

import pathlib

import msgspec

from policysched.framework import handles
from policysched.observability.live_page import lead_counts, rule_counts, rules_page
from policysched.profiles import policies
from tests import report_schemas
from tests.observability import busy_world

POLICY = """\
policy p {
  for pods
  nodeAffinity required disk = ssd as fast
  score LeastAllocated(cpu: 1) weight 5 as room
}
"""


def test_rejections_are_counted_by_profile_and_rule() -> None:
    """Attempts and nodes; another version starts at zero."""
    counts = rule_counts.RuleCounts()
    for decision in busy_world.play().scheduler.decisions:
        counts.count_attempt(decision)
    key = ("default-scheduler", "Room")
    assert counts.attempts[key] == counts.nodes[key] == 8
    counts.reset()
    assert not counts.attempts


def test_the_page_has_all_rules_with_their_places(tmp_path: pathlib.Path) -> None:
    """A rule that has rejected nothing counts 0."""
    path = tmp_path / "p.policy"
    path.write_text(POLICY)
    policy_set = policies.load_policy_set([str(path)], {})
    profiles = policies.require_profiles(policies.make_profiles(policy_set, handles.Handle()))
    counts = rule_counts.RuleCounts()
    (name,) = profiles.by_name
    counts.attempts[name, "p/fast"] = 2
    counts.nodes[name, "p/fast"] = 7
    leads = lead_counts.LeadCounts(busy_world.play().scheduler.decisions)
    leads.compared[name], leads.led[name, "p/room"] = 9, 4
    since = "2026-01-05T12:00:00+00:00"
    page = rules_page.make_rules_page("abc", since, profiles.by_name, counts, leads)
    found = msgspec.to_builtins(page)
    report_schemas.check_report(found, "page-rules")
    (profile,) = found["profiles"]
    rules = {rule["name"]: rule for rule in profile["rules"]}
    assert (rules["p/fast"]["line"], rules["p/fast"]["rejected"]) == (3, 7)
    assert (rules["p/room"]["weight"], rules["p/room"]["attempts"]) == (5, 0)
    assert (rules["p/room"]["led"], profile["compared"]) == (4, 9)
