"""Programs of sets of rules: many rules about some nodes are one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.compiler import lowering, program
from policysched.compiler.metrics import outages
from policysched.framework import cycle_state, status
from policysched.framework.answers import together

_MAX_PROGRAMS = 256
"""Sets of rules, as pods of different policies have them; all are dropped when there are more."""


class ProgramRule(Protocol):
    """A rule whose answer about a node is one result of a program.

    Attributes:
        outage: finds out whether the rule has lost a metric; the result then does not count.
    """

    outage: outages.Outage

    def write(self, writer: lowering.ExpressionWriter) -> None:
        """Write the instructions of the rule, with one end."""
        ...


class RejectingRule(ProgramRule, Protocol):
    """A rule whose result is 1 for nodes that it rejects, and else 0."""

    @property
    def rejected(self) -> status.Status:
        """The answer for these nodes."""
        ...


class RulePrograms:
    """Makes the programs of a profile's rules, each set once (`framework.together.Together`)."""

    def __init__(self, lower: lowering.Lowering) -> None:
        """Write expressions by `lower`."""
        self._lower = lower
        self._made: dict[tuple[ProgramRule, ...], program.Program] = {}

    def make(self, rules: Sequence[ProgramRule]) -> program.Program:
        """Return a program with one result for each rule."""
        key = tuple(rules)
        made = self._made.get(key)
        if made is None:
            writer = self._lower.begin_program()
            for rule in rules:
                rule.write(writer)
            if len(self._made) >= _MAX_PROGRAMS:
                self._made.clear()
            made = self._made[key] = self._lower.finish_program(writer)
        return made

    def make_filter(self, plugins: Sequence[RejectingRule]) -> together.FilterFn:
        """Return a function that returns the first rejection by `plugins` of each node."""
        asked = _RuleResults(self.make(plugins), plugins)
        statuses = [status.SUCCESS, *(rule.rejected for rule in plugins)]

        def answer(
            state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
        ) -> status.NodeStatuses:
            found = asked.run(state, pod, nodes)
            if not np.count_nonzero(found):
                return status.NodeStatuses.passing(len(nodes))
            is_rejected = found == 1.0
            ids = np.where(is_rejected.any(axis=0), is_rejected.argmax(axis=0) + 1, 0)
            return status.NodeStatuses(ids.astype(np.int16), statuses)

        return answer

    def make_score(self, plugins: Sequence[ProgramRule]) -> together.ScoreFn:
        """Return a function that returns the scores of each node by `plugins`."""
        return _RuleResults(self.make(plugins), plugins).run


class _RuleResults:
    """The results of rules for some nodes, by one program."""

    def __init__(self, made: program.Program, rules: Sequence[ProgramRule]) -> None:
        self._program = made
        self._readers = [
            (place, rule.outage) for place, rule in enumerate(rules) if rule.outage.reads_metrics
        ]
        self._version = -1
        self._lost: list[int] = []

    def run(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.FloatArray:
        """Return float64 (k, n): the result of each rule, 0 for those that have lost a metric."""
        found = self._program.run(nodes, pod.shape, state)
        if self._version != self._program.version:
            snap = nodes.snapshot
            self._lost = [place for place, outage in self._readers if outage.is_on(snap, state)]
            self._version = self._program.version
        if self._lost:
            found[self._lost] = 0.0
        return found
