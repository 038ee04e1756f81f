"""`run --dry-run`: beside another scheduler, whose pods are decided, compared, and left to it.

The process stands by for ever: it never leads, so that no part of it writes; and where one tried,
the client of the API server would not let the write begin. Rights to list and watch are enough.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any, NoReturn

from prometheus_client import core

from policysched import clock as clocks
from policysched.app import http_server, logs, wired
from policysched.kube import fence
from policysched.scheduler import dry_run

_log = logging.getLogger("policysched")

PATH = "/debug/dry-run"
LOOK_SECONDS = 10.0
"""How often pods that wait are decided."""
TELL_SECONDS = 60.0
"""How often the log has a summary, as long as there is news."""
_LINES = 10
"""Lines about single pods between two summaries."""
_SHOWN = 100


class NeverLeading:
    """The elector of a process that decides for nobody."""

    is_leading = False

    def overdue_seconds(self) -> float:
        """Nothing can be lost."""
        return 0.0

    async def acquire(self) -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    async def renew(self) -> None:
        """There is nothing to renew."""

    async def release(self) -> None:
        """Nothing was held."""


def closed_fence(clock: clocks.Clock) -> fence.Fence:
    """Return a fence that nobody opens."""
    return fence.Fence(clock, last_writes_seconds=0.0)


def add(joined: wired.Wired) -> None:
    """Compare, where that is asked for, and tell."""
    if not joined.options.dry_run:
        return
    scheduler = joined.scheduler
    kept = joined.config.decisions.kept
    compared = dry_run.DryRun(scheduler.cache, scheduler.framework, joined.clock, kept)
    scheduler.events.pods.before_placed = compared.bound
    report = DryRunReport(compared)
    joined.own_metrics.add(report.collect)
    joined.pages[PATH] = lambda _: report.page()
    joined.background.append(_run(joined, compared, report))


async def _run(joined: wired.Wired, compared: dry_run.DryRun, report: DryRunReport) -> NoReturn:
    """Compare from when everything is known on."""
    await joined.sync.wait(joined.profiles.in_use)
    compared.is_on = True
    names = ",".join(joined.profiles.current.by_name)
    _log.info("dry run: nothing is written %s", logs.fields(profiles=names))
    told_seconds = joined.clock.monotonic_seconds()
    try:
        while True:
            for _ in compared.look_at(each.info for each in joined.scheduler.queue.pods()):
                await asyncio.sleep(0)
            if joined.clock.monotonic_seconds() - told_seconds >= TELL_SECONDS:
                told_seconds = joined.clock.monotonic_seconds()
                report.tell()
            await asyncio.sleep(LOOK_SECONDS)
    finally:
        report.tell()


class DryRunReport:
    """What was compared, in forms for people and programs."""

    def __init__(self, compared: dry_run.DryRun) -> None:
        """Report of `compared`."""
        self._compared = compared
        self._told: str = ""
        self._last_told: dry_run.Comparison | None = None

    def tell(self) -> None:
        """Write a summary into the log, and the latest differences, if there is news."""
        line = self.summary()
        if line == self._told:
            return
        self._told = line
        for each in self._news():
            _log.info("dry run: %s", _line(each))
        _log.info("dry run: %s", line)

    def _news(self) -> list[dry_run.Comparison]:
        """Return the latest differences that were not told yet."""
        news: list[dry_run.Comparison] = []
        for each in reversed(self._compared.differences):
            if each is self._last_told or len(news) == _LINES:
                break
            news.append(each)
        if news:
            self._last_told = news[0]
        return news[::-1]

    def summary(self) -> str:
        """Return a line with everything that was counted."""
        placed = self._compared.placed
        total = placed.total()
        agreed = sum(n for (_, outcome), n in placed.items() if outcome in dry_run.AGREEMENT)
        counts = _by_outcome(placed)
        waiting = Counter(each.outcome for each in self._compared.waiting.values())
        share = f" ({agreed / total:.1%})" if total else ""
        parts = [f"agrees on {agreed:,} of {total:,} placed pods{share}"]
        parts += [f"{counts[each]:,} {each.value}" for each in dry_run.PLACED if counts[each]]
        parts += [
            f"{waiting[each]:,} {each.value}" for each in dry_run.WAITING[:2] if waiting[each]
        ]
        return ", ".join(parts)

    def collect(self) -> Iterator[core.Metric]:
        """Yield counters of placed pods and gauges of those that wait."""
        compared = self._compared
        pods = core.CounterMetricFamily(
            "policysched_dry_run_pods",
            "Pods that the other scheduler placed, by where this one would have.",
            labels=("profile", "outcome"),
        )
        for (profile, outcome), count in compared.placed.items():
            pods.add_metric((profile, outcome.value), count)
        pending = core.GaugeMetricFamily(
            "policysched_dry_run_pending_pods",
            "Pods that the other scheduler left pending, by what this one would do.",
            labels=("profile", "outcome"),
        )
        waiting = Counter((each.profile, each.outcome) for each in compared.waiting.values())
        for (profile, outcome), count in waiting.items():
            pending.add_metric((profile, outcome.value), count)
        seconds = core.CounterMetricFamily(
            "policysched_dry_run_decision_seconds", "Time that these decisions took."
        )
        seconds.add_metric((), compared.seconds)
        yield from (pods, pending, seconds)

    def page(self) -> http_server.Page:
        """Return what there is, in the form of schemas/debug-dry-run.schema.json."""
        compared = self._compared
        latest = list(reversed(compared.differences))[:_SHOWN]
        waiting = Counter(each.outcome.value for each in compared.waiting.values())
        found = {
            "summary": self.summary(),
            "placed": {o.value: n for o, n in _by_outcome(compared.placed).items()},
            "waiting": dict(waiting),
            "seconds": round(compared.seconds, 6),
            "differences": [_as_json(each) for each in latest],
        }
        return http_server.json_page(found)


def _by_outcome(placed: Counter[tuple[str, dry_run.Outcome]]) -> Counter[dry_run.Outcome]:
    found: Counter[dry_run.Outcome] = Counter()
    for (_, outcome), count in placed.items():
        found[outcome] += count
    return found


def _line(each: dry_run.Comparison) -> str:
    fields = {
        "pod": each.pod,
        "outcome": each.outcome.value,
        "theirs": each.their_node or "none",
        "ours": each.our_node or "none",
    }
    return f"{logs.fields(**fields)}: {each.why}" if each.why else logs.fields(**fields)


def _as_json(each: dry_run.Comparison) -> dict[str, Any]:
    return {
        "pod": each.pod,
        "profile": each.profile,
        "comparedAt": each.compared_at.isoformat(),
        "outcome": each.outcome.value,
        "theirNode": each.their_node,
        "ourNode": each.our_node,
        "why": each.why,
    }
