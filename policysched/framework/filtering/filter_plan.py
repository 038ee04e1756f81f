"""What is asked at Filter for equal pods: which plugins together, and whose answers are kept."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import TypeAlias, cast

from policysched.cluster import snapshot
from policysched.framework import interface
from policysched.framework.answers import shape_answers
from policysched.framework.filtering import domain_filters, kept_verdicts, row_stages


@dataclasses.dataclass(slots=True)
class Stage:
    """Filter plugins that are asked together.

    Attributes:
        plugins: numbered, in order.
        keeps: whether their answers are kept.
        reads_usage: whether they are asked again about nodes on which a pod came or went.
        by_domain: whether it is one that decides by domain (`domain_filters.DomainFilterPlugin`).
    """

    plugins: list[tuple[int, interface.FilterPlugin]]
    keeps: bool
    reads_usage: bool
    by_domain: bool

    @property
    def kind(self) -> tuple[bool, bool, bool]:
        """What neighbours must have in common to be asked together."""
        return self.keeps, self.reads_usage, self.by_domain


Run: TypeAlias = kept_verdicts.KeptVerdicts | Stage
"""Stages whose answers are kept together, or a plugin that is asked in every cycle."""


def list_stages(
    filters: Sequence[tuple[int, interface.FilterPlugin]], left_out: frozenset[int]
) -> Sequence[Stage]:
    """Group neighbours whose answers are kept; every other plugin stands alone.

    Those that follow the pods of a node stand apart from those that do not: after a pod was
    placed, only the former are asked again about its node.
    """
    stages: list[Stage] = []
    for number, plugin in filters:
        if number in left_out:
            continue
        by_domain = domain_filters.has_domain_tables(plugin)
        keeps = by_domain or shape_answers.keeps_answers(plugin)
        usage = keeps and not by_domain and plugin.reads.has_own_pods
        last = stages[-1] if stages else None
        kind = (keeps, usage, by_domain)
        if last and keeps and not by_domain and kind == last.kind:
            last.plugins.append((number, plugin))
        else:
            stages.append(Stage([(number, plugin)], *kind))
    return stages


def make_runs(
    stages: Sequence[Stage],
    skipped: set[int],
    answers: shape_answers.ShapeAnswers,
    snap: snapshot.Snapshot,
) -> list[Run]:
    """Return what is left of `stages` without the numbers of plugins that PreFilter skipped."""
    runs: list[Run] = []
    kept: list[kept_verdicts.Stage] = []
    own = (answers.state, answers.table)
    for stage in stages:
        plugins = [(number, plugin) for number, plugin in stage.plugins if number not in skipped]
        if not plugins:
            continue
        if stage.by_domain:
            (plugin,) = [plugin for _, plugin in plugins]
            decides = cast("domain_filters.DomainFilterPlugin", plugin)
            kept.append(
                kept_verdicts.DomainStage(decides, keeps_state=shape_answers.keeps_answers(plugin))
            )
            continue
        if stage.keeps:
            make = functools.partial(
                row_stages.StageAnswers,
                [plugin for _, plugin in plugins],
                answers.state,
                answers.example,
                snap,
            )
            kept.append(answers.shared(answers.example.shape, "filter", plugins, make))
            continue
        if kept:
            runs.append(kept_verdicts.KeptVerdicts(kept, *own))
            kept = []
        runs.append(stage)
    if kept:
        runs.append(kept_verdicts.KeptVerdicts(kept, *own))
    return runs
