"""Figures of the page, their goals, and the table of both."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Final


@dataclasses.dataclass(frozen=True, slots=True)
class PageGoal:
    """What a figure is called, and the most that it may be.

    Attributes:
        unit: `ms`, `s`, `KB` (1,000 bytes), or `x` for a ratio.
        most: None if there is no goal.
    """

    title: str
    unit: str
    most: float | None = None


GOALS: Final[Mapping[str, PageGoal]] = {
    "shell": PageGoal("JavaScript of the first view, compressed", "KB", 15),
    "editor": PageGoal("JavaScript of the editor, compressed, loaded on demand", "KB", 130),
    "paint": PageGoal("first contentful paint", "s", 0.4),
    "slow-paint": PageGoal("the same with a CPU four times slower", "s", 1),
    "map": PageGoal("map shown", "s"),
    "slow-map": PageGoal("the same with a CPU four times slower", "s"),
    "draw": PageGoal("a press on the legend draws all tiles again, median", "ms", 4),
    "draw-p95": PageGoal("the same, p95", "ms"),
    "slow-draw": PageGoal("the same with a CPU four times slower, median", "ms", 16),
    "slow-draw-p95": PageGoal("the same, p95", "ms"),
    "move": PageGoal("a move of the pointer on the map, median", "ms", 4),
    "move-p95": PageGoal("the same, p95", "ms"),
    "slow-move": PageGoal("the same with a CPU four times slower, median", "ms", 16),
    "slow-move-p95": PageGoal("the same, p95", "ms"),
    "cluster": PageGoal("answer about the cluster, compressed", "KB", 50),
    "explain": PageGoal("answer about a pod, compressed", "KB", 30),
    "explain-time": PageGoal("decision about a pod, median of several pods", "s"),
    "study-time": PageGoal("search for edits and flips of a pod, median of several pods", "s", 5),
    "findings": PageGoal(
        "last key until a finding is shown, 250 ms of them a pause, median", "ms", 400
    ),
    "key": PageGoal("key until its letter is in the editor, median", "ms"),
    "key-p95": PageGoal("the same, p95", "ms", 16),
    "heap": PageGoal("memory of scripts after use, relative to the beginning", "x", 1.1),
}
"""Goals by the key of a figure, in the order of the table."""


def compute_quantile(values: Sequence[float], percent: int) -> float:
    """Return a percentile of at least two values."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def format_figures(figures: Mapping[str, float]) -> Iterable[str]:
    """Yield the lines of a table in Markdown; figures that were not measured have no line."""
    yield "| figure | goal | measured | |"
    yield "|---|---|---|---|"
    for key, goal in GOALS.items():
        if key in figures:
            limit = "" if goal.most is None else f"≤ {goal.most:g} {goal.unit}"
            verdict = "" if goal.most is None else judge(goal, figures[key])
            yield f"| {goal.title} | {limit} | {figures[key]:.3g} {goal.unit} | {verdict} |"


def judge(goal: PageGoal, figure: float) -> str:
    """Return `met` or `missed`."""
    return "met" if goal.most is None or figure <= goal.most else "missed"
