"""Outcomes as tests of the comparison need them."""

from __future__ import annotations

from tests.kubernetes_e2e import reports


def make_outcomes(**statuses: str) -> dict[str, reports.Outcome]:
    """Return outcomes of a minute each, by the name of the test."""
    return {
        name: reports.Outcome(status, 60.0, "" if status == "passed" else f"{name} is wrong")
        for name, status in statuses.items()
    }
