"""Measurements as a table of ratios, and as JSON."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence

import orjson

from benchmarks import comparison, schedulers

_HEADER = (
    f"{'workload':<9}{'nodes':>6}{'pods':>6}  {'scheduler':<16}{'pods/s':>8}{'min-max':>12}"
    f"{'told/s':>8}{'CPU ms':>8}{'server':>8}{'MiB':>6}{'start s':>9}"
)
_LEGEND = """
pods/s   bindings a second, from the first to the last; median, smallest and largest of all repeats
told/s   the same until the last event was written
CPU ms   of the scheduler for each pod; server: of kube-apiserver and etcd
start s  from the start of the process to the first binding, which nothing else counts\
"""


def text(measurements: Sequence[comparison.Measurement]) -> str:
    """Return a table: one line a scheduler and case, medians over the repeats, then ratios."""
    return "\n".join([*_lines(measurements), _LEGEND])


def json(measurements: Sequence[comparison.Measurement]) -> bytes:
    """Return every measurement."""
    return orjson.dumps(
        [dataclasses.asdict(one) for one in measurements], option=orjson.OPT_INDENT_2
    )


def _lines(measurements: Sequence[comparison.Measurement]) -> Iterator[str]:
    yield _HEADER
    for case, of_case in itertools.groupby(measurements, lambda one: one.case):
        by_scheduler: dict[str, list[comparison.Measurement]] = {}
        for one in of_case:
            by_scheduler.setdefault(one.scheduler, []).append(one)
        for name, runs in by_scheduler.items():
            yield _scheduler_line(case, name, runs)
        yield from _ratio_lines(by_scheduler)


def _scheduler_line(
    case: comparison.Case, name: str, runs: Sequence[comparison.Measurement]
) -> str:
    speeds = [one.pods_per_second for one in runs]
    spread = f"{min(speeds):.0f}-{max(speeds):.0f}"
    return (
        f"{case.workload:<9}{case.nodes:>6}{case.pods:>6}  {name:<16}"
        f"{statistics.median(speeds):>8.0f}{spread:>12}"
        f"{_median(runs, _told_per_second):>8.0f}"
        f"{_median(runs, lambda one: 1000 * one.cpu_seconds / case.pods):>8.2f}"
        f"{_median(runs, lambda one: 1000 * one.server_cpu_seconds / case.pods):>8.2f}"
        f"{_median(runs, lambda one: one.peak_memory_mib):>6.0f}"
        f"{_median(runs, lambda one: one.start_seconds):>9.1f}"
    )


def _ratio_lines(by_scheduler: dict[str, list[comparison.Measurement]]) -> Iterator[str]:
    for what, value in (
        ("pods/s", lambda one: one.pods_per_second),
        ("told/s", _told_per_second),
        ("CPU", lambda one: one.cpu_seconds),
        ("memory", lambda one: one.peak_memory_mib),
    ):
        ratios = _ratios(by_scheduler, value)
        if ratios:
            median = statistics.median(ratios)
            yield (
                f"{'':23}policysched / kube-scheduler, {what}: {median:.2f}"
                f" ({min(ratios):.2f}-{max(ratios):.2f})"
            )


def _told_per_second(one: comparison.Measurement) -> float:
    return one.case.pods / (one.bind_seconds + one.events_behind_seconds)


def _median(
    runs: Sequence[comparison.Measurement], value: Callable[[comparison.Measurement], float]
) -> float:
    return statistics.median(value(one) for one in runs)


def _ratios(
    by_scheduler: dict[str, list[comparison.Measurement]],
    value: Callable[[comparison.Measurement], float],
) -> list[float]:
    """Return policysched's value over kube-scheduler's, one ratio a repeat."""
    ours = by_scheduler.get(schedulers.POLICYSCHED, [])
    theirs = by_scheduler.get(schedulers.KUBE_SCHEDULER, [])
    by_repeat = {one.repeat: value(one) for one in theirs}
    return [value(one) / by_repeat[one.repeat] for one in ours if one.repeat in by_repeat]
