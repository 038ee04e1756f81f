"""PS804: rules whose time is over are warned of, if the checker is told the time."""

from __future__ import annotations

import datetime

import pytest

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics

TEXT = source.SourceText(
    "test.policy",
    """policy web {
  for pods
  tolerate a expires "2026-06-30"
  tolerate b expires "2026-06-30T12:00:00+02:00"
  tolerate c during "Mon-Fri 08:00-20:00"
}
profile one { policies web }
profile two { policies web }
""",
)


@pytest.mark.parametrize(
    "now, lines",
    [
        ("2026-06-30T09:59:59+00:00", []),
        ("2026-06-30T10:00:00+00:00", [4]),
        ("2026-06-30T23:59:59+00:00", [4]),
        ("2026-07-01T00:00:00+00:00", [3, 4]),
    ],
)
def test_a_rule_is_warned_of_from_the_moment_at_which_it_ceases_to_act(
    now: str, lines: list[int]
) -> None:
    """A date is over at the end of its day, UTC; each rule is told once for all profiles."""
    seconds = datetime.datetime.fromisoformat(now).timestamp()
    result = checker.check([TEXT], now=seconds)
    assert result.program is not None
    assert [each.span.line for each in result.diagnostics] == lines
    assert {each.code for each in result.diagnostics} <= {"PS804"}
    assert {each.severity for each in result.diagnostics} <= {diagnostics.Severity.WARNING}
    for each in result.program.policies[0].rules:
        active = each.head.active
        assert active is not None
        expired = active.expires_at is not None and not active.is_active(seconds)
        assert (each.head.span.line in lines) == expired


def test_without_a_time_nothing_has_expired() -> None:
    """The same text means the same to whoever does not go by the clock."""
    assert checker.check([TEXT]).diagnostics == ()
