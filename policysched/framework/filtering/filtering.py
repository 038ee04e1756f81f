"""PreFilter and Filter for one pod on all nodes."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import asking, cycle_state, interface, point_times, row_answers, status
from policysched.framework.answers import shape_answers, status_table, together
from policysched.framework.filtering import (
    domain_filters,
    kept_verdicts,
    rejections,
    row_stages,
)


def keeps_answers(plugin: interface.Plugin) -> bool:
    """Return whether a plugin's answers may be kept for equal pods."""
    reads = getattr(plugin, "reads", interface.Reads.ANYTHING)
    return bool(reads) and interface.Reads.ANYTHING not in reads


def keeps_preparation(plugin: interface.Plugin) -> bool:
    """Return whether what it says at PreFilter and PreScore may be kept for equal pods as well.

    Our own plugins look there at nothing but the pod; those of others may look at nodes.
    """
    return keeps_answers(plugin) and not asking.is_third_party(plugin)


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


_Run: TypeAlias = kept_verdicts.KeptVerdicts | Stage
"""Stages whose answers are kept together, or a plugin that is asked in every cycle."""


@dataclasses.dataclass(slots=True)
class Cycle:
    """What one scheduling cycle works with.

    Attributes:
        state: scratch of plugins that are asked in every cycle.
        answers: what is kept for equal pods; plugins in there have a state of their own.
        times: of the extension points.
        filtered: what Filter said, int16 (N,), once it was asked about all rows.
        runs: what is asked at Filter, once that is known.
    """

    pod: pod_shape.PodInfo
    snap: snapshot.Snapshot
    state: cycle_state.CycleState
    answers: shape_answers.ShapeAnswers
    times: point_times.PointTimes
    filtered: status_table.StatusIds | None = None
    runs: Sequence[_Run] | None = None

    def state_of(self, plugin: interface.Plugin) -> cycle_state.CycleState:
        """Return the state that `plugin` sees."""
        return self.answers.state if keeps_answers(plugin) else self.state


@dataclasses.dataclass(slots=True)
class PreFilterOutcome:
    """What all PreFilter plugins said together.

    Attributes:
        rejection: set when no node is to be looked at: why, or the error that ended the cycle.
        skipped: numbers of plugins whose Filter is left out.
        node_names: the nodes to be filtered, None for all.
        narrowing: names of the plugins that narrowed them.
        unasked: names of the plugins that were not asked, as one before them ended it.
    """

    rejection: status.Status | None = None
    skipped: set[int] = dataclasses.field(default_factory=set)
    node_names: frozenset[str] | None = None
    narrowing: set[str] = dataclasses.field(default_factory=set)
    unasked: frozenset[str] = frozenset()


_SETTLED, _UNSETTLED, _RUNS = "settled pre_filter", "unsettled filters", "filter runs"
"""What is kept of PreFilter and Filter for equal pods (`ShapeAnswers.plan`)."""


