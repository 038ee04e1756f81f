"""Report the decisions that shadow policies would have changed: metrics, a page and events.

The events are about the ConfigMap of the policies, if there is one. Each is also logged.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from prometheus_client import core

from policysched import clock as clocks
from policysched.framework import shadow
from policysched.kube.events import event_series
from policysched.observability import event_recorders
from policysched.scheduler import scheduler as schedulers
from policysched.scheduler import shadow_decisions
from policysched.serving import http_server

_log = logging.getLogger("policysched")

PATH = "/debug/shadow"
REPORT_SECONDS = 600.0
"""Interval between reports of a policy that has new decisions."""
REASON = "ShadowPolicyReport"
_ACTION = "DecidingBeside"
_SHOWN_CHANGES = 20
_MAX_MESSAGE_CHARACTERS = 300

Tell = Callable[[str], None]


def attach_shadow_decisions(
    scheduler: schedulers.Scheduler,
    clock: clocks.Clock,
    current: Callable[[], shadow_decisions.Candidates],
) -> shadow_decisions.ShadowDecisions:
    """Attach shadow decisions to a scheduler, so that its cycles also run the shadow candidates."""
    decided = shadow_decisions.ShadowDecisions(
        current, scheduler.events.pods, clock, scheduler.queue.has_ready_pod
    )
    scheduler.decisions.listeners.append(decided.repeat_with_candidates)
    return decided


def record_report_event(
    recorder: event_recorders.ObjectEventRecorder, about: event_series.InvolvedObject, note: str
) -> None:
    """Record one line of the report as an event about `about`."""
    recorder.record_object_event(about, "Normal", REASON, _ACTION, note)


class ShadowPolicyReporter:
    """Reports the tallies of shadow policies."""

    def __init__(self, decided: shadow_decisions.ShadowDecisions, tell: Tell) -> None:
        """Report the tallies of `decided`; `tell` receives a line for each reported policy."""
        self._decided = decided
        self._tell = tell
        self._told: dict[tuple[str, str], tuple[datetime.datetime, int]] = {}

    async def run(self) -> NoReturn:
        """Report every REPORT_SECONDS, and once more when cancelled."""
        try:
            while True:
                await asyncio.sleep(REPORT_SECONDS)
                self.report_new_tallies()
        finally:
            self.report_new_tallies()

    def report_new_tallies(self) -> None:
        """Log and report each policy that has new decisions since its last report."""
        tallies = self._decided.tallies
        self._told = {key: told for key, told in self._told.items() if key in tallies}
        for (profile, policy), tally in tallies.items():
            known = (tally.since, tally.outcomes.total())
            if not tally.outcomes or self._told.get((profile, policy)) == known:
                continue
            self._told[profile, policy] = known
            line = format_summary(profile, policy, tally)
            _log.info("%s", line)
            self._tell(line)

    def collect_metrics(self) -> Iterator[core.Metric]:
        """Yield counters of shadow decisions, skipped decisions and the time spent."""
        self._decided.refresh_candidates()
        labels = ("profile", "policy")
        decisions = core.CounterMetricFamily(
            "policysched_shadow_decisions",
            "Decisions repeated with a shadow policy, by the change that it would have made.",
            labels=(*labels, "outcome"),
        )
        skipped = core.CounterMetricFamily(
            "policysched_shadow_decisions_skipped",
            "Decisions that were not repeated, because pods were waiting.",
            labels=labels,
        )
        seconds = core.CounterMetricFamily(
            "policysched_shadow_decision_seconds",
            "Duration of decisions with shadow policies.",
            labels=labels,
        )
        for key, tally in self._decided.tallies.items():
            for outcome in shadow.Outcome:
                decisions.add_metric((*key, outcome.value), tally.outcomes[outcome])
            skipped.add_metric(key, tally.skipped)
            seconds.add_metric(key, tally.seconds)
        yield from (decisions, skipped, seconds)

    def make_page(self) -> http_server.HttpPage:
        """Return the tallies of all policies; the schema is debug-shadow.schema.json."""
        self._decided.refresh_candidates()
        found = [_make_tally_document(*key, tally) for key, tally in self._decided.tallies.items()]
        return http_server.make_json_page(found)


def format_summary(profile: str, policy: str, tally: shadow_decisions.ShadowPolicyTally) -> str:
    """Return one line about a policy: the changes that it would have made, with an example."""
    counts = tally.outcomes
    head = (
        f"shadow policy {policy} of profile {profile}: {tally.changed:,} of {tally.decided:,} "
        f"decisions since {tally.since:%Y-%m-%d %H:%M} UTC would be different "
        f"({_compute_changed_share(tally):.1%})"
    )
    said = [head]
    for outcome, text in (
        (shadow.Outcome.OTHER_NODE, "on another node"),
        (shadow.Outcome.NEWLY_UNSCHEDULABLE, "pods would stay pending"),
        (shadow.Outcome.NEWLY_SCHEDULABLE, "would be placed that are not"),
        (shadow.Outcome.FAILED, "failed"),
    ):
        if counts[outcome]:
            said.append(f"{counts[outcome]:,} {text}")
    if tally.skipped:
        said.append(f"{tally.skipped:,} were not repeated for lack of time")
    if tally.changes:
        said.append(_format_example_change(tally.changes))
    return ", ".join(said)


def _format_example_change(changes: shadow_decisions.Changes) -> str:
    """Format the latest pod that would stay pending, or otherwise the latest change."""
    pending = shadow.Outcome.NEWLY_UNSCHEDULABLE
    found = next((c for c in reversed(changes) if c.verdict.outcome is pending), changes[-1])
    went = found.verdict.node_name or f"nowhere: {found.verdict.message[:_MAX_MESSAGE_CHARACTERS]}"
    return f"for example {found.pod} from {found.node_name or 'nowhere'} to {went}"


def _compute_changed_share(tally: shadow_decisions.ShadowPolicyTally) -> float:
    return tally.changed / tally.decided if tally.decided else 0.0


def _make_tally_document(
    profile: str, policy: str, tally: shadow_decisions.ShadowPolicyTally
) -> dict[str, Any]:
    """Return a tally as an item of schemas/debug-shadow.schema.json."""
    latest = list(reversed(tally.changes))[:_SHOWN_CHANGES]
    return {
        "profile": profile,
        "policy": policy,
        "since": tally.since.isoformat(),
        "decided": tally.decided,
        "changed": tally.changed,
        "changedShare": round(_compute_changed_share(tally), 4),
        "outcomes": {outcome.value: tally.outcomes[outcome] for outcome in shadow.Outcome},
        "skipped": tally.skipped,
        "seconds": round(tally.seconds, 6),
        "changes": [
            {
                "pod": change.pod,
                "decidedAt": change.decided_at.isoformat(),
                "node": change.node_name,
                "outcome": change.verdict.outcome.value,
                "shadowNode": change.verdict.node_name,
                "message": change.verdict.message,
            }
            for change in latest
        ],
    }
