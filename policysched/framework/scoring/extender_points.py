"""Add the points of HTTP extenders to those of plugins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policysched import int64
from policysched.framework import extender_answers
from policysched.framework.scoring import score_table

_MAX_POINTS = int64.MAX // score_table.HUNDREDTHS // 2
"""Limit of the points of a node, so that its total stays within 64 bits."""


def add_points(
    answers: extender_answers.ExtenderAnswers,
    scores: score_table.ScoreTable,
    names: Sequence[str],
) -> None:
    """Add the points in `answers` to the totals; `names` are those of all rows."""
    if not answers.points:
        return
    points = [answers.points.get(names[row], 0) for row in scores.rows.tolist()]
    limited = np.clip(np.array(points, np.int64), -_MAX_POINTS, _MAX_POINTS)
    weighted = limited * score_table.HUNDREDTHS
    scores.totals = scores.totals + weighted
    scores.parts = [*scores.parts, score_table.Part((extender_answers.EXTENDER,), weighted)]
