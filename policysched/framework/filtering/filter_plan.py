"""What is asked at Filter for equal pods: which plugins together, and whose answers are kept."""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias, cast

from policysched.cluster import snapshot
from policysched.framework import interface
from policysched.framework.answers import shape_answers
from policysched.framework.filtering import domain_filters, kept_verdicts, row_stages


class StageKind(enum.Enum):
    """When plugins are asked again, which decides whom they are asked together with."""

    NODE = enum.auto()
    """About nodes that changed."""
    USAGE = enum.auto()
    """About nodes that changed, or on which a pod came or went."""
    DOMAIN = enum.auto()
    """By topology domain (`domain_filters.DomainFilterPlugin`)."""
    EVERY_CYCLE = enum.auto()
    """About all nodes, as nothing is kept."""


class FilterStage(NamedTuple):
    """Numbered Filter plugins that are asked together, in order."""

    plugins: list[tuple[int, interface.FilterPlugin]]
    kind: StageKind


Run: TypeAlias = kept_verdicts.KeptVerdicts | FilterStage
"""Stages whose answers are kept together, or a plugin that is asked in every cycle."""


def _find_kind(plugin: interface.FilterPlugin) -> StageKind:
    if domain_filters.has_domain_tables(plugin):
        return StageKind.DOMAIN
    if not shape_answers.keeps_answers(plugin):
        return StageKind.EVERY_CYCLE
    return StageKind.USAGE if plugin.reads.has_own_pods else StageKind.NODE


def list_stages(
    filters: Sequence[tuple[int, interface.FilterPlugin]], left_out: frozenset[int]
) -> Sequence[FilterStage]:
    """Group neighbours of kind NODE, and of kind USAGE; every other plugin stands alone."""
    stages: list[FilterStage] = []
    for number, plugin in filters:
        if number in left_out:
            continue
        kind = _find_kind(plugin)
        if stages and kind is stages[-1].kind and kind in (StageKind.NODE, StageKind.USAGE):
            stages[-1].plugins.append((number, plugin))
        else:
            stages.append(FilterStage([(number, plugin)], kind))
    return stages


class SettledPreFilters(NamedTuple):
    """The numbers of plugins that skip identical pods, and the plugins to ask in every cycle."""

    skipped: frozenset[int]
    asked: Sequence[tuple[int, interface.PreFilterPlugin]]


@dataclasses.dataclass(slots=True)
class FilterPlan:
    """Whom PreFilter and Filter ask about identical pods, and what is known by now.

    Attributes:
        pre_filters: the numbered PreFilter plugins that apply to the pods, in order.
        stages: the Filter plugins that apply to them.
        unsettled: numbers of the latter whose PreFilter answer may differ for identical pods.
        pre_filter_answers: cached answers of PreFilter by plugin number.
        settled: what follows from these, None before the first cycle.
        runs: what Filter asks, by the `unsettled` plugins that PreFilter does not skip.
    """

    pre_filters: Sequence[tuple[int, interface.PreFilterPlugin]]
    stages: Sequence[FilterStage]
    unsettled: Sequence[int]
    pre_filter_answers: dict[int, interface.PreFilterResult] = dataclasses.field(
        default_factory=dict
    )
    settled: SettledPreFilters | None = None
    runs: dict[tuple[int, ...], Sequence[Run]] = dataclasses.field(default_factory=dict)

    def list_filters(self) -> list[tuple[int, interface.FilterPlugin]]:
        """Return the numbered Filter plugins that apply to the pods, in order."""
        return [numbered for stage in self.stages for numbered in stage.plugins]


def make_runs(
    stages: Sequence[FilterStage],
    skipped: set[int],
    answers: shape_answers.ShapeAnswers,
    snap: snapshot.Snapshot,
) -> list[Run]:
    """Return what is left of `stages` without the numbers of plugins that PreFilter skipped."""
    runs: list[Run] = []
    kept: list[kept_verdicts.KeptStage] = []
    own = (answers.state, answers.table)
    for stage in stages:
        plugins = [(number, plugin) for number, plugin in stage.plugins if number not in skipped]
        if not plugins:
            continue
        if stage.kind is StageKind.DOMAIN:
            (plugin,) = [plugin for _, plugin in plugins]
            decides = cast("domain_filters.DomainFilterPlugin", plugin)
            kept.append(
                kept_verdicts.DomainStage(decides, keeps_state=shape_answers.keeps_answers(plugin))
            )
            continue
        if stage.kind is not StageKind.EVERY_CYCLE:
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
