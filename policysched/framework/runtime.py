"""One profile at work: its plugins run at each extension point, in order."""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from policysched.cluster import elapsed_time, snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import (
    asking,
    binding_points,
    cycle_state,
    cycles,
    events,
    explanation,
    extender_answers,
    interface,
    messages,
    point_times,
    post_filtering,
    profile,
    queued_pod,
    status,
)
from policysched.framework.answers import first_failures, shape_answers
from policysched.framework.filtering import (
    diagnosing,
    extender_filtering,
    filtering,
    pre_filter_outcome,
    refiltering,
)
from policysched.framework.scoring import extender_points, score_table, scoring

_REJECTING_POINTS = ("pre_enqueue", "pre_filter", "filter", "reserve", "permit")


@dataclasses.dataclass(slots=True)
class ScheduleResult:
    """Outcome of a scheduling cycle up to the choice of a node.

    Attributes:
        node_name: where the pod goes, None when it fits nowhere.
        state: scratch of this cycle, for Reserve and what follows.
        status: SUCCESS, or why the cycle ended without a node.
        diagnosis: why no node fits, None on success and without nodes.
        feasible_count, node_count: nodes that pass, and all nodes.
        times: of the extension points so far.
        message: `0/5 nodes are available: …` when it fits nowhere.
        scores: points of the feasible nodes; None when there was nothing to choose.
        failures: the result of Filter, None if it was not asked about all rows; valid until the
            next cycle.
        extenders: the answers of HTTP extenders that counted; None if none is interested.
    """

    node_name: str | None
    state: cycle_state.CycleState
    status: status.Status
    diagnosis: interface.Diagnosis | None
    feasible_count: int
    node_count: int
    times: point_times.PointTimes
    message: str = ""
    scores: score_table.ScoreTable | None = None
    failures: first_failures.FirstFailures | None = None
    extenders: extender_answers.ExtenderAnswers | None = None


_AnswerT = TypeVar("_AnswerT")
_GivenP = ParamSpec("_GivenP")
_Decision: TypeAlias = Callable[Concatenate["Framework", _GivenP], _AnswerT]


def _kept_whole(decide: _Decision[_GivenP, _AnswerT]) -> _Decision[_GivenP, _AnswerT]:
    """Let a framework forget all kept answers where `decide` raises: some may be half renewed."""

    @functools.wraps(decide)
    def ask(self: Framework, /, *args: _GivenP.args, **options: _GivenP.kwargs) -> _AnswerT:
        try:
            return decide(self, *args, **options)
        except BaseException:
            self._kept.forget()
            raise

    return ask


