"""Shares of the machine's CPU time."""

from __future__ import annotations

import os
import subprocess
import sys

import msgspec
import pytest

from benchmarks.process import process_usage
from benchmarks.records import plot, report
from tests.benchmarks import runs

BEGIN = process_usage.Usage(
    scheduler=1.0, servers=2.0, own=0.5, machine=10.0, stolen=4.0, at_seconds=100.0
)


def later(
    seconds: float, *, ours: float = 0.0, others: float = 0.0, stolen: float = 0.0
) -> process_usage.Usage:
    """Return the usage some seconds after BEGIN."""
    return process_usage.Usage(
        scheduler=1.0 + ours,
        servers=2.0 + ours,
        own=0.5 + ours,
        machine=10.0 + 3 * ours + others,
        stolen=4.0 + stolen,
        at_seconds=100.0 + seconds,
    )


def test_shares_are_of_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cores have twenty seconds of CPU time in ten seconds."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    end = later(10.0, ours=3.0, others=5.0, stolen=1.0)
    assert end.others_share(BEGIN) == pytest.approx(0.25)
    assert end.stolen_share(BEGIN) == pytest.approx(0.05)


def test_shares_are_never_negative() -> None:
    """The ticks of the machine and of processes are not read at the same moment."""
    assert later(10.0, ours=1.0, others=-0.5).others_share(BEGIN) == 0.0


def test_no_time_has_no_shares() -> None:
    """A duration of zero is not a divisor."""
    end = later(0.0, others=1.0, stolen=1.0)
    assert (end.others_share(BEGIN), end.stolen_share(BEGIN)) == (0.0, 0.0)


def test_other_processes_are_counted() -> None:
    """Another process that computes uses a share of the machine."""
    begin = process_usage.Usage.now(os.getpid(), [])
    computes = "import time\nwhile time.process_time() < 0.5: pass"  # many ticks of 10 ms
    subprocess.run([sys.executable, "-c", computes], check=True)
    end = process_usage.Usage.now(os.getpid(), [])
    assert end.machine > begin.machine
    assert end.at_seconds > begin.at_seconds
    assert end.stolen >= begin.stolen
    assert 0.0 < end.others_share(begin) <= 1.1  # ticks of a busy machine come late


def test_stolen_time_is_shown_if_it_is_known() -> None:
    """Lines of older benchmarks do not contain it."""
    old = runs.run("policysched", 0, 5.0)
    new = msgspec.structs.replace(old, stolen_share=0.07)
    assert "other machines" not in plot.caption([old])
    caption = plot.caption([old, new])
    assert "used 25% of their time, other machines 7%." in caption.replace("\n", " ")
    assert report.text([new]).splitlines()[2].endswith("7%")
    assert report.text([old]).splitlines()[2].endswith("nan%")


def test_a_caption_fits() -> None:
    """Even with a long name of the processor, a caption has at most three lines."""
    measured = [
        msgspec.structs.replace(
            runs.run("policysched", repeat, 5.0),
            machine="64 cores of " + "A long name of a processor " * 4,
            stolen_share=0.07,
        )
        for repeat in range(3)
    ]
    caption = plot.caption(measured).splitlines()
    assert len(caption) <= 3
    assert max(map(len, caption)) <= 116
    assert "medians of 3 runs, bars from least to most" in " ".join(caption)
