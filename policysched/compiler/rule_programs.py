"""Programs of sets of rules: many rules about one node are one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from policysched.cluster import snapshot
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

    def filter_row(self, plugins: Sequence[RejectingRule]) -> together.FilterRow:
        """Return a function that gives the first rejection of a node by `plugins`, or success."""
        asked = _RowProgram(self.make(plugins), plugins)
        answers = [rule.rejected for rule in plugins]

        def answer(
            state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
        ) -> status.Status:
            found = asked.run(state, pod, node)
            return answers[found.index(1.0)] if 1.0 in found else status.SUCCESS

        return answer

    def score_row(self, plugins: Sequence[ProgramRule]) -> together.ScoreRow:
        """Return a function that gives the scores of a node by `plugins`."""
        return _RowProgram(self.make(plugins), plugins).run


class _RowProgram:
    """A program of rules, asked about one node after the other."""

    def __init__(self, made: program.Program, rules: Sequence[ProgramRule]) -> None:
        self._program = made
        self._readers = [
            (place, rule.outage) for place, rule in enumerate(rules) if rule.outage.reads_metrics
        ]
        self._version = -1
        self._lost: list[int] = []

    def run(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> list[float]:
        """Return the result of each rule, 0 for those that have lost a metric."""
        found = self._program.run_row(node, pod.shape, state)
        if self._version != self._program.version:
            snap = node.snapshot
            self._lost = [place for place, outage in self._readers if outage.is_on(snap, state)]
            self._version = self._program.version
        if self._lost:
            found = found.copy()
            for place in self._lost:
                found[place] = 0.0
        return found
