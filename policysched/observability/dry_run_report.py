"""Report the results of `run --dry-run` in the log, as metrics and as a page."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any

from prometheus_client import core

from policysched.observability import logs
from policysched.scheduler import dry_run
from policysched.serving import http_server

_log = logging.getLogger("policysched")

PATH = "/debug/dry-run"
_LINES = 10
"""Maximum number of logged differences for each summary."""
_SHOWN = 100


class DryRunReporter:
    """Reports the comparisons of a dry run."""

    def __init__(self, compared: dry_run.DryRunComparer) -> None:
        """Report the comparisons of `compared`."""
        self._compared = compared
        self._told: str = ""
        self._last_told: dry_run.SchedulerComparison | None = None

    def log_new_differences(self) -> None:
        """Log the latest differences and a summary, if the summary has changed."""
        line = self.format_summary()
        if line == self._told:
            return
        self._told = line
        for each in self._list_new_differences():
            _log.info("dry run: %s", _format_difference(each))
        _log.info("dry run: %s", line)

    def _list_new_differences(self) -> list[dry_run.SchedulerComparison]:
        """Return the latest differences that have not been logged yet, oldest first."""
        news: list[dry_run.SchedulerComparison] = []
        for each in reversed(self._compared.differences):
            if each is self._last_told or len(news) == _LINES:
                break
            news.append(each)
        if news:
            self._last_told = news[0]
        return news[::-1]

    def format_summary(self) -> str:
        """Return all counts on one line."""
        placed = self._compared.placed
        total = placed.total()
        agreed = sum(n for (_, outcome), n in placed.items() if outcome in dry_run.AGREEMENT)
        counts = _count_by_outcome(placed)
        waiting = Counter(each.outcome for each in self._compared.waiting.values())
        share = f" ({agreed / total:.1%})" if total else ""
        parts = [f"agrees on {agreed:,} of {total:,} placed pods{share}"]
        parts += [f"{counts[each]:,} {each.value}" for each in dry_run.PLACED if counts[each]]
        parts += [
            f"{waiting[each]:,} {each.value}" for each in dry_run.WAITING[:2] if waiting[each]
        ]
        return ", ".join(parts)

    def collect_metrics(self) -> Iterator[core.Metric]:
        """Yield counters of placed pods, gauges of pending pods and the duration of decisions."""
        compared = self._compared
        pods = core.CounterMetricFamily(
            "policysched_dry_run_pods",
            "Pods that the other scheduler placed, by comparison with the placement of this one.",
            labels=("profile", "outcome"),
        )
        for (profile, outcome), count in compared.placed.items():
            pods.add_metric((profile, outcome.value), count)
        pending = core.GaugeMetricFamily(
            "policysched_dry_run_pending_pods",
            "Pods that the other scheduler left pending, by the decision of this one.",
            labels=("profile", "outcome"),
        )
        waiting = Counter((each.profile, each.outcome) for each in compared.waiting.values())
        for (profile, outcome), count in waiting.items():
            pending.add_metric((profile, outcome.value), count)
        seconds = core.CounterMetricFamily(
            "policysched_dry_run_decision_seconds", "Time spent on dry-run decisions."
        )
        seconds.add_metric((), compared.seconds)
        yield from (pods, pending, seconds)

    def make_page(self) -> http_server.HttpPage:
        """Return the counts and the latest differences; the schema is debug-dry-run.schema.json."""
        compared = self._compared
        latest = list(reversed(compared.differences))[:_SHOWN]
        waiting = Counter(each.outcome.value for each in compared.waiting.values())
        found = {
            "summary": self.format_summary(),
            "placed": {o.value: n for o, n in _count_by_outcome(compared.placed).items()},
            "waiting": dict(waiting),
            "seconds": round(compared.seconds, 6),
            "differences": [_make_difference_document(each) for each in latest],
        }
        return http_server.make_json_page(found)


def _count_by_outcome(
    placed: Counter[tuple[str, dry_run.ComparisonOutcome]],
) -> Counter[dry_run.ComparisonOutcome]:
    found: Counter[dry_run.ComparisonOutcome] = Counter()
    for (_, outcome), count in placed.items():
        found[outcome] += count
    return found


def _format_difference(each: dry_run.SchedulerComparison) -> str:
    """Format a difference as log fields, with the reason if it is known."""
    fields = {
        "pod": each.pod,
        "outcome": each.outcome.value,
        "theirs": each.their_node or "none",
        "ours": each.our_node or "none",
    }
    return (
        f"{logs.format_log_fields(**fields)}: {each.why}"
        if each.why
        else logs.format_log_fields(**fields)
    )


def _make_difference_document(each: dry_run.SchedulerComparison) -> dict[str, Any]:
    """Return a difference as an item of schemas/debug-dry-run.schema.json."""
    return {
        "pod": each.pod,
        "profile": each.profile,
        "comparedAt": each.compared_at.isoformat(),
        "outcome": each.outcome.value,
        "theirNode": each.their_node,
        "ourNode": each.our_node,
        "why": each.why,
    }
