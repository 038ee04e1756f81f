"""PreFilter and Filter for one pod on all nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policysched.framework import asking, cycles, interface, row_answers, status
from policysched.framework.answers import first_failures, shape_answers, status_table, together
from policysched.framework.filtering import (
    filter_plan,
    kept_verdicts,
    pre_filter_outcome,
    row_stages,
)


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
        self._kept_numbers = frozenset(n for n, p in numbered if shape_answers.keeps_answers(p))
        self._prepared_numbers = frozenset(
            n for n, p in numbered if shape_answers.keeps_preparation(p)
        )
        self._filters = filters
        self.recent_row_answers = row_answers.RecentRowAnswers()

    def pre_filter(self, cycle: cycles.Cycle) -> pre_filter_outcome.PreFilterOutcome:
        """Run all PreFilter plugins.

        Source: runtime/framework.go, RunPreFilterPlugins: an unresolvable rejection ends it, a
        plain one still lets the others run, as preemption needs what they compute.
        """
        plan = cycle.answers.planned("filter", self._make_plan)
        skipped, asked = plan.settled or self._settle_pre_filters(plan, cycle)
        outcome = pre_filter_outcome.PreFilterOutcome(plan, skipped=set(skipped))
        for number, plugin in asked:
            result = self._pre_filter_one(number, plugin, plan, cycle)
            if result is interface.ALL_NODES:
                continue
            if result is interface.SKIP_FILTER or result.status.is_skip:
                outcome.skipped.add(number)
            elif not outcome.add(plugin.name, result):
                outcome.unasked = frozenset(p.name for n, p in self._pre_filters if n > number)
                break
        return outcome

    def filter(
        self, cycle: cycles.Cycle, outcome: pre_filter_outcome.PreFilterOutcome
    ) -> first_failures.FirstFailures:
        """Return the first failure on each row."""
        runs = self._runs(cycle, outcome)
        table = cycle.answers.table
        if runs and isinstance(runs[0], kept_verdicts.KeptVerdicts) and outcome.node_names is None:
            kept = runs[0].find_first_failures(cycle.state, cycle.pod, cycle.snap)
            if len(runs) == 1:
                return kept  # which knows the dead rows
            ids = self._merge_runs(kept.ids, runs[1:], cycle)
            return first_failures.FirstFailures(ids, table)
        ids = np.zeros(cycle.snap.size, np.int16)
        outcome.exclude_other_nodes(ids, cycle.snap, table)
        ids = self._merge_runs(ids, runs, cycle)
        ids = np.where(cycle.snap.is_alive, ids, np.int16(first_failures.DEAD))
        return first_failures.FirstFailures(ids, table)

    def _merge_runs(
        self, ids: status_table.StatusIds, runs: Sequence[filter_plan.Run], cycle: cycles.Cycle
    ) -> status_table.StatusIds:
        """Return int16 (N,) `ids`, and where these are 0 what `runs` say, one after the other."""
        for run in runs:
            ids = status_table.first_of(ids, self._run_ids(run, cycle))
        return ids

    def _run_ids(self, run: filter_plan.Run, cycle: cycles.Cycle) -> status_table.StatusIds:
        """Return int16 (N,), dead rows as they come."""
        answers, snap = cycle.answers, cycle.snap
        if isinstance(run, kept_verdicts.KeptVerdicts):
            return run.find_first_failures(cycle.state, cycle.pod, snap).ids
        plugins = [plugin for _, plugin in run.plugins]
        questions = together.list_filter_questions(plugins, cycle.state, cycle.pod, snap)
        every_row = snap.nodes.all_rows
        return row_stages.find_first_failures(questions, snap, every_row, answers.table)

    def _runs(
        self, cycle: cycles.Cycle, outcome: pre_filter_outcome.PreFilterOutcome
    ) -> Sequence[filter_plan.Run]:
        """Return the steps: a cache for each sequence of cached stages, other plugins alone."""
        plan, skipped = outcome.plan, outcome.skipped
        asked = tuple([number for number in plan.unsettled if number not in skipped])
        runs = plan.runs.get(asked)
        if runs is None:
            runs = filter_plan.make_runs(plan.stages, skipped, cycle.answers, cycle.snap)
            plan.runs[asked] = runs
        return runs

    def _make_plan(self, left_out: frozenset[int]) -> filter_plan.FilterPlan:
        acting = [number for number, _ in self._filters if number not in left_out]
        return filter_plan.FilterPlan(
            [numbered for numbered in self._pre_filters if numbered[0] not in left_out],
            filter_plan.list_stages(self._filters, left_out),
            [number for number in acting if number not in self._prepared_numbers],
        )

    def _pre_filter_one(
        self,
        number: int,
        plugin: interface.PreFilterPlugin,
        plan: filter_plan.FilterPlan,
        cycle: cycles.Cycle,
    ) -> interface.PreFilterResult:
        answers = cycle.answers
        kept = plan.pre_filter_answers.get(number)
        if kept is not None:
            return kept
        state = answers.state if number in self._kept_numbers else cycle.state
        result = asking.ask(plugin, "PreFilter", plugin.pre_filter, state, cycle.pod, cycle.snap)
        if number in self._prepared_numbers:
            plan.pre_filter_answers[number] = result
        elif state is answers.state:
            cycle.state.copy_values(state)  # which Reserve and all that follows are given
        return result

    def _settle_pre_filters(
        self, plan: filter_plan.FilterPlan, cycle: cycles.Cycle
    ) -> filter_plan.SettledPreFilters:
        """Cache which plugins skip identical pods, and which are still to be asked.

        A cached answer that keeps all nodes changes nothing, so its plugin is not asked again.
        """
        skipped, silent = set[int](), set[int]()
        for number, plugin in plan.pre_filters:
            if number in self._prepared_numbers:
                result = self._pre_filter_one(number, plugin, plan, cycle)
                if result.status.is_skip:
                    skipped.add(number)
                elif result.status.is_success and result.node_names is None:
                    silent.add(number)
                else:
                    break
        asked = [one for one in plan.pre_filters if one[0] not in skipped | silent]
        plan.settled = filter_plan.SettledPreFilters(frozenset(skipped), asked)
        return plan.settled

    def explain(
        self, cycle: cycles.Cycle, outcome: pre_filter_outcome.PreFilterOutcome
    ) -> list[tuple[interface.FilterPlugin, status.NodeStatuses]]:
        """Return what every Filter plugin says of all rows, whatever the others said."""
        nodes = cycle.snap.view_all_rows()
        return [
            (plugin, asking.ask_filter(plugin, cycle.get_state_of(plugin), cycle.pod, nodes))
            for number, plugin in outcome.plan.list_filters()
            if number not in outcome.skipped
        ]
