"""Rules that are asked about a single node together: one function for each set of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.compiler import row_code
from policysched.framework import cycle_state, status

_MAX_PROGRAMS = 256
"""Beyond so many sets of rules, as pods of different policies have them, all are forgotten."""
_MAX_AMOUNTS = 64
"""For how many amounts of nodes answers are remembered: nodes of a pool mostly have the same."""
_Write: TypeAlias = Callable[[row_code.Writer], None]
_Key: TypeAlias = tuple[str, tuple[object, ...]]


class Rule(Protocol):
    """A rule that is asked together with others.

    Attributes:
        follows_amounts: whether its answer follows from the node's amounts and the pod's requests.
    """

    follows_amounts: bool


class FilterRule(Rule, Protocol):
    """A rule that rejects nodes by what is on their own row."""

    def filter_row(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> status.Status:
        """Return the answer for one node."""
        ...

    def write_filter(self, code: row_code.Writer) -> None:
        """Write what returns that answer where it is a rejection, and else goes on."""
        ...


class ScoreRule(Rule, Protocol):
    """A rule that scores nodes by what is on their own row."""

    def score_row(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> float:
        """Return the score of one node."""
        ...

    def write_score(self, code: row_code.Writer) -> str:
        """Write what that score follows from; return the expression for it."""
        ...


class RowPrograms:
    """The functions of a program's rules (`framework.together.Together`)."""

    def __init__(self) -> None:
        """Start with none."""
        self._kept: dict[_Key, _Program] = {}

    def filter_row(self, plugins: Sequence[FilterRule]) -> row_code.Answer:
        """Return what gives the first rejection among the answers of `plugins`, or success."""

        def write(code: row_code.Writer) -> None:
            for rule in plugins:
                rule.write_filter(code)
            code.line(f"return {code.value(status.SUCCESS)}")

        found = self._of(("filter", tuple(plugins)), write, [p.filter_row for p in plugins])
        return _remembering(found, plugins)

    def score_row(self, plugins: Sequence[ScoreRule]) -> row_code.Answer:
        """Return what gives the list of the scores of `plugins`, not to be written to."""

        def write(code: row_code.Writer) -> None:
            code.line(f"return [{', '.join([rule.write_score(code) for rule in plugins])}]")

        found = self._of(("score", tuple(plugins)), write, [p.score_row for p in plugins])
        return _remembering(found, plugins)

    def _of(self, key: _Key, write: _Write, alone: Sequence[row_code.Answer]) -> row_code.Answer:
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _MAX_PROGRAMS:
                self._kept.clear()
            found = self._kept[key] = _Program(write, alone)
        return found


def _remembering(asked: row_code.Answer, rules: Sequence[Rule]) -> row_code.Answer:
    return _Remembered(asked) if all(rule.follows_amounts for rule in rules) else asked


class _Remembered:
    """Answers that follow from amounts alone, remembered by these for pods with equal requests."""

    def __init__(self, asked: row_code.Answer) -> None:
        """Ask `asked` about amounts that are not known."""
        self._asked = asked
        self._requests: object = None
        self._request_key: object = None
        self._known: dict[tuple[int, ...], Any] = {}

    def __call__(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> Any:  # noqa: ANN401 - a status or a list, as was written
        """Return what is known of such a node."""
        shape, known = pod.shape, self._known
        if shape.requests is not self._requests:
            self._requests = shape.requests
            if shape.request_key != self._request_key:
                self._request_key = shape.request_key
                known.clear()
        amounts = node.amounts
        found = known.get(amounts)
        if found is None:
            if len(known) >= _MAX_AMOUNTS:
                known.clear()
            found = known[amounts] = self._asked(state, pod, node)
        return found


class _Program:
    """A function, written when it is first called: most pods are the only ones of their shape."""

    def __init__(self, write: _Write, alone: Sequence[row_code.Answer]) -> None:
        """Stand for the questions `alone`, asked one after the other."""
        self._write = write
        self._alone = alone
        self._answer: row_code.Answer | None = None

    def __call__(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> Any:  # noqa: ANN401 - a status or a list, as was written
        """Return what the function says of one node."""
        try:
            if self._answer is None:
                code = row_code.Writer()
                self._write(code)
                self._answer = code.finish()
            return self._answer(state, pod, node)
        except Exception:
            for ask in self._alone:
                ask(state, pod, node)  # the rule at fault raises, and says its name
            raise
