"""When rules expire is told as a metric."""

from __future__ import annotations

import datetime

from policysched.lang import source
from policysched.observability import exporter
from policysched.profiles import policies
from policysched.reload import rule_expiry

TEXT = """
policy web {
  for pods
  tolerate a expires "2026-06-30T12:00:00Z" as grant
  reject when free(cpu) < 1 as room
}
policy next { mode shadow for pods tolerate b expires "2026-06-30" as later }
profile one { policies web, next }
profile two { policies web }
"""


def test_each_rule_that_expires_has_its_time() -> None:
    """By profile, for shadow policies too; rules without a date have no series."""
    made = policies.make_policy_set_from_texts([source.SourceText("test.policy", TEXT)], {})
    (family,) = rule_expiry.collect_rule_expiry_metrics(lambda: made)
    found = {(s.labels["profile"], s.labels["rule"]): s.value for s in family.samples}
    noon = datetime.datetime(2026, 6, 30, 12, tzinfo=datetime.UTC).timestamp()
    midnight = datetime.datetime(2026, 7, 1, tzinfo=datetime.UTC).timestamp()
    assert found == {
        ("one", "web/grant"): noon,
        ("one", "next/later"): midnight,
        ("two", "web/grant"): noon,
    }


def test_without_policies_there_is_nothing() -> None:
    """An empty family is on the page all the same."""
    own = exporter.MetricsExporter()
    own.add_collector(
        lambda: rule_expiry.collect_rule_expiry_metrics(lambda: policies.load_policy_set((), {}))
    )
    assert b"policysched_rule_expires_timestamp_seconds" in own.make_page().body