class FilterRunner:
    """Runs the PreFilter and Filter plugins of a profile.

    Attributes:
        recent_row_answers: what preemptors of few shapes have found out about nodes.
    """

    def __init__(
        self,
        pre_filters: Sequence[tuple[int, interface.PreFilterPlugin]],
        filters: Sequence[tuple[int, interface.FilterPlugin]],
    ) -> None:
        """Take numbered plugins in order; the number identifies one across extension points."""
        self._pre_filters = pre_filters
        numbered = (*pre_filters, *filters)
        self._kept_numbers = frozenset(n for n, p in numbered if keeps_answers(p))
        self._prepared_numbers = frozenset(n for n, p in numbered if keeps_preparation(p))
        self._filters = filters
        self.recent_row_answers = row_answers.RecentRowAnswers()

    def pre_filter(self, cycle: Cycle) -> PreFilterOutcome:
        """Run all PreFilter plugins.

        Source: runtime/framework.go, RunPreFilterPlugins: an unresolvable rejection ends it, a
        plain one still lets the others run, as preemption needs what they compute.
        """
        found = cycle.answers.plan.get(_SETTLED)
        ((settled, asked),) = self._settle_pre_filters(cycle) if found is None else found
        outcome = PreFilterOutcome(skipped=set(settled))
        for number, plugin in asked:
            result = self._pre_filter_one(number, plugin, cycle)
            if result is interface.ALL_NODES:
                continue
            if result is interface.SKIP_FILTER or result.status.is_skip:
                outcome.skipped.add(number)
            elif not _takes(outcome, plugin.name, result):
                acting = self.acting_pre_filters(cycle)
                outcome.unasked = frozenset(p.name for n, p in acting if n > number)
                break
        return outcome

    def filter(self, cycle: Cycle, outcome: PreFilterOutcome) -> status_table.StatusIds:
        """Return int16 (N,): the first failure on each row, in numbers of the shape's table.

        Dead rows are -1. It is not to be written to.
        """
        runs = cycle.runs = self._runs(cycle, outcome)
        if runs and isinstance(runs[0], kept_verdicts.KeptVerdicts) and outcome.node_names is None:
            ids = runs[0].ids(cycle.state, cycle.pod, cycle.snap)  # which knows the dead rows
            return ids if len(runs) == 1 else self._first_failures(ids, runs[1:], cycle)
        nodes = cycle.snap.view_all_rows()
        ids = np.zeros(len(nodes), np.int16)
        _exclude_narrowed(ids, nodes, outcome, cycle.answers.table)
        ids = self._first_failures(ids, runs, cycle)
        return np.where(cycle.snap.is_alive, ids, np.int16(kept_verdicts.DEAD))

    def _first_failures(
        self, ids: status_table.StatusIds, runs: Sequence[_Run], cycle: Cycle
    ) -> status_table.StatusIds:
        """Return int16 (N,) `ids`, and where these are 0 what `runs` say, one after the other."""
        for run in runs:
            ids = status_table.first_of(ids, self._run_ids(run, cycle))
        return ids

    def feasible_rows(
        self, cycle: Cycle, outcome: PreFilterOutcome, ids: status_table.StatusIds
    ) -> npt.NDArray[np.intp]:
        """Return intp (f,): the rows that pass by `ids`, what `filter` has returned or like it."""
        runs = self._runs(cycle, outcome) if cycle.runs is None else cycle.runs
        if runs and isinstance(runs[0], kept_verdicts.KeptVerdicts):
            return runs[0].feasible_rows(ids)
        return np.flatnonzero(ids == 0)

    def kept_rejections(self, cycle: Cycle) -> rejections.KeptRejections | None:
        """Return what is kept of the rejections in `cycle.filtered`, None for nothing."""
        if cycle.filtered is None or not cycle.runs:
            return None
        first = cycle.runs[0]
        if isinstance(first, kept_verdicts.KeptVerdicts):
            return first.rejections(cycle.filtered)
        return None

    def _run_ids(self, run: _Run, cycle: Cycle) -> status_table.StatusIds:
        """Return int16 (N,), dead rows as they come."""
        answers, snap = cycle.answers, cycle.snap
        if isinstance(run, kept_verdicts.KeptVerdicts):
            return run.ids(cycle.state, cycle.pod, snap)
        plugins = [plugin for _, plugin in run.plugins]
        questions = together.list_filter_questions(plugins, cycle.state, cycle.pod, snap)
        every_row = np.arange(snap.size)
        return row_stages.find_first_failures(questions, snap, every_row, answers.table)

    def _runs(self, cycle: Cycle, outcome: PreFilterOutcome) -> Sequence[_Run]:
        """Return what is asked: kept stages, as many in a row as there are, and single plugins."""
        skipped, answers = outcome.skipped, cycle.answers
        unsettled = answers.plan.get(_UNSETTLED)
        if unsettled is None:
            unsettled = answers.planned(_UNSETTLED, self._unsettled)
        asked = (_RUNS, *[number for number in unsettled if number not in skipped])
        runs = answers.plan.get(asked)
        if runs is None:
            runs = _runs_of(self._acting_stages(cycle), skipped, cycle)
            answers.plan[asked] = runs
        return runs

    def _unsettled(self, left_out: frozenset[int]) -> Sequence[int]:
        """Return the numbers of plugins that PreFilter may skip for one of equal pods only."""
        numbers = (number for number, _ in self._filters)
        return [n for n in numbers if n not in self._prepared_numbers and n not in left_out]

    def _pre_filter_one(
        self, number: int, plugin: interface.PreFilterPlugin, cycle: Cycle
    ) -> interface.PreFilterResult:
        answers = cycle.answers
        kept = answers.pre_filters.get(number)
        if kept is not None:
            return kept
        state = answers.state if number in self._kept_numbers else cycle.state
        result = asking.ask(plugin, "PreFilter", plugin.pre_filter, state, cycle.pod, cycle.snap)
        if number in self._prepared_numbers:
            answers.pre_filters[number] = result
        elif state is answers.state:
            cycle.state.copy_values(state)  # which Reserve and all that follows are given
        return result

    def _settle_pre_filters(
        self, cycle: Cycle
    ) -> Sequence[tuple[frozenset[int], Sequence[tuple[int, interface.PreFilterPlugin]]]]:
        """Return the numbers of plugins that skip equal pods, and those that are to be asked.

        It is the only item. What is left out has nothing against any node, nor will it have.
        """
        acting = self.acting_pre_filters(cycle)

        def settle(
            left_out: frozenset[int],
        ) -> Sequence[tuple[frozenset[int], Sequence[tuple[int, interface.PreFilterPlugin]]]]:
            del left_out
            skipped, silent = set[int](), set[int]()
            for number, plugin in acting:
                if number in self._prepared_numbers:
                    result = self._pre_filter_one(number, plugin, cycle)
                    if result.status.is_skip:
                        skipped.add(number)
                    elif result.status.is_success and result.node_names is None:
                        silent.add(number)
                    else:
                        break
            asked = [one for one in acting if one[0] not in skipped and one[0] not in silent]
            return [(frozenset(skipped), asked)]

        return cycle.answers.planned(_SETTLED, settle)

    def acting_pre_filters(self, cycle: Cycle) -> Sequence[tuple[int, interface.PreFilterPlugin]]:
        """Return the numbered PreFilter plugins that apply to the pod, in order."""

        def acting(left_out: frozenset[int]) -> Sequence[tuple[int, interface.PreFilterPlugin]]:
            return [numbered for numbered in self._pre_filters if numbered[0] not in left_out]

        return cycle.answers.planned("pre_filter", acting)

    def acting_filters(self, cycle: Cycle) -> Sequence[tuple[int, interface.FilterPlugin]]:
        """Return the numbered Filter plugins that apply to the pod, in order."""
        return [numbered for stage in self._acting_stages(cycle) for numbered in stage.plugins]

    def _acting_stages(self, cycle: Cycle) -> Sequence[Stage]:
        return cycle.answers.planned("filter", self._stages)

    def _stages(self, left_out: frozenset[int]) -> Sequence[Stage]:
        """Group neighbours whose answers are kept; every other plugin stands alone.

        Those that follow the pods of a node stand apart from those that do not: after a pod was
        placed, only the former are asked again about its node.
        """
        stages: list[Stage] = []
        for number, plugin in self._filters:
            if number in left_out:
                continue
            by_domain = domain_filters.has_domain_tables(plugin)
            keeps = by_domain or number in self._kept_numbers
            usage = keeps and not by_domain and plugin.reads.has_own_pods
            last = stages[-1] if stages else None
            kind = (keeps, usage, by_domain)
            if last and keeps and not by_domain and kind == last.kind:
                last.plugins.append((number, plugin))
            else:
                stages.append(Stage([(number, plugin)], *kind))
        return stages

    def explain(
        self, cycle: Cycle, outcome: PreFilterOutcome
    ) -> list[tuple[interface.FilterPlugin, status.NodeStatuses]]:
        """Return what every Filter plugin says of all rows, whatever the others said."""
        nodes = cycle.snap.view_all_rows()
        return [
            (plugin, asking.ask_filter(plugin, cycle.state_of(plugin), cycle.pod, nodes))
            for stage in self._acting_stages(cycle)
            for number, plugin in stage.plugins
            if number not in outcome.skipped
        ]


