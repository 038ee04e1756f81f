"""What one Score plugin says of the pod of a cycle: PreScore, Score and NormalizeScore."""

from __future__ import annotations

from typing import cast

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.framework import asking, cycles, interface, status
from policysched.framework.answers import derived, together
from policysched.framework.scoring import score_table, scorers


class ScoringError(Exception):
    """What ends scoring from within; it does not leave `scoring`."""

    def __init__(self, answer: status.Status) -> None:
        """End it with an error that a plugin answered, or one about its scores."""
        super().__init__(answer.message)
        self.answer = answer


def pre_score_skips(scorer: scorers.Scorer, cycle: cycles.Cycle, nodes: snapshot.NodeView) -> bool:
    """Return whether a plugin, asked at PreScore, has nothing to say about the pod."""
    if not scorer.has_pre_score:
        return False
    plugin = cast("interface.PreScorePlugin", scorer.plugin)
    state = cycle.answers.state if scorer.keeps else cycle.state
    answer = asking.ask(plugin, "PreScore", plugin.pre_score, state, cycle.pod, nodes)
    if scorer.keeps and not scorer.is_prepared:
        cycle.state.copy_values(state)  # which Reserve and all that follows are given
    return skips(scorer, answer)


def skips(scorer: scorers.Scorer, answer: status.Status) -> bool:
    """Return whether an answer at PreScore leaves Score out; an error ends scoring."""
    if not (answer.is_skip or answer.is_success):
        doing = f'running PreScore plugin "{scorer.plugin.name}"'
        raise ScoringError(status.error(scorer.plugin.name, doing, answer))
    return answer.is_skip


def _keep_raw_scores(scorer: scorers.Scorer, cycle: cycles.Cycle) -> interface.RawScores:
    """Return the raw scores of a plugin for all rows, which are kept for equal pods."""
    kept = cycle.answers.scores.get(scorer.number)
    if kept is None:
        answers, every_row = cycle.answers, cycle.snap.view_all_rows()
        raw = asking.ask_score(scorer.plugin, answers.state, answers.example, every_row)
        writer = together.ScoreWriter([scorer.plugin], answers.state, answers.example, cycle.snap)
        inputs = derived.SnapshotInputs(scorer.plugin.reads)
        kept = cycle.answers.scores[scorer.number] = derived.Derived(
            inputs, writer.write, raw.dtype, numbers_per_row=1
        )
    kept.refresh(cycle.snap)
    of_plugin: interface.RawScores = kept.values[0]
    return of_plugin


def normalized(
    scorer: scorers.Scorer, cycle: cycles.Cycle, raw: interface.RawScores
) -> columns.IntArray:
    """Return final scores, int64 (f,), of the raw ones of the feasible nodes; not checked."""
    if not scorer.normalizes:
        return raw
    normalizing = cast("interface.NormalizeScorePlugin", scorer.plugin)
    state = cycle.answers.state if scorer.keeps else cycle.state
    return asking.ask(
        normalizing, "NormalizeScore", normalizing.normalize_score, state, cycle.pod, raw
    )


def checked(scorer: scorers.Scorer, final: columns.IntArray) -> columns.IntArray:
    """Return final scores, int64 (f,), as they are; one out of range ends scoring."""
    if not scorers.is_in_range(final, scorer):
        raise ScoringError(scorers.out_of_range(final, scorer))
    return final


def detail(
    scorer: scorers.Scorer, cycle: cycles.Cycle, feasible: snapshot.NodeView
) -> score_table.Detail | None:
    """Return raw and final scores, None when the plugin has nothing to say about the pod."""
    if scorer.scores_domains:
        raw = asking.ask_score(scorer.plugin, cycle.answers.state, cycle.pod, feasible)
    elif scorer.keeps:
        if not scorer.is_prepared and pre_score_skips(scorer, cycle, cycle.snap.view_all_rows()):
            return None
        raw = _keep_raw_scores(scorer, cycle)[feasible.rows]
    elif pre_score_skips(scorer, cycle, feasible):
        return None
    else:
        raw = asking.ask_score(scorer.plugin, cycle.state, cycle.pod, feasible)
    final = normalized(scorer, cycle, raw)
    if scorer.is_third_party:
        units = scorer.units_per_point
        final = asking.checked_final_scores(scorer.plugin, final, len(feasible), units)
    else:
        checked(scorer, final)
    return score_table.Detail(raw, final, scorer.units_per_point)
