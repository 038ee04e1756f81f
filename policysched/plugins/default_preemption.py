"""DefaultPreemption: evict pods of lower priority from a node to make room.

Sources: `plugins/defaultpreemption/default_preemption.go`, `framework/preemption/preemption.go`.
The plugin only chooses the node and the victims. The scheduler evicts the victims
(`scheduler/eviction.py`) and keeps the pod gated in the meantime (`framework/preemptions.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import (
    cycle_state,
    events,
    extender_answers,
    handles,
    interface,
    messages,
    post_filtering,
    preemption_limits,
    status,
)
from policysched.plugins import arguments, names
from policysched.plugins.kernels import victims
from policysched.plugins.shared import event_hints

IN_PROGRESS = "waiting for the preemption for this pod to be finished"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
NO_CANDIDATE = "no candidate node for preemption"
NOT_HELPFUL = "Preemption is not helpful for scheduling"

_NEVER_PREEMPTS = "Never"
_DISRUPTION_TARGET = "DisruptionTarget"
_BY_SCHEDULER = "PreemptionByScheduler"
_LARGEST_BATCH = 512
"""Maximum number of rows to evaluate together: enough to share work, few enough to stop early."""


class DefaultPreemptionArgs(arguments.ArgumentStruct, frozen=True):
    """Arguments: the number of candidates to find, as a percentage of nodes and as a minimum."""

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100


class DefaultPreemption:
    """Chooses the node on which preemption evicts the least important pods."""

    name = names.DEFAULT_PREEMPTION

    def __init__(self, handle: handles.Handle, args: DefaultPreemptionArgs | None = None) -> None:
        """Use the budgets, the running preemptions and the random numbers of `handle`.

        A random number chooses the first row of the search. Without random numbers, all potential
        nodes are evaluated, which finds the best candidate.
        """
        self._args = args or DefaultPreemptionArgs()
        self._budgets = handle.budgets
        self._preemptions = handle.preemptions
        self._rng = handle.rng

    @classmethod
    def from_args(cls, args: arguments.Arguments, handle: handles.Handle) -> DefaultPreemption:
        """Create the plugin from `DefaultPreemptionArgs`.

        Source: `apis/config/validation/validation_pluginargs.go`.
        """
        given = arguments.decode_arguments(args, DefaultPreemptionArgs)
        percentage, absolute = "minCandidateNodesPercentage", "minCandidateNodesAbsolute"
        arguments.require_range(percentage, given.min_candidate_nodes_percentage, 0, 100)
        arguments.require_range(absolute, given.min_candidate_nodes_absolute, 0, 2**31 - 1)
        if not given.min_candidate_nodes_percentage and not given.min_candidate_nodes_absolute:
            msg = f"`{percentage}` and `{absolute}` cannot both be 0"
            raise arguments.ArgumentError(msg)
        return cls(handle, given)

    # --- queueing --------------------------------------------------------------------------------

    def pre_enqueue(self, pod: pod_shape.PodInfo) -> status.Status:
        """Gate a pod while its victims are being evicted."""
        if self._preemptions.is_running(pod.uid):
            return status.unresolvable(self.name, IN_PROGRESS)
        return status.SUCCESS

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for pod deletions, to run the gate again; other plugins decide on retries."""
        deleted = events.ActionType.DELETE
        return (
            event_hints.make_event_registration(
                events.EventResource.POD, deleted, lambda *_: events.QueueingHint.SKIP
            ),
        )

    # --- preemption ------------------------------------------------------------------------------

    def post_filter(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        diagnosis: interface.Diagnosis,
    ) -> interface.PostFilterResult:
        """Return the node on which to make room and the victims, or why there is no such node."""
        limits = _find_limits(pod, snap, diagnosis)
        objection = _find_preemptor_ineligibility(pod, snap, diagnosis, limits)
        if objection:
            if limits is not None and objection == limits.objection:
                diagnosis.unschedulable_plugins.add(self.name)
            return interface.PostFilterResult(self._make_rejection(objection))
        answered = diagnosis.extenders
        if answered is not None and answered.preemption_error:
            return interface.PostFilterResult(self._make_error(answered.preemption_error))
        if answered is not None and answered.victims:
            return self._choose_answered_candidate(answered.victims, state, pod, snap, diagnosis)
        found, refused = self.find_candidates(state, pod, snap, diagnosis)
        if found and answered is not None and answered.victims is not None:
            return interface.PostFilterResult(self._make_rejection(NO_CANDIDATE))
        if found:
            return self._choose_candidate(found, pod, snap)
        if any(answer.plugin == self.name for answer in refused.values()):
            diagnosis.unschedulable_plugins.add(self.name)  # a policy kept pods
        errors = [s for s in refused.values() if not s.is_rejection]
        if errors:
            texts = list(dict.fromkeys(s.message for s in errors))
            text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
            return interface.PostFilterResult(self._make_error(text))
        return interface.PostFilterResult(
            self._make_rejection(_format_unhelped_nodes(refused, snap)), ""
        )

    def find_victims(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        diagnosis: interface.Diagnosis,
    ) -> extender_answers.VictimsByNode:
        """Return all candidates by node, for HTTP extenders."""
        limits = _find_limits(pod, snap, diagnosis)
        if _find_preemptor_ineligibility(pod, snap, diagnosis, limits):
            return {}
        found, _ = self.find_candidates(state, pod, snap, diagnosis)
        return {
            snap.nodes.names[each.row]: extender_answers.NodeVictims(each.victims, each.violations)
            for each in found
        }

    def _choose_answered_candidate(
        self,
        answered: extender_answers.VictimsByNode,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        diagnosis: interface.Diagnosis,
    ) -> interface.PostFilterResult:
        """Choose among the candidates that extenders left."""
        candidates = [
            victims.Candidate(snap.nodes.row_of[name], node.pods, node.violations)
            for name, node in extender_answers.drop_gone_victims(answered, snap).items()
        ]
        limits = _find_limits(pod, snap, diagnosis)
        if limits is not None:
            candidates, plugins = _select_permitted_candidates(candidates, limits, state, pod, snap)
            diagnosis.unschedulable_plugins |= plugins
        if candidates:
            return self._choose_candidate(candidates, pod, snap)
        return interface.PostFilterResult(self._make_rejection(NO_CANDIDATE))

    def find_candidates(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        diagnosis: interface.Diagnosis,
    ) -> tuple[list[victims.Candidate], dict[int, status.Status]]:
        """Return the candidate nodes with their victims, and row → status of the rejected nodes.

        Rows that were not evaluated are in neither.
        """
        if diagnosis.refilter is None:
            return [], {}
        limits = _find_limits(pod, snap, diagnosis)
        search = victims.VictimSearch(pod, snap, diagnosis.refilter, self._budgets, limits)
        rows = victims.potential_rows(diagnosis, snap)
        if limits is not None:
            potential_count = len(rows)
            rows = preemption_limits.select_open_rows(limits, state, pod, snap, rows)
            if len(rows) < potential_count:
                diagnosis.unschedulable_plugins.add(names.POLICY)
        enough, order = self._compute_candidate_limit(len(rows)), self._rotate_rows_randomly(rows)
        found: list[victims.Candidate] = []
        refused: dict[int, status.Status] = {}
        spares_budgets = False
        for row, answer in _search_candidates_in_batches(
            search, order, min(enough, _LARGEST_BATCH) or 1
        ):
            if isinstance(answer, status.Status):
                refused[row] = answer
                continue
            found.append(answer)
            spares_budgets = spares_budgets or not answer.violations
            if len(found) >= enough and spares_budgets:
                break
        return found, refused

    def _compute_candidate_limit(self, row_count: int) -> int:
        """Return the number of candidates after which the search ends (calculateNumCandidates)."""
        if self._rng is None:
            return row_count + 1
        share = row_count * self._args.min_candidate_nodes_percentage // 100
        return min(row_count, max(share, self._args.min_candidate_nodes_absolute))

    def _rotate_rows_randomly(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        if self._rng is None or len(rows) == 0:
            return rows
        offset = self._rng.randrange(len(rows))
        return np.concatenate((rows[offset:], rows[:offset]))

    def _choose_candidate(
        self,
        found: Sequence[victims.Candidate],
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
    ) -> interface.PostFilterResult:
        """Choose one of the best candidates: the nominated node if it is among them, else any."""
        best = {snap.nodes.names[c.row]: c for c in victims.cheapest(found)}
        name = pod.pod.status.nominated_node_name
        if name not in best:
            name = min(best) if self._rng is None else self._rng.choice(list(best))
        return interface.PostFilterResult(status.SUCCESS, name, best[name].victims)

    def _make_error(self, text: str) -> status.Status:
        return status.Status(status.Code.ERROR, (f"preemption: {text}",), self.name)

    def _make_rejection(self, text: str) -> status.Status:
        return status.unschedulable(self.name, f"preemption: {text}")


def _search_candidates_in_batches(
    search: victims.VictimSearch, rows: npt.NDArray[np.intp], size: int
) -> Iterator[tuple[int, victims.Answer]]:
    """Yield (row, candidate or status) for each row, evaluated in batches of `size`."""
    for begin in range(0, len(rows), size):
        batch = rows[begin : begin + size].tolist()
        yield from zip(batch, search.on_rows(batch), strict=True)


def _select_permitted_candidates(
    candidates: Sequence[victims.Candidate],
    limits: preemption_limits.PodPreemptionLimits,
    state: cycle_state.CycleState,
    pod: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
) -> tuple[list[victims.Candidate], set[str]]:
    """Return the candidates that `limits` permit, and the plugins that keep the pods of others.

    Extenders can choose any nodes and victims.
    """
    rows = np.array(sorted(candidate.row for candidate in candidates), np.intp)
    open_rows = set(preemption_limits.select_open_rows(limits, state, pod, snap, rows).tolist())
    permitted = []
    plugins = set()
    for candidate in candidates:
        if candidate.row not in open_rows:
            plugins.add(names.POLICY)
        elif any(limits.find_keeping_rules(victim.shape) for victim in candidate.victims):
            plugins.add(names.DEFAULT_PREEMPTION)
        else:
            permitted.append(candidate)
    return permitted, plugins


def _find_limits(
    pod: pod_shape.PodInfo, snap: snapshot.Snapshot, diagnosis: interface.Diagnosis
) -> preemption_limits.PodPreemptionLimits | None:
    limits = diagnosis.preemption_limits
    return None if limits is None else limits.find_limits(pod.shape, snap)


def _find_preemptor_ineligibility(
    pod: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
    diagnosis: interface.Diagnosis,
    limits: preemption_limits.PodPreemptionLimits | None,
) -> str:
    """Return why the pod must not preempt other pods, or "" (PodEligibleToPreemptOthers)."""
    if pod.shape.spec.preemption_policy == _NEVER_PREEMPTS:
        return NEVER
    if limits is not None and limits.objection:
        return limits.objection
    row = snap.find_row(pod.pod.status.nominated_node_name)
    if row is None or _cannot_help_by_eviction(row, diagnosis):
        return ""
    priority = pod.shape.priority
    lesser = (p for p in snap.placed.get_pods(row) if p.shape.priority < priority)
    return TERMINATING if any(map(_is_terminating_by_preemption, lesser)) else ""


def _cannot_help_by_eviction(row: int, diagnosis: interface.Diagnosis) -> bool:
    answer = diagnosis.pre_filter or diagnosis.statuses[diagnosis.ids[row]]
    return answer.code is status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def _is_terminating_by_preemption(info: pod_shape.PodInfo) -> bool:
    if not info.is_terminating:
        return False
    target = next((c for c in info.pod.status.conditions if c.type == _DISRUPTION_TARGET), None)
    return target is not None and (target.status, target.reason) == ("True", _BY_SCHEDULER)


def _format_unhelped_nodes(refused: Mapping[int, status.Status], snap: snapshot.Snapshot) -> str:
    """Format `0/5 nodes are available: …` with the reasons for all nodes."""
    statuses = [status.SUCCESS, status.unresolvable("", NOT_HELPFUL)]
    ids = np.ones(snap.size, np.int16)
    numbers = {s: n for n, s in enumerate(dict.fromkeys(refused.values()), start=len(statuses))}
    for row, answer in refused.items():
        ids[row] = numbers[answer]
    diagnosis = interface.Diagnosis(ids, [*statuses, *numbers])
    return messages.fit_error(diagnosis, snap.is_alive, snap.node_count)


if TYPE_CHECKING:
    _pre_enqueue: type[interface.PreEnqueuePlugin] = DefaultPreemption
    _post_filter: type[post_filtering.PreemptionPlugin] = DefaultPreemption
    _events: type[interface.EventsPlugin] = DefaultPreemption