def _runs_of(stages: Sequence[Stage], skipped: set[int], cycle: Cycle) -> list[_Run]:
    """Return what is left of `stages` without the plugins that PreFilter skipped."""
    runs: list[_Run] = []
    kept: list[kept_verdicts.Stage] = []
    own = (cycle.answers.state, cycle.answers.table)
    for stage in stages:
        plugins = [(number, plugin) for number, plugin in stage.plugins if number not in skipped]
        if not plugins:
            continue
        if stage.by_domain:
            (plugin,) = [plugin for _, plugin in plugins]
            decides = cast("domain_filters.DomainFilterPlugin", plugin)
            kept.append(kept_verdicts.DomainStage(decides, keeps_state=keeps_answers(plugin)))
            continue
        if stage.keeps:
            make = functools.partial(
                row_stages.StageAnswers,
                [plugin for _, plugin in plugins],
                cycle.answers.state,
                cycle.answers.example,
                cycle.snap,
            )
            kept.append(cycle.answers.shared(cycle.pod.shape, "filter", plugins, make))
            continue
        if kept:
            runs.append(kept_verdicts.KeptVerdicts(kept, *own))
            kept = []
        runs.append(stage)
    if kept:
        runs.append(kept_verdicts.KeptVerdicts(kept, *own))
    return runs


