"""Ask the extenders about one pod before its scheduling cycle.

nominated node? → filter ─┬─ points ──▶ (scheduling cycle)
                    ▲  ▲    └─ preempt ─▶ (scheduling cycle)
                    │  └─ no node left: the next nodes
                    └─ the cluster changed meanwhile: nodes that the extenders have not rejected

Source: `pkg/scheduler/schedule_one.go` (findNodesThatFitPod, findNodesThatPassExtenders,
prioritizeNodes) and `framework/preemption/preemption.go` (callExtenders).
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from policysched import clock as clocks
from policysched import int64
from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.extenders import calls, extender
from policysched.framework import extender_answers, runtime, status

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_MIN_NODES_TO_COMPARE = 2
"""A single node needs no points."""

_MAX_REPETITIONS = 2
"""How often the extenders are asked again if the cluster changes each time."""

OUTDATED = "the nodes changed while HTTP extenders were asked"

_MIN_ASKED_NODES = 100
_MIN_ASKED_PERCENT = 5


def compute_asked_nodes(node_count: int) -> int:
    """Return the number of nodes in a request, in a cluster of `node_count` nodes.

    A request about all nodes of a large cluster would take much longer than everything else
    (`schedule_one.go`, numFeasibleNodesToFind).
    """
    percent = max(50 - node_count // 125, _MIN_ASKED_PERCENT)
    return max(node_count * percent // 100, _MIN_ASKED_NODES)


class PodQuestions:
    """Asks the extenders that are interested in one pod.

    Only the first request about nodes can take as long as the time limits of its calls. Other pods
    wait, so no further one begins when the longest time limit has passed since the first call, and
    its filter calls end then. Nodes about which no extender was asked count as rejected.
    """

    def __init__(
        self,
        interested: Sequence[extender.Extender],
        framework: runtime.Framework,
        pod: pod_shape.PodInfo,
        take_snapshot: Callable[[], snapshot.Snapshot],
        clock: clocks.Clock,
    ) -> None:
        """Ask `interested`, in this order, about the nodes that pass Filter of `framework`."""
        self._problems: dict[tuple[extender.Extender, str], str] = {}
        self._filters = [server for server in interested if server.settings.filter_verb]
        self._prioritizers = [server for server in interested if server.settings.prioritize_verb]
        self._preemptors = [server for server in interested if server.settings.preempt_verb]
        self._framework = framework
        self._pod = pod
        self._take_snapshot = take_snapshot
        self._clock = clock
        limits_seconds = [server.settings.http_timeout_seconds for server in interested]
        self._until_seconds = clock.monotonic_seconds() + max(limits_seconds, default=0.0)
        self._rejected: set[str] = set()
        self._earlier_rejections: dict[str, status.Status] = {}
        self._rejections: dict[str, status.Status] = {}

    async def ask(self) -> extender_answers.ExtenderAnswers:
        """Return answers that fit the cluster as it is on return."""
        try:
            answers = await self._ask_about_nomination() or await self._ask_about_nodes()
        except calls.ExtenderError as error:
            answers = extender_answers.ExtenderAnswers(error=str(error))
        return dataclasses.replace(answers, asked=self._list_asked_extenders())

    async def _ask_about_nodes(self) -> extender_answers.ExtenderAnswers:
        """Ask again while the cluster has changed so that other nodes must be asked about.

        Raises:
            ExtenderError: an extender that is not ignorable failed.
        """
        answers = await self._ask_about_fitting_nodes(math.inf)
        repetitions = 0
        while self._is_outdated(answers):
            if repetitions == _MAX_REPETITIONS or self._has_time_passed():
                if answers.accepted:
                    return extender_answers.ExtenderAnswers(error=OUTDATED)
                return answers
            repetitions += 1
            answers = await self._ask_about_fitting_nodes(self._until_seconds)
        return answers

    async def _ask_about_fitting_nodes(
        self, until_seconds: float
    ) -> extender_answers.ExtenderAnswers:
        accepted = await self._find_accepted_nodes(until_seconds)
        answers = extender_answers.ExtenderAnswers(
            accepted=frozenset(accepted) if self._filters or self._prioritizers else None,
            rejections=self._rejections,
            victims={} if self._preemptors else None,
        )
        if not accepted and self._preemptors:
            return await self._ask_about_preemption(answers)
        if len(accepted) >= _MIN_NODES_TO_COMPARE and self._prioritizers:
            return dataclasses.replace(answers, points=await self._add_up_points(accepted))
        return answers

    def _is_outdated(self, answers: extender_answers.ExtenderAnswers) -> bool:
        """Return whether the cluster has changed so that other nodes must be asked about.

        No accepted node fits any more, or there is none and a node fits that was not rejected. The
        pod must not be rejected then: preemption would evict pods needlessly.
        """
        if answers.accepted is None:
            return False
        snap = self._take_snapshot()
        rows = self._framework.feasible_rows(self._pod, snap).tolist()
        names = map(snap.nodes.names.__getitem__, rows)
        if answers.accepted:
            return not any(name in answers.accepted for name in names)
        return any(name not in self._rejected for name in names)

    def _has_time_passed(self) -> bool:
        return self._clock.monotonic_seconds() >= self._until_seconds

    # --- Filter -----------------------------------------------------------------------------------

    async def _ask_about_nomination(self) -> extender_answers.ExtenderAnswers | None:
        """Ask about the nominated node alone; return None if the pod cannot go there.

        An error is no reason to end the attempt.
        """
        nominated = self._framework.find_fitting_nomination(self._pod, self._take_snapshot())
        if not nominated:
            return None
        try:
            accepted = await self._filter_nodes([nominated], self._earlier_rejections)
        except calls.ExtenderError as error:
            _log.warning("%s cannot use its nominated node: %s", self._pod.key, error)
            return None
        answers = extender_answers.ExtenderAnswers(accepted=frozenset(accepted))
        return None if not accepted or self._is_outdated(answers) else answers

    async def _find_accepted_nodes(self, until_seconds: float) -> Sequence[str]:
        """Ask about the best nodes, then about the next ones, until some are accepted.

        The calls about the best nodes end at `until_seconds`.

        Raises:
            ExtenderError: an extender that is not ignorable failed.
        """
        while names := self._list_next_nodes():
            # Plugins, which see all nodes after the nominated one, replace what was said before.
            earlier = self._earlier_rejections
            rejections = {name: earlier[name] for name in names if name in earlier}
            try:
                accepted = await self._filter_nodes(names, rejections, until_seconds)
            except calls.NoTimeLeftError:
                return ()
            self._rejections |= rejections
            self._rejected.update(names)
            self._rejected.difference_update(accepted)
            if accepted or self._has_time_passed():
                return accepted
            until_seconds = self._until_seconds
        return ()

    def _list_next_nodes(self) -> list[str]:
        """Return the nodes of the next request: of those that pass Filter now, the best ones."""
        snap = self._take_snapshot()
        rows = self._framework.rank_feasible_rows(self._pod, snap).tolist()
        names = map(snap.nodes.names.__getitem__, rows)
        left = (name for name in names if name not in self._rejected)
        return list(itertools.islice(left, compute_asked_nodes(snap.node_count)))

    async def _filter_nodes(
        self,
        names: Sequence[str],
        rejections: dict[str, status.Status],
        until_seconds: float = math.inf,
    ) -> Sequence[str]:
        """Return the nodes that all extenders accept; note in `rejections` why they reject others.

        Raises:
            ExtenderError: an extender that is not ignorable failed.
            NoTimeLeftError: `until_seconds`, on the monotonic clock, have passed.
        """
        for server in self._filters:
            names = self._keep_existing(names)
            if not names:
                break
            left_seconds = until_seconds - self._clock.monotonic_seconds()
            if left_seconds <= 0:
                raise calls.NoTimeLeftError("no time is left to ask all extenders")
            call = server.filter_nodes(self._pod, names, left_seconds)
            try:
                filtered = await self._note_result(server, server.settings.filter_verb, call)
            except calls.ExtenderError as error:
                if not server.settings.ignorable or isinstance(error, calls.NoTimeLeftError):
                    raise
                continue
            names = filtered.accepted
            rejections.update(filtered.rejections)
        return names

    def _keep_existing(self, names: Sequence[str]) -> Sequence[str]:
        """Return the nodes without those that were deleted while an extender was asked."""
        snap = self._take_snapshot()
        return [name for name in names if snap.find_row(name) is not None]

    # --- Prioritize -------------------------------------------------------------------------------

    async def _add_up_points(self, names: Sequence[str]) -> dict[str, int]:
        """Return the points of all extenders together; one that fails gives none."""
        scores = await asyncio.gather(
            *(self._score_nodes(server, names) for server in self._prioritizers)
        )
        points = dict.fromkeys(names, 0)
        for server, points_by_name in zip(self._prioritizers, scores, strict=True):
            factor = server.points_per_score
            for name, score in points_by_name:
                if name in points:
                    points[name] += score * factor
        if all(map(int64.fits_int64, points.values())):
            return points
        return {name: int64.wrap(number) for name, number in points.items()}

    async def _score_nodes(
        self, server: extender.Extender, names: Sequence[str]
    ) -> Iterable[tuple[str, int]]:
        call = server.score_nodes(self._pod, names)
        try:
            return await self._note_result(server, server.settings.prioritize_verb, call)
        except calls.ExtenderError:
            return ()

    # --- Preempt ----------------------------------------------------------------------------------

    async def _ask_about_preemption(
        self, answers: extender_answers.ExtenderAnswers
    ) -> extender_answers.ExtenderAnswers:
        """Return `answers` with the candidates of preemption that all extenders leave."""
        snap = self._take_snapshot()
        victims = self._framework.find_victims(self._pod, snap, answers)
        if not victims:
            return answers
        try:
            for server in self._preemptors:
                victims = extender_answers.drop_gone_victims(victims, self._take_snapshot())
                if not victims:
                    break
                victims = await self._choose_victims(server, victims)
        except calls.ExtenderError as error:
            return dataclasses.replace(answers, preemption_error=str(error))
        return dataclasses.replace(answers, victims=victims)

    async def _choose_victims(
        self, server: extender.Extender, victims: extender_answers.VictimsByNode
    ) -> extender_answers.VictimsByNode:
        call = server.choose_victims(self._pod, victims, self._take_snapshot)
        try:
            return await self._note_result(server, server.settings.preempt_verb, call)
        except calls.ExtenderError:
            if not server.settings.ignorable:
                raise
            return victims

    # --- records ----------------------------------------------------------------------------------

    async def _note_result(self, server: extender.Extender, verb: str, call: Awaitable[_T]) -> _T:
        """Return the result of a call, or note why it failed and raise the error."""
        self._problems[server, verb] = ""
        try:
            return await call
        except calls.ExtenderError as error:
            self._problems[server, verb] = str(error)
            if not isinstance(error, calls.GoneError | calls.NoTimeLeftError):
                _log.warning(
                    "extender %s, asked about %s, failed: %s", server.name, self._pod.key, error
                )
            raise

    def _list_asked_extenders(self) -> tuple[extender_answers.AskedExtender, ...]:
        """Return the extenders with the first problem of their latest calls."""
        problem_of: dict[extender.Extender, str] = {}
        for (server, _), problem in self._problems.items():
            problem_of[server] = problem_of.get(server) or problem
        return tuple(
            extender_answers.AskedExtender(server.name, problem)
            for server, problem in problem_of.items()
        )
