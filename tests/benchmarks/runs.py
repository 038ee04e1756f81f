"""Measurements for tests of results, tables and plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from benchmarks.process import machine
from benchmarks.records import measurements, results

if TYPE_CHECKING:
    import pathlib

CASE = measurements.Case("plain", nodes=10, pods=100)


def run(
    scheduler: str, repeat: int, seconds: float, case: measurements.Case = CASE
) -> measurements.Measurement:
    """Return a run with a duration, and with other figures in proportion to it."""
    return measurements.Measurement(
        case,
        scheduler,
        repeat,
        bound=case.pods,
        start_seconds=1.0,
        bind_seconds=seconds,
        pods_per_second=case.pods / seconds,
        events_behind_seconds=seconds,
        cpu_seconds=seconds / 2,
        server_cpu_seconds=seconds,
        total_cpu_seconds=seconds,
        peak_memory_mib=100.0,
        others_share=0.25,
        latency=measurements.Latency(seconds, 2 * seconds, 3 * seconds, 4 * seconds),
        quality=measurements.Quality(0.1, 0.5, 0.1, 0.5, 80.0 * case.pods, 0),
        machine=machine.describe(),
    )


def store(file: pathlib.Path, *runs: measurements.Measurement) -> pathlib.Path:
    """Add runs to a results file."""
    stored = results.Results(file)
    with stored.opened():
        for each in runs:
            stored.add(each)
    return file


def at(nodes: int) -> measurements.Case:
    """Return the same case at another size."""
    return msgspec.structs.replace(CASE, nodes=nodes)
