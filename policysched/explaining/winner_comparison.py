"""Compares the points of the winner and the runner-up, rule by rule."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from policysched import units
from policysched.compiler.rules import score
from policysched.explaining import trials
from policysched.framework.scoring import score_table


def compare_winner_and_runner_up(
    tried: trials.PodTrials, scores: score_table.ScoreTable
) -> list[dict[str, Any]]:
    """Return the winner and the runner-up in the form of schemas/explain.schema.json."""
    found = [
        _render_node_points(tried, scores, i) for i in _find_winner_and_runner_up(tried, scores)
    ]
    _add_rule_values(tried, found)
    return found


def _find_winner_and_runner_up(
    tried: trials.PodTrials, scores: score_table.ScoreTable
) -> list[int]:
    """Return the table indices of the winner and of the runner-up, if any.

    The runner-up is the best node with fewer points than the winner. Among nodes with equal points,
    the first node in name order is chosen.
    """
    names, totals = tried.take_snapshot().nodes.names, scores.totals
    found = []
    for among in (totals == totals.max(), totals < totals.max()):
        if among.any():
            equal = np.flatnonzero(among & (totals == totals[among].max())).tolist()
            found.append(min(equal, key=lambda i: names[int(scores.rows[i])]))
    return found


def _render_node_points(
    tried: trials.PodTrials, scores: score_table.ScoreTable, i: int
) -> dict[str, Any]:
    """Return the total and the points per rule at index `i` of the score table."""
    names, weights = tried.take_snapshot().nodes.names, tried.framework.profile.weights
    return {
        "node": names[int(scores.rows[i])],
        "total": score_table.points(int(scores.totals[i])),
        "rules": [
            {
                "rule": name,
                "raw": _get_raw_score(detail, i),
                "normalised": _convert_to_points(detail, int(detail.final[i])),
                "weight": weights[name],
                "points": score_table.points(int(scores.by_plugin[name][i])),
            }
            for name, detail in scores.details.items()
        ],
    }


def _get_raw_score(detail: score_table.Detail, i: int) -> int | float | None:
    """Return the raw score; the points if the plugin does not normalise, and None for NaN."""
    if detail.raw is detail.final:
        return _convert_to_points(detail, int(detail.final[i]))
    value = detail.raw[i].item()
    if isinstance(value, int):
        return value
    return None if math.isnan(value) else float(value)


def _convert_to_points(detail: score_table.Detail, final: int) -> int | float:
    return score_table.points(final * (score_table.HUNDREDTHS // detail.units_per_point))


def _add_rule_values(tried: trials.PodTrials, found: list[dict[str, Any]]) -> None:
    """Set the raw numbers and their units in the entries of rules that score numbers."""
    snap = tried.take_snapshot()
    rows = np.array([snap.nodes.row_of[each["node"]] for each in found], np.intp)
    nodes = snap.view_rows(rows)
    state = tried.framework.make_state(tried.info, snap)
    for plugin in tried.framework.profile.plugins:
        if not isinstance(plugin, score.NumberScore) or plugin.unit is None:
            continue
        told = [r for each in found for r in each["rules"] if r["rule"] == plugin.score_name]
        if not told:
            continue
        values = plugin.compute_numbers(state, tried.info.shape, nodes)
        scale = units.CORES_SCALE if plugin.unit == units.CORES else 1.0
        for rule, value in zip(told, values.tolist(), strict=True):
            rule["raw"] = None if math.isnan(value) else value / scale
            rule["unit"] = str(plugin.unit)