def _takes(outcome: PreFilterOutcome, plugin_name: str, result: interface.PreFilterResult) -> bool:
    """Take in what a plugin said; False when that ends it."""
    answer = result.status
    if answer.is_success:
        return result.node_names is None or _narrow(outcome, plugin_name, result)
    if answer.code in (status.Code.UNSCHEDULABLE, status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE):
        outcome.rejection = dataclasses.replace(answer, plugin=plugin_name)
        if answer.code is status.Code.UNSCHEDULABLE:
            return True
        outcome.narrowing.clear()
    else:
        doing = f'running PreFilter plugin "{plugin_name}"'
        outcome.rejection = status.error(plugin_name, doing, answer)
    return False


def _narrow(outcome: PreFilterOutcome, plugin_name: str, result: interface.PreFilterResult) -> bool:
    """Intersect the nodes to be filtered; False when none is left."""
    names = cast("frozenset[str]", result.node_names)
    outcome.narrowing.add(plugin_name)
    outcome.node_names = names if outcome.node_names is None else outcome.node_names & names
    if outcome.node_names:
        return True
    reason = f"node(s) didn't satisfy plugin {plugin_name}"
    if len(outcome.narrowing) > 1:
        reason = f"node(s) didn't satisfy plugin(s) {_go_list(outcome.narrowing)} simultaneously"
    outcome.rejection = status.Status(status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))
    return False


def _exclude_narrowed(
    ids: status_table.StatusIds,
    nodes: snapshot.NodeView,
    outcome: PreFilterOutcome,
    table: status_table.StatusTable,
) -> None:
    if outcome.node_names is None:
        return
    reason = f"node(s) didn't satisfy plugin(s) {_go_list(outcome.narrowing)}"
    answer = status.Status(status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,))
    row_of = nodes.snapshot.nodes.row_of
    wanted = [row_of[name] for name in outcome.node_names if name in row_of]
    ids[~np.isin(nodes.row_numbers, wanted)] = table.intern(answer)


def _go_list(names: set[str]) -> str:
    """Spell a list of strings as Go's `%v` does, as kube-scheduler's messages have it."""
    return f"[{' '.join(sorted(names))}]"