class Framework:
    """Runs the plugins of one profile; the schedule of one pod is a pure function of a snapshot.

    Attributes:
        binding: runs those that act once a node was chosen.
    """

    def __init__(
        self,
        prof: profile.Profile,
        rng: random.Random | None,
        *,
        shapes_kept: int = shape_answers.MAX_SHAPES,
        has_extenders: bool = False,
    ) -> None:
        """Run the plugins of `prof`; ties are broken by `rng`, by the smallest name without it.

        Answers are kept for `shapes_kept` kinds of equal pods; with 0 all are asked for each pod.
        With `has_extenders`, HTTP extenders can reject pods, too.
        """
        self.profile = prof
        self._has_extenders = has_extenders
        self._rng = rng
        self._seconds: point_times.Seconds = point_times.no_time
        self._numbered = list(enumerate(prof.plugins))
        self._acting: dict[str, list[tuple[int, Any]]] = {}
        self._filters = filtering.FilterRunner(self._at("pre_filter"), self._at("filter"))
        self._scores = scoring.ScoreRunner(self._at("score"), prof.weights)
        self.binding = binding_points.BindingPoints(self._at)
        is_own = not any(asking.is_third_party(plugin) for plugin in prof.plugins)
        self._kept = shape_answers.ShapeAnswersCache(
            [each for each in self._at("applies_to") if asking.shortcut(each[1], "applies_to")],
            max_shapes=shapes_kept,
            projection=prof.projection if is_own else None,
            sharing=[plugin for _, plugin in self._at("shares")],
        )

    def measure_by(self, seconds: point_times.Seconds) -> None:
        """Measure how long extension points take by a monotonic clock; nobody does before."""
        self._seconds = seconds

    def _at(self, point: str) -> list[tuple[int, Any]]:
        """Return the numbered plugins that act at an extension point.

        Having the method is what makes a plugin one of its kind, which no static type can say.
        """
        acting = self._acting.get(point)
        if acting is None:
            disabled = self.profile.disabled_points
            acting = self._acting[point] = [
                (number, plugin)
                for number, plugin in self._numbered
                if hasattr(plugin, point) and point not in disabled.get(plugin.name, ())
            ]
        return acting

    # --- queueing --------------------------------------------------------------------------------

    def pre_enqueue(self, pod: pod_shape.PodInfo) -> status.Status:
        """Return the first rejection of a PreEnqueue plugin, else success."""
        for _, plugin in self._at("pre_enqueue"):
            gating = cast("interface.PreEnqueuePlugin", plugin)
            answer = asking.ask(gating, "PreEnqueue", gating.pre_enqueue, pod)
            if not answer.is_success:
                return dataclasses.replace(answer, plugin=plugin.name)
        return status.SUCCESS

    def sort_key(self, queued: queued_pod.QueuedPodInfo) -> tuple[object, ...]:
        """Return the activeQ order of a pod, by the profile's QueueSort plugin.

        Raises:
            LookupError: the profile has none, which `app` refuses at start.
        """
        for _, plugin in self._at("sort_key"):
            return asking.ask_sort_key(cast("interface.QueueSortPlugin", plugin), queued)
        msg = f"profile {self.profile.scheduler_name} has no QueueSort plugin"
        raise LookupError(msg)

    @property
    def reads_claims(self) -> bool:
        """Whether policies read the storage claims of pods."""
        read = self.profile.projection
        return read is not None and read.reads_claims

    @property
    def time_bounds(self) -> elapsed_time.TimeBounds:
        """The times of pods and nodes at which answers of policies change."""
        return self.profile.time_bounds

    def events_to_register(self) -> dict[str, Sequence[events.ClusterEventWithHint]]:
        """Return what each plugin that can reject waits for; those that do not say, for everything.

        Source: runtime/framework.go, shouldHaveEnqueueExtensions.
        """
        everything = (events.ClusterEventWithHint(events.FORCE_ACTIVATE),)
        registered: dict[str, Sequence[events.ClusterEventWithHint]] = {}
        can_reject = {number for point in _REJECTING_POINTS for number, _ in self._at(point)}
        for number, plugin in self._numbered:
            if number not in can_reject:
                continue
            waits_for = getattr(plugin, "events_to_register", lambda: everything)()
            registered[plugin.name] = (*registered.get(plugin.name, ()), *waits_for)
        limits = self.profile.preemption_limits
        if limits is not None:
            known = registered.get(limits.name, ())
            registered[limits.name] = (*known, *limits.events_to_register())
        if self._has_extenders:
            registered[extender_answers.EXTENDER] = extender_answers.EVENTS
        return registered

    # --- the scheduling cycle --------------------------------------------------------------------

    @_kept_whole
    def schedule_pod(
        self,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        extenders: extender_answers.ExtenderAnswers | None = None,
    ) -> ScheduleResult:
        """Choose a node: PreFilter, Filter, PreScore, Score, the highest total.

        `extenders` are the answers of HTTP extenders about the pod; None if none is interested.
        """
        cycle = self._begin(pod, snap, extenders)
        result = self._schedule(cycle)
        result.failures = cycle.failures
        result.extenders = extenders
        return result

    def _schedule(self, cycle: cycles.Cycle) -> ScheduleResult:
        if cycle.snap.node_count == 0:
            no_nodes = status.unschedulable("", messages.NO_NODES)
            nothing = (0, 0, cycle.times, messages.NO_NODES)
            return ScheduleResult(None, cycle.state, no_nodes, None, *nothing)
        if cycle.extenders is not None and cycle.extenders.error:
            reasons = (cycle.extenders.error,)
            error = status.Status(status.Code.ERROR, reasons, extender_answers.EXTENDER)
            return self._ends_in_error(cycle, error)
        outcome = self._filters.pre_filter(cycle)
        if outcome.rejection is not None:
            cycle.times.end("PreFilter", outcome.rejection.code)
            return self._does_not_fit(cycle, outcome)
        cycle.times.end("PreFilter")
        own = refiltering.own_nomination(cycle, outcome, self._filters)
        answers, names = cycle.extenders, cycle.snap.nodes.names
        if own is not None and own.fits:
            only = frozenset((names[own.row],))
            if answers is None or answers.accepted == only:
                cycle.times.end("Filter")
                return _fits(cycle, names[own.row])
        failures = cycle.failures = refiltering.filter_all_rows(cycle, outcome, own, self._filters)
        failed = failures.find_error(names)
        if failed is None and answers is not None:
            failures = extender_filtering.reject_nodes(answers, failures, cycle.snap)
            cycle.failures = failures
        cycle.times.end("Filter", failed.code if failed else status.Code.SUCCESS)
        if failed is not None:
            return self._ends_in_error(cycle, failed)
        rows = failures.get_feasible_rows()
        if len(rows) == 0:
            return self._does_not_fit(cycle, outcome)
        if len(rows) == 1:
            return _fits(cycle, names[rows.item(0)])
        return self._choose(cycle, failures)

    def _begin(
        self,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        extenders: extender_answers.ExtenderAnswers | None = None,
    ) -> cycles.Cycle:
        bounds = self.profile.time_bounds
        if bounds.waiting or bounds.pod_age:
            pod = pod.place_in_time(bounds, snap.now_seconds, pod.noted_try_seconds)
        tolerations = self.profile.tolerations(pod.shape, snap)
        answers = self._kept.get(pod, tolerations, snap)
        state = cycle_state.CycleState(tolerations, answers.left_out)
        times = point_times.PointTimes(self._seconds)
        return cycles.Cycle(pod, snap, state, answers, times, extenders=extenders)

    def _choose(
        self, cycle: cycles.Cycle, failures: first_failures.FirstFailures
    ) -> ScheduleResult:
        scores = self._scores.score(cycle, failures)
        if isinstance(scores, status.Status):
            cycle.times.end("Score", scores.code)
            return self._ends_in_error(cycle, scores)
        cycle.times.end("Score")
        if cycle.extenders is not None:
            extender_points.add_points(cycle.extenders, scores, cycle.snap.nodes.names)
        node_name = scores.choose(cycle.snap.nodes.names, self._rng)
        result = _fits(cycle, node_name, len(scores.rows))
        result.scores = scores
        return result

    def _does_not_fit(
        self, cycle: cycles.Cycle, outcome: pre_filter_outcome.PreFilterOutcome
    ) -> ScheduleResult:
        if outcome.rejection is not None and not outcome.rejection.is_rejection:
            return self._ends_in_error(cycle, outcome.rejection)
        diagnosis = diagnosing.diagnose(cycle, outcome)
        diagnosis.refilter = refiltering.Refilter(cycle, outcome, self._filters)
        diagnosis.preemption_limits = self.profile.preemption_limits
        diagnosis.extenders = cycle.extenders
        snap = cycle.snap
        message = messages.fit_error(diagnosis, snap.is_alive, snap.node_count)
        answer = status.unschedulable("", message)
        counted = (0, snap.node_count, cycle.times, message)
        return ScheduleResult(None, cycle.state, answer, diagnosis, *counted)

    def _ends_in_error(self, cycle: cycles.Cycle, answer: status.Status) -> ScheduleResult:
        """Return the result of a cycle that ended in an error: no node was chosen or ruled out."""
        counted = (0, cycle.snap.node_count, cycle.times, answer.message)
        return ScheduleResult(None, cycle.state, answer, None, *counted)

    # --- questions before a cycle, for HTTP extenders ---------------------------------------------

    @_kept_whole
    def find_fitting_nomination(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> str:
        """Return the pod's nominated node if it passes Filter, else ""."""
        cycle = self._begin(pod, snap)
        outcome = self._filters.pre_filter(cycle)
        if outcome.rejection is not None:
            return ""
        own = refiltering.own_nomination(cycle, outcome, self._filters)
        return snap.nodes.names[own.row] if own is not None and own.fits else ""

    @_kept_whole
    def rank_feasible_rows(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> npt.NDArray[np.intp]:
        """Return the rows that pass Filter, intp (f,), those with the highest totals first."""
        cycle = self._begin(pod, snap)
        rows = self._feasible(cycle)
        if cycle.failures is not None and len(rows) > 1:
            scores = self._scores.score(cycle, cycle.failures)
            if not isinstance(scores, status.Status):  # otherwise, the cycle reports the error
                rows = rows[np.argsort(-scores.totals, kind="stable")]
        return rows

    @_kept_whole
    def find_victims(
        self,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        extenders: extender_answers.ExtenderAnswers,
    ) -> extender_answers.VictimsByNode:
        """Return the candidates of preemption by node; {} if the pod fits or cannot preempt."""
        cycle = self._begin(pod, snap, extenders)
        diagnosis = self._schedule(cycle).diagnosis
        if diagnosis is not None:
            for _, plugin in self._at("find_victims"):
                preempting = cast("post_filtering.PreemptionPlugin", plugin)
                return preempting.find_victims(cycle.state, pod, snap, diagnosis)
        return {}

    @_kept_whole
    def feasible_rows(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> npt.NDArray[np.intp]:
        """Return the rows of the nodes on which a pod fits, intp (f,); none where Filter fails."""
        return self._feasible(self._begin(pod, snap))

    @_kept_whole
    def best_rows(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> npt.NDArray[np.intp]:
        """Return the rows of the nodes of which one would be chosen, intp (b,)."""
        cycle = self._begin(pod, snap)
        rows = self._feasible(cycle)
        if cycle.failures is None or len(rows) < 2:  # noqa: PLR2004 - one node needs no points
            return rows
        scores = self._scores.score(cycle, cycle.failures)
        return rows[:0] if isinstance(scores, status.Status) else scores.best_rows()

    def _feasible(self, cycle: cycles.Cycle) -> npt.NDArray[np.intp]:
        outcome = self._filters.pre_filter(cycle)
        if outcome.rejection is not None:
            return np.zeros(0, np.intp)
        own = refiltering.own_nomination(cycle, outcome, self._filters)
        failures = cycle.failures = refiltering.filter_all_rows(cycle, outcome, own, self._filters)
        if failures.find_error(cycle.snap.nodes.names) is not None:
            return np.zeros(0, np.intp)
        return failures.get_feasible_rows()

    @_kept_whole
    def explain_pod(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> explanation.Explanation:
        """Return every plugin's answer on every node, and the scores of the feasible ones."""
        gate = self.pre_enqueue(pod)
        cycle = self._begin(pod, snap)
        outcome = self._filters.pre_filter(cycle)
        rows: npt.NDArray[np.intp] = np.zeros(0, np.intp)
        if outcome.rejection is not None:
            verdicts = explanation.same_verdict(snap, outcome.rejection)
        else:
            own = refiltering.own_nomination(cycle, outcome, self._filters)
            failures = refiltering.filter_all_rows(cycle, outcome, own, self._filters)
            cycle.failures = failures
            if failures.find_error(snap.nodes.names) is None:
                rows = failures.get_feasible_rows()
            verdicts = explanation.verdicts(cycle, outcome, failures, self._filters)
        scores = self._scores.explain(cycle, rows) if len(rows) else None
        if isinstance(scores, status.Status):
            message, scores, rows = scores.message, None, rows[:0]
        else:
            message = "" if scores else self._explain_failure(cycle, outcome)
        best = sorted(snap.nodes.names[row] for row in scores.best_rows()) if scores else []
        return explanation.Explanation(
            cycle.pod,
            gate=None if gate.is_success else gate,
            pre_filter=outcome.rejection,
            verdicts=verdicts,
            feasible_count=len(rows),
            scores=scores,
            best=best,
            message=message,
        )

    def make_state(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> cycle_state.CycleState:
        """Return the state of a cycle after PreFilter, for questions to single plugins."""
        cycle = self._begin(pod, snap)
        self._filters.pre_filter(cycle)
        return cycle.state

    def _explain_failure(
        self, cycle: cycles.Cycle, outcome: pre_filter_outcome.PreFilterOutcome
    ) -> str:
        if cycle.snap.node_count == 0:
            return messages.NO_NODES
        failures = cycle.failures
        failed = None if failures is None else failures.find_error(cycle.snap.nodes.names)
        return failed.message if failed else self._does_not_fit(cycle, outcome).message

    def evidence(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot, diagnosis: interface.Diagnosis
    ) -> list[str]:
        """Return what plugins saw on the nodes that they rejected."""
        found = []
        for _, plugin in self._at("evidence"):
            telling = cast("interface.EvidencePlugin", plugin)
            found.append(asking.ask(telling, "evidence", telling.evidence, pod, snap, diagnosis))
        return [text for text in found if text]

    def run_post_filter(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        diagnosis: interface.Diagnosis,
    ) -> interface.PostFilterResult | None:
        """Ask PostFilter plugins to make room; None when the profile has none."""
        plugins = [plugin for _, plugin in self._at("post_filter")]
        return post_filtering.make_room(plugins, state, pod, snap, diagnosis) if plugins else None

    def may_make_room(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> bool:
        """Return whether PostFilter plugins may have an effect for a pod that no node accepts."""
        plugins = [plugin for _, plugin in self._at("post_filter")]
        return post_filtering.may_make_room(plugins, pod, snap)


def _fits(cycle: cycles.Cycle, node_name: str, feasible_count: int = 1) -> ScheduleResult:
    counted = (feasible_count, cycle.snap.node_count, cycle.times)
    return ScheduleResult(node_name, cycle.state, status.SUCCESS, None, *counted)
