"""Ask the extenders about one pod before its scheduling cycle.

nominated node? → filter → points → (scheduling cycle)
                     └─ no node left → preempt → (scheduling cycle)

Source: `pkg/scheduler/schedule_one.go` (findNodesThatFitPod, findNodesThatPassExtenders,
prioritizeNodes) and `framework/preemption/preemption.go` (callExtenders).
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import logging
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from policysched import clock as clocks
from policysched import int64
from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.extenders import calls, extender
from policysched.framework import extender_answers, runtime, status

_log = logging.getLogger(__name__)

_MIN_NODES_TO_COMPARE = 2
"""A single node needs no points."""

_MAX_ROUNDS = 3
"""How often the extenders are asked again because the cluster changed meanwhile."""

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
    """Asks the extenders that are interested in one pod."""

    def __init__(
        self,
        interested: Sequence[extender.Extender],
        framework: runtime.Framework,
        pod: pod_shape.PodInfo,
        take_snapshot: Callable[[], snapshot.Snapshot],
        clock: clocks.Clock,
    ) -> None:
        """Ask `interested`, in this order, about the nodes that pass Filter of `framework`."""
        self._problem_of: dict[str, str] = {}
        self._filters = [each for each in interested if each.settings.filter_verb]
        self._prioritizers = [each for each in interested if each.settings.prioritize_verb]
        self._preemptors = [each for each in interested if each.settings.preempt_verb]
        self._framework = framework
        self._pod = pod
        self._take_snapshot = take_snapshot
        self._clock = clock
        self._asked_nodes: set[str] = set()
        self._has_asked_all = False
        self._rejections: dict[str, status.Status] = {}

    async def ask(self) -> extender_answers.ExtenderAnswers:
        """Return answers that fit the cluster as it is on return."""
        for _ in range(_MAX_ROUNDS):
            answers = await self._ask_about_nodes()
            if answers.error or not self._is_outdated(answers):
                break
        else:
            answers = extender_answers.ExtenderAnswers(error=OUTDATED)
        asked = itertools.starmap(extender_answers.AskedExtender, self._problem_of.items())
        return dataclasses.replace(
            answers, asked=tuple(asked), decides_victims=bool(self._preemptors)
        )

    async def _ask_about_nodes(self) -> extender_answers.ExtenderAnswers:
        self._asked_nodes.clear()
        self._rejections = {}
        if await self._accepts_nomination():
            nominated = frozenset((self._pod.pod.status.nominated_node_name,))
            return extender_answers.ExtenderAnswers(
                accepted=nominated if self._filters else None, accepts_nomination=True
            )
        earlier, self._rejections = self._rejections, {}
        try:
            accepted = await self._find_accepted_nodes()
        except calls.ExtenderError as error:
            return extender_answers.ExtenderAnswers(error=str(error))
        # Plugins, which see all nodes after the nominated one, replace what was said before.
        kept = {name: answer for name, answer in earlier.items() if name in self._asked_nodes}
        answers = extender_answers.ExtenderAnswers(
            accepted=frozenset(accepted) if self._filters else None,
            rejections=kept | self._rejections,
        )
        if not accepted and self._preemptors:
            return await self._ask_about_preemption(answers)
        if len(accepted) >= _MIN_NODES_TO_COMPARE and self._prioritizers:
            return dataclasses.replace(answers, points=await self._add_up_points(accepted))
        return answers

    def _is_outdated(self, answers: extender_answers.ExtenderAnswers) -> bool:
        """Return whether the cluster changed so that other nodes must be asked about.

        No accepted node fits any more, or all were rejected and another one fits now. The pod must
        not be rejected then: preemption would evict pods needlessly.
        """
        if answers.accepted is None:
            return False
        snap = self._take_snapshot()
        if answers.accepts_nomination:
            return not self._framework.find_fitting_nomination(self._pod, snap)
        fits = np.zeros(snap.size, bool)
        fits[self._framework.feasible_rows(self._pod, snap)] = True
        if answers.accepted:
            rows = map(snap.nodes.row_of.get, answers.accepted)
            return not any(row is not None and fits[row] for row in rows)
        names = map(snap.nodes.names.__getitem__, fits.nonzero()[0].tolist())
        return self._has_asked_all and not self._asked_nodes.issuperset(names)

    # --- Filter -----------------------------------------------------------------------------------

    async def _accepts_nomination(self) -> bool:
        """Ask about the nominated node alone; an error is no reason to end the attempt."""
        nominated = self._framework.find_fitting_nomination(self._pod, self._take_snapshot())
        if not nominated:
            return False
        try:
            return bool(await self._filter_nodes([nominated]))
        except calls.ExtenderError as error:
            _log.warning("%s cannot use its nominated node: %s", self._pod.key, error)
            return False

    async def _find_accepted_nodes(self) -> Sequence[str]:
        """Ask about the best nodes, then about the next ones, until some are accepted.

        Further nodes are asked about only within the time limit of one call, because other pods
        wait. After that, the others count as rejected.

        Raises:
            ExtenderError: an extender that is not ignorable failed.
        """
        limits_seconds = [each.settings.http_timeout_seconds for each in self._filters]
        until_seconds = self._clock.monotonic_seconds() + max(limits_seconds, default=0.0)
        while names := self._list_next_nodes():
            self._asked_nodes.update(names)
            accepted = await self._filter_nodes(names)
            if accepted:
                return accepted
            if self._clock.monotonic_seconds() >= until_seconds:
                self._has_asked_all = False
                return ()
        self._has_asked_all = True
        return ()

    def _list_next_nodes(self) -> list[str]:
        """Return the nodes of the next request: of those that pass Filter now, the best ones."""
        snap = self._take_snapshot()
        rows = self._framework.rank_feasible_rows(self._pod, snap).tolist()
        names = map(snap.nodes.names.__getitem__, rows)
        left = (name for name in names if name not in self._asked_nodes)
        return list(itertools.islice(left, compute_asked_nodes(snap.node_count)))

    async def _filter_nodes(self, names: Sequence[str]) -> Sequence[str]:
        """Return the nodes that all extenders accept; note why they reject others.

        Raises:
            ExtenderError: an extender that is not ignorable failed.
        """
        for each in self._filters:
            names = self._keep_existing(names)
            if not names:
                break
            self._problem_of.setdefault(each.name, "")
            try:
                filtered = await each.filter_nodes(self._pod, names)
            except calls.ExtenderError as error:
                self._skip_or_raise(each, error)
                continue
            names = filtered.accepted
            self._rejections.update(filtered.rejections)
        return names

    def _keep_existing(self, names: Sequence[str]) -> Sequence[str]:
        """Return the nodes without those that were deleted while an extender was asked."""
        snap = self._take_snapshot()
        return [name for name in names if snap.find_row(name) is not None]

    # --- Prioritize -------------------------------------------------------------------------------

    async def _add_up_points(self, names: Sequence[str]) -> dict[str, int]:
        """Return the points of all extenders together; one that fails gives none."""
        scores = await asyncio.gather(
            *(self._score_nodes(each, names) for each in self._prioritizers)
        )
        points = dict.fromkeys(names, 0)
        for each, given in zip(self._prioritizers, scores, strict=True):
            factor = each.points_per_score
            for name, score in given:
                if name in points:
                    points[name] += score * factor
        if all(map(int64.fits_int64, points.values())):
            return points
        return {name: int64.wrap(number) for name, number in points.items()}

    async def _score_nodes(
        self, each: extender.Extender, names: Sequence[str]
    ) -> Iterable[tuple[str, int]]:
        self._problem_of.setdefault(each.name, "")
        try:
            return await each.score_nodes(self._pod, names)
        except calls.ExtenderError as error:
            self._note_problem(each, error)
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
            for each in self._preemptors:
                victims = extender_answers.drop_gone_victims(victims, self._take_snapshot())
                if not victims:
                    break
                victims = await self._choose_victims(each, victims)
        except calls.ExtenderError as error:
            return dataclasses.replace(answers, preemption_error=str(error))
        return dataclasses.replace(answers, victims=victims)

    async def _choose_victims(
        self, each: extender.Extender, victims: extender_answers.VictimsByNode
    ) -> extender_answers.VictimsByNode:
        self._problem_of.setdefault(each.name, "")
        try:
            return await each.choose_victims(self._pod, victims, self._take_snapshot)
        except calls.ExtenderError as error:
            self._skip_or_raise(each, error)
            return victims

    # --- errors -----------------------------------------------------------------------------------

    def _skip_or_raise(self, each: extender.Extender, error: calls.ExtenderError) -> None:
        """Note the error of an ignorable extender, and raise that of another one."""
        self._note_problem(each, error)
        if not each.settings.ignorable:
            raise error

    def _note_problem(self, each: extender.Extender, error: calls.ExtenderError) -> None:
        self._problem_of[each.name] = str(error)
        if isinstance(error, calls.GoneError):
            return
        _log.warning("extender %s, asked about %s, failed: %s", each.name, self._pod.key, error)
