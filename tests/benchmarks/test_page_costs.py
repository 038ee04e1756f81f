"""`python -m benchmarks page`: its figures and their table."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.page import figures


def test_a_figure_is_compared_with_its_goal() -> None:
    """A figure without a goal has no verdict, and one that was not measured has no line."""
    lines = list(figures.format_figures({"paint": 0.4, "map": 1.5, "key-p95": 16.4}))
    assert lines[2:] == [
        "| first contentful paint | ≤ 0.4 s | 0.4 s | met |",
        "| map shown |  | 1.5 s |  |",
        "| the same, p95 | ≤ 16 ms | 16.4 ms | missed |",
    ]


@pytest.mark.slow
@pytest.mark.proof
def test_every_figure_is_measured() -> None:
    """On a small cluster; the figures have no limit here."""
    words = ["page", "--nodes", "20", "--pods", "1", "--repeat", "1", "--seconds", "1"]
    command = [sys.executable, "-m", "benchmarks", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3 + len(figures.GOALS)
